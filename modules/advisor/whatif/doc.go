// Package whatif computes which nodes Karpenter would hold for the pods of a cluster, and what they would cost.
//
// Run takes a snapshot of a cluster. Nodes of the LKE pools in Input.Keep stay with their pods, and so do nodes of a control plane. Run
// removes all other nodes; the pods on them that a controller would make again become pending. Run then lets Karpenter core's own
// provisioner place them until it places no further pod. Then it runs core's consolidation methods (emptiness, multi-node, single-node)
// until none has a command. The provider's own code chooses plans, from the catalogue that the operator reads. Pods, DaemonSets, volumes,
// affinities, topology spread, taints, limits, PodDisruptionBudgets, budgets and do-not-disrupt annotations count as they do in the
// operator.
//
// Guarantees: the same input gives the same report. Run writes nothing, and reads only the given catalogue. Prices are a plan's monthly and
// hourly price, in USD.
//
// A snapshot without a NodePool gets DefaultNodePool: standard and dedicated plans of at most 4 vCPUs, without limits. The notes of the
// report say so. Run returns an error if the region is unknown, if the cluster has no pods, if no node belongs to a pool in Input.Keep,
// and if placement or consolidation does not come to rest in 1,000 rounds. The callers are the program karpenter-linode and package
// explain, which asks about the present cluster (NewPresent).
//
// Not modelled:
//   - time: consolidateAfter, expireAfter, budgets with a schedule (counted as open), drift, and the order in which pods arrive;
//   - the order in which nodes join: Run binds pods where core has planned them. The kube-scheduler does not read the plan and fills
//     nodes as they join, so consolidation starts from another placement and may end at another price. Run simulates several orders
//     of nodes and pods with the kube-scheduler's default scores, too, and the report has the range of their prices. In all orders,
//     pods with constraints on other pods, volumes or ports are where core has planned them;
//   - refusals: every plan that the catalogue lists as available can be bought, and quotas of the account do not count;
//   - NodeOverlays, CapacityBuffers, static NodePools, Dynamic Resource Allocation, autoscaled replicas;
//   - anything other than nodes: volumes, NodeBalancers, transfer, the control plane.
//
// A run with Input.Sensitivity simulates several orders of arrival and several changes of each NodePool (other classes, other sizes,
// without the most used plans) at the same time, on all processors. Input.Use repeats the run with requests as used.
package whatif
