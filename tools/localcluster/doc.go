// Package localcluster runs a Karpenter-on-Linode cluster on one machine, without Docker. Its parts:
//
//	plane                  a real Kubernetes control plane
//	modules/linodesim      a simulated Linode account, served over HTTP
//	simulatedlke           LKE's changes of nodes
//	kubelet                the operator's log for `kubectl logs`
//	addons.yaml            LKE's DaemonSets
//	blockstorage           block storage, with kubernetes-csi's own attacher and provisioner as processes
//	simulatedccm           the cloud controller manager of a self-managed cluster (instance and clusterapi mode)
//	simulatedboot          the boots of plain Linodes (instance and clusterapi mode)
//	k3s                    a server for agents of k3s and RKE2 (instance mode)
//	management             Cluster API's own controllers (clusterapi mode)
//	simulatedcapl          Cluster API's infrastructure provider (clusterapi mode)
//	charts                 installs this repository's Helm charts
//	workload               the operator as a local process with the ServiceAccount, arguments and environment of the installed Deployment
//
// Callers are cmd/localcluster (`make up`), the demo, the bench and the end-to-end tests:
//
//	cluster, err := localcluster.Start(ctx, localcluster.Options{Name: "test"})
//	if err != nil { ... }
//	defer cluster.Stop(context.Background())
//
// As in a real Standard cluster, one pool of the user's own with one node exists from the start. The operator's Pod is scheduled there
// and simulated by kwok.
//
// Guarantees: every listener is on 127.0.0.1, including the operator's listeners for metrics and health. Clusters of different names can
// run at the same time; a second cluster of the same name is refused. Stop ends exactly the programs that Start started, and removes their
// state; logs stay until the next start of the same name. On Linux no program survives the calling process, however that process dies. The
// simulator's token is random, and is in no log and no error.
//
// Errors are one line: what failed, why, and the place of the log. A Cluster's methods are safe for concurrent use.
//
// Start gives up after four minutes. If it fails, it stops all parts that it has started. If a cluster of the same name runs, the error is
// ErrRunning; if a program was not built, the error names the make target. Progress is a line for each part.
package localcluster
