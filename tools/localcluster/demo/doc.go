// Package demo runs the main job in front of a person: pods that do not fit get
// Linode nodes, and the nodes go away again, on a local cluster (package
// localcluster) with the operator installed from the charts.
//
// It applies the manifests of docs/examples, scales the inflate Deployment from 0
// to 5 and back to 0, prints a table row whenever something changes, and closes with
// one line with what was counted. The counts come from the API server and
// from the simulator's own records, never from the operator's word: surplus is the
// number of instances the simulator made for pools that the user does not own, less
// the number of NodeClaims that existed; leaked counts such pools and
// instances that exist at the end.
//
// In instance mode it shows what stands beside the operator as well (neighbours.yaml): a Service whose NodeBalancer has all nodes of the
// cluster as healthy backends, a StatefulSet whose volume is attached to the Linode of its pod, and a reboot of the Linode under the pods
// of inflate, after which its Node is Ready with another boot ID and the same pods run again. leaked counts their NodeBalancers and
// volumes, too.
//
// The Linode that is rebooted has a real kubelet, and the one with the volume must not: the simulated storage driver mounts nothing, which
// a real kubelet waits for. The caller runs one real kubelet, which the first node gets; the StatefulSet keeps away from it.
package demo
