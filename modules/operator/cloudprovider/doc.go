// Package cloudprovider is Karpenter's CloudProvider for Linode, the same in every mode.
//
// It stands between Karpenter core, which has NodeClaims, and a Backend, which makes nodes. Create picks the cheapest plan that meets a
// NodeClaim and claims a node of this plan. Delete releases the node. Get and List return which nodes are claimed. IsDrifted compares a
// node with the node that Create would make now. Packages mode/lke, mode/instance and mode/clusterapi implement Backend.
//
// Guarantees:
//
//   - CloudProvider reports an instance as not found only when the Linode API has proven that it is gone.
//   - Package launches decides which of core's errors an error of Backend.Claim becomes.
//   - A repeated Create asks for the plan of the last attempt again. Example: Create waits for a g6-standard-2 and returns an error after
//     10 seconds. The next Create waits for the same g6-standard-2, and buys no second one.
//   - Create makes no node from a LinodeNodeClass that is not Ready.
//
// Not guaranteed: that one call of Create succeeds. Create waits up to Config.CreateDeadline, 10 seconds, then returns an error, after
// which core calls again. Capacity that the first call has ordered stays, and the next call finds it.
//
// Package cmd/controller and Karpenter core use a CloudProvider concurrently. All methods are safe for concurrent use.
//
// Figures: the last list of nodes answers questions for one minute. A node must have been registered for an hour before an older kubelet
// version counts as drift. The same event is published once in 30 minutes, the event about plans without a price once in six hours. A
// node counts as never joined if its NodeClaim is deleted more than 14 minutes after the launch. Repair waits for ten minutes, unless a
// setting changes this time.
//
// Delete finds the instance of a NodeClaim without a provider ID by the NodeClaim's name in the instance's tag. If the last list shows
// drift, IsDrifted reads the instance itself before it reports the drift. It does so once in an hour for the same reason.
package cloudprovider
