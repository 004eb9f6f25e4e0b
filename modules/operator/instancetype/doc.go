// Package instancetype says what can be bought: it turns Linode plans into Karpenter's instance types.
//
// A Catalog reads plans and their availability in the cluster's region from the Linode API, on an
// interval, and serves instance types from memory: InstanceTypes never waits for the network. The
// conversion itself, Convert, is a pure function.
//
// Guarantees: every well known label except karpenter.sh/nodepool (which belongs to the NodePool) is a
// requirement of every instance type, DoesNotExist where a plan has nothing to say; there is exactly one
// offering per plan, on-demand, whose zone is the region, because Linode has no zones; its price is the
// region's; a plan that the availability list does not mention counts as available, because the list
// holds only plans of restricted availability. A failed read keeps what was known before. Plans that LKE
// refuses are left out, see excluded.
//
// Not guaranteed: that a plan reported as available can be created at this moment (the list is a flag,
// no stock); callers report a refusal with MarkUnavailable. Memory is an estimate: the share that a VM
// does not show is a setting, and real nodes show a little more than is promised here.
//
// Units: memory and disk of a Plan are MiB (the API says MB and means MiB: a plan of 4096 MB boots with
// 4022024 KiB), network MBit/s, transfer GB, prices USD per hour. All methods of Catalog are safe for
// concurrent use. Callers must not change the instance types they get.
package instancetype
