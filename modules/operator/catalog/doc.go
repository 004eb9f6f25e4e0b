// Package catalog has what can be bought: it turns Linode plans into Karpenter's instance types.
//
// A Catalog reads plans and their availability in the cluster's region from the Linode API, on an interval, and serves instance types
// from memory: InstanceTypes never waits for the network. The conversion itself, Convert, is a pure function.
//
// Guarantees: every well known label except karpenter.sh/nodepool (which belongs to the NodePool) is a requirement of every instance
// type, DoesNotExist where a plan has nothing to say; there is exactly one offering per plan, on-demand, at the region's price, whose
// zone is the region, because Linode has no zones. A failed read keeps what was known before. Which plans are offered at all is a
// Selection, whose default leaves out what LKE refuses.
//
// Memory and ephemeral storage are, for each type and what of a class changes it, what nodes have shown (Learn), before that the figures
// of recorded LKE nodes of that size, and estimates otherwise: on LKE Enterprise less what its kubelets are expected to reserve (see
// enterpriseReserve). A share that the settings give replaces records and estimates. Estimates err on the low side, because pods that
// were promised too much stay pending. Figures fall at once and rise by a hundredth at least, so that consolidation comes to
// rest; nodes that exist are planned with by their own figures, and drift does not look at capacity.
//
// Not guaranteed: that a plan reported as available can be created at this moment (the API's list is a flag, no stock); callers report a
// refusal with MarkUnavailable.
//
// Units: memory and disk of a Plan are MiB (the API writes MB and means MiB: a plan of 4096 MB boots with 4022024 KiB), network MBit/s,
// transfer GB, prices USD per hour. All methods of Catalog are safe for concurrent use. Callers must not change the instance types they
// get.
package catalog
