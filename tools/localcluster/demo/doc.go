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
// The rebooted Linode has a real kubelet. The Linode with the volume must not have a real kubelet: the simulated storage driver mounts
// nothing, and a real kubelet would wait for the mount. The caller runs two real kubelets, which the first nodes get. The StatefulSet's pod
// avoids nodes with pods of inflate.
//
// Scaling up and down may each take eight minutes, a reboot five. Run returns an error if a step takes longer, or if a count of the last
// line is wrong: surplus and leaked must be 0, and all pods must have run. The Result is returned with the error.
package demo
