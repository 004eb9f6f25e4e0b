// Package simulatedlke simulates LKE's changes of worker nodes in Kubernetes. It follows
// the events of a simulated Linode account, and creates, changes and deletes Nodes as in
// a real cluster.
//
// It is called by package localcluster. It depends on the simulator's events and the
// Kubernetes API. It does not matter which client bought a node.
//
// Three parties are simulated:
//
//   - The kubelet registers a Node. It is named like the Linode's label, and has LKE's pool label, the pool's own labels, the taint of an
//     uninitialised node, and the capacity that real LKE nodes report (see Capacity). It has its pool's taints, too, unless
//     Config.TaintsAfter is set. It is not ready yet. Then kwok simulates the kubelet: conditions, leases, pods. With Config.Kubelets, real
//     kubelets do all this for some nodes.
//   - The cloud controller manager initialises the Node: it sets the provider ID and the labels of instance type and region, and removes
//     the taint. There is no zone label, because LKE has no zones. When the Linode is gone, the manager deletes the Node, and never before.
//   - LKE applies later changes of the pool's labels and taints to existing Nodes. If Config.TaintsAfter is set, LKE sets the pool's taints
//     this time after the registration: Standard starts kubelets without the taints (FACTS 18.16), and it is not known how soon LKE sets
//     them.
//
// Guarantees: a change of the pool changes only the labels and taints that differ between the old pool and the new pool. All other labels
// and taints stay on a Node as a client set them. So a startup taint that was removed from a Node does not come back, unless
// Config.ReapplyRemoved is set. A Node that a user deletes does not come back while its Linode lives, because a kubelet registers once.
//
// Config.Lies breaks assumptions about Nodes on request: taints that come minutes late, a quarter of the memory missing, other names.
//
// Not known of the real platform, and decided here: removed labels and taints stay removed. Not simulated: a Linode
// that is shut down but not gone, pod networks, the address annotations of Calico
// and WireGuard. Volumes are simulated by package blockstorage.
//
// Failed API calls are repeated with growing pauses. One goroutine calls a Runner's Run,
// once.
//
// The pauses grow from 20 ms to 5 s, and one attempt may take 30 s. An event about a Node of another cluster is ignored. When Run returns,
// all kubelets that it started have ended.
package simulatedlke
