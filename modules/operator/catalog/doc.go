// Package catalog converts the Linode plans that can be bought into Karpenter's instance types.
//
// A Catalog reads plans and their availability in the cluster's region from the Linode API, on an interval, and serves instance types
// from memory: InstanceTypes never waits for the network. The conversion itself, Convert, is a pure function.
//
// Guarantees: every well known label except karpenter.sh/nodepool (which belongs to the NodePool) is a requirement of every instance
// type, and DoesNotExist if a plan has no value for it. There is exactly one offering for each plan: on-demand, at the region's price, in
// a zone with the region's name, because Linode has no zones. If a read fails, the Catalog keeps the last answer. A Selection bounds the
// offered plans; its default excludes plans that LKE refuses.
//
// Memory and ephemeral storage of a plan come from the first of these sources: the figures of registered nodes (Learn), by plan and by
// the fields of a class that change them; the figures of recorded LKE nodes of that size; an estimate, which on LKE Enterprise subtracts
// the expected reservations of its kubelets (see enterpriseReserve). A share in the settings replaces records and estimates. Estimates
// err on the low side: if a node is smaller than planned, its pod stays pending. A lower figure counts at once, and a higher figure only
// if it is higher by 1%, so that consolidation comes to rest. Core plans existing nodes with their own figures, and drift ignores
// capacity.
//
// Not guaranteed: that an available plan can be bought at this moment. The API returns a flag for each plan and region, not a stock.
// Package launches remembers which plans were refused.
//
// Units: memory and disk of a Plan are MiB (the API writes MB and means MiB: a plan of 4096 MB boots with 4022024 KiB), network MBit/s,
// transfer GB, prices USD per hour. All methods of Catalog are safe for concurrent use. Callers must not change the instance types.
//
// Package cmd/controller makes one Catalog, whose Start reads every five minutes (Config.Interval) on every replica, so that a replica
// that takes over needs no read. An ExclusionError means that the settings exclude every plan. The programs whatif, plans and import lke
// make catalogs of their own.
//
// A plan has an unavailable offering if it has no price in the region (Unpriced), if its last launch was refused, or if its disk is too
// small for the disks of the class: the root disk needs at least 8192 MiB. A node has 110 pods unless the class or registered nodes say
// otherwise.
package catalog
