// Package demo runs the main job in front of a person: pods that fit on no node get Linode nodes, and the nodes go away again, on a local
// cluster (package localcluster) with the operator installed from the charts.
//
// It applies the manifests of docs/examples, scales the inflate Deployment from 0 to 5 and back to 0, prints a table row on every change,
// and ends with one line of counts. The counts come from the API server and from the simulator's own records, never from the operator:
// surplus is the number of instances that the simulator made for pools that the user does not own, less the number of NodeClaims that
// existed; leaked counts such pools and instances that exist at the end.
//
// In instance mode it also shows the operator's neighbours (neighbours.yaml); leaked counts their NodeBalancers and volumes, too:
//
//   - a Service whose NodeBalancer has all nodes of the cluster as healthy backends,
//   - a StatefulSet whose volume is attached to the Linode of its pod,
//   - a reboot of the Linode under the pods of inflate. Afterwards its Node is Ready with another boot ID, and the same pods run again.
//
// The rebooted Linode has a real kubelet. The Linode with the volume must not have one: the simulated storage driver mounts nothing, and
// a real kubelet would wait for the mount. The caller runs one real kubelet, which the first node gets; the StatefulSet keeps away from
// it.
//
// Scaling up and down may each take eight minutes, a reboot five. Run returns an error if a step takes longer, or if a count of the last
// line is not as it must be: surplus and leaked 0, all pods running. The Result is returned with the error.
package demo
