// Package whatif computes which nodes Karpenter would hold for the pods of a cluster, and what they would cost.
//
// Run takes a snapshot of a cluster, makes all its pods pending, and runs Karpenter core's own provisioner over them until
// nothing more is placed; then core's consolidation methods (emptiness, multi-node, single-node) until none has a command. Plans are
// chosen by the provider's own code, from the catalogue that the operator reads. Pods, DaemonSets, volumes, affinities, topology spread,
// taints, limits, PodDisruptionBudgets, budgets and do-not-disrupt annotations count as they do in the operator.
//
// Guarantees: the same input gives the same report. Nothing is written anywhere, and nothing but the given catalogue is read. Prices are a
// plan's monthly price, and per hour its hourly one, in USD.
//
// Not modelled:
//   - time: consolidateAfter, expireAfter, budgets with a schedule (counted as open), drift, and the order in which pods arrive;
//   - the order in which nodes join: pods are bound where core has planned them, while the kube-scheduler, which has not read the plan,
//     fills the nodes as they join. Consolidation starts from what it made of that, and ends in one of several states of rest. Orders
//     of nodes and pods are simulated with the kube-scheduler's default scores too, and the report has the range of their prices. Pods
//     with constraints on other pods, volumes or ports are where core has planned them in all of them;
//   - refusals: a plan that the catalogue lists as available is bought, quotas of the account do not count;
//   - NodeOverlays, CapacityBuffers, static NodePools, Dynamic Resource Allocation, autoscaled replicas;
//   - anything other than nodes: volumes, NodeBalancers, transfer, the control plane.
package whatif
