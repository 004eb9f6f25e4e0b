// Package localcluster runs a whole Karpenter-on-Linode world on one machine,
// without Docker: a real Kubernetes control plane (package plane), a simulated
// Linode account served over HTTP (modules/linodesim), what LKE does to nodes
// (package simulatedlke), the operator's log for `kubectl logs` (package kubelet),
// LKE's DaemonSets (addons.yaml), block storage (package blockstorage, with kubernetes-csi's own attacher and provisioner as processes
// beside it), the cloud controller manager of a self-managed cluster
// (package simulatedccm, instance mode), the boots of plain Linodes and a server for agents of
// k3s and RKE2 (packages simulatedboot and k3s, instance mode), this repository's Helm charts installed (package charts),
// and the operator as a local process that runs with the ServiceAccount,
// arguments and environment of the installed Deployment (package workload).
//
// It is called by cmd/localcluster (`make up`), the demo, the bench and the
// end-to-end tests:
//
//	cluster, err := localcluster.Start(ctx, localcluster.Options{Name: "test"})
//	if err != nil { ... }
//	defer cluster.Stop(context.Background())
//
// As in a real Standard cluster, one pool of the user's own with one node exists
// from the start; the operator's Pod is scheduled there and simulated by kwok.
//
// Guarantees: every listener is on 127.0.0.1, the operator's for metrics and health
// too; clusters of different names run side by side; one name runs once. Stop
// ends exactly what Start started and removes its state; logs stay until the next
// start of the same name. On Linux nothing survives the calling process, however
// it dies. The simulator's token is random; it is in no log and no error.
//
// Errors are one line: what failed, why, and the log's place. A Cluster's methods
// are safe for concurrent use.
package localcluster
