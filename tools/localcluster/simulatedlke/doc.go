// Package simulatedlke simulates, on the Kubernetes side, what LKE does to worker nodes:
// it follows the events of a simulated Linode account and lets Nodes come,
// change and go as a real cluster's would.
//
// It is called by package localcluster. It depends on the simulator's events and the
// Kubernetes API; it is independent of who bought a node.
//
// Three parties are simulated:
//
//   - the kubelet registers: a Node named like the Linode's label, with LKE's
//     pool label, the pool's own labels, the taint of an uninitialised
//     node, and its pool's taints unless Config.TaintsAfter is set, not ready yet, and capacity as real LKE nodes report it (see Capacity).
//     From then on kwok simulates it: conditions, leases, pods. With Config.Kubelets a real kubelet
//     does all this for some nodes.
//   - the cloud controller manager initialises: provider ID, instance type and
//     region labels, taint lifted. There is no zone label; LKE has none. When the
//     Linode is gone it deletes the Node, and never before.
//   - LKE carries later changes of the pool's labels and taints to existing Nodes. With Config.TaintsAfter it sets the pool's taints that
//     long after the registration: Standard starts kubelets without them (FACTS 18.16), and how soon it sets them is not known.
//
// Guarantees: labels and taints that a change of the pool does not concern stay as a client set them, so a
// startup taint that was removed from a Node does not come back, unless
// Config.ReapplyRemoved. A Node that a user deletes does not come back while
// its Linode lives: a kubelet registers once.
//
// Config.Lies breaks assumptions about Nodes on request: taints that come minutes late, a quarter of the memory missing, other names.
//
// Not known of the real platform, and decided here: removed labels and taints stay removed. Not simulated: a Linode
// that is shut down but not gone, pod networks, the address annotations of Calico
// and WireGuard. Volumes are simulated by package blockstorage.
//
// Failed API calls are repeated with growing pauses. A Runner is used by one
// goroutine calling Run.
//
// The pauses grow from 20 ms to 5 s, and one attempt may take 30 s. An event about a Node of another cluster is ignored. When Run returns,
// all kubelets that it started have ended.
package simulatedlke
