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
package demo
