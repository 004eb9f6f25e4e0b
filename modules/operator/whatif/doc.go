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
//   - the kube-scheduler: pods are bound where the simulation placed them, while a real scheduler spreads a burst over its nodes.
//     Consolidation evens most of this out, and ends in another of several states of rest;
//   - refusals: a plan that the catalogue lists as available is bought, quotas of the account do not count;
//   - NodeOverlays, CapacityBuffers, static NodePools, Dynamic Resource Allocation, autoscaled replicas;
//   - what is not a node: volumes, NodeBalancers, transfer, the control plane.
package whatif
