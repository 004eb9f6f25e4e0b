package account

import "github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"

// LastNode chooses what deleting the only node of a pool does; the real answer is
// not known.
type LastNode int

// Answers to deleting the last node.
const (
	KeepEmptyPool    LastNode = iota // the pool stays with count 0
	RemovePool                       // the pool goes with its node
	RefuseLastDelete                 // 400
)

// LostLinode chooses what LKE does about a worker whose Linode a client deleted
// directly; the real answer is not known.
type LostLinode int

// Answers to a deleted Linode.
const (
	RecreateLinode LostLinode = iota // a new node takes the place after Profile.Repair
	LeaveHole                        // the place stays, with the ID of the Linode that is gone
)

// PassingVolumes chooses when a Linode loses volumes that were attached with persist_across_boots false, as the block storage driver
// for Kubernetes attaches them. Its README has that they are lost at a reboot, issue 390 of its repository that a node's volumes are
// attached again a minute or two later, which needs a linode_id of null; when that is set is not known.
type PassingVolumes int

// Answers to the end of such an attachment.
const (
	DetachAtStop PassingVolumes = iota // when the Linode stops, or its reboot begins
	DetachAtBoot                       // when it runs again
	KeepAtReboot                       // when it is off; a reboot by the API keeps them
)

// PoolTaints chooses when a Node of LKE has its pool's taints. Standard does not start kubelets with them, by the README and a log of the
// vendor's Karpenter provider (FACTS 18.16); that LKE sets them afterwards, when, and what Enterprise does are guesses.
type PoolTaints int

// Times of a pool's taints.
const (
	TaintsByTier         PoolTaints = iota // late on Standard, at registration on Enterprise
	TaintsAtRegistration                   // the kubelet registers with them
	TaintsLate                             // LKE sets them a while after the kubelet has registered
)

// Late reports whether Nodes of a tier get their pool's taints after they registered.
func (p PoolTaints) Late(tier string) bool {
	return p == TaintsLate || p == TaintsByTier && tier == catalog.Standard
}

// Behaviour chooses between answers where it is not known outside the platform
// which one is true, and where both matter to a client. The zero value is the
// default. Run a client's tests with each.
type Behaviour struct {
	LastNode       LastNode
	LostLinode     LostLinode
	PassingVolumes PassingVolumes

	// PoolTaints is read by the program that simulates Kubernetes.
	PoolTaints PoolTaints

	// AllowLastPool lets the last pool of a Standard cluster be deleted. The
	// documentation requires one of a cluster, hence the default.
	AllowLastPool bool
	// AllowZeroCount lets an Enterprise pool have count 0, which is in limited
	// availability.
	AllowZeroCount bool
	// AllowIsolation: the account has access to pools whose nodes have no public
	// addresses, on both tiers. That is in limited availability, and on Standard it
	// is refused by the vendor's own Terraform provider: that the API refuses it,
	// too, is inferred.
	AllowIsolation bool
	// RefuseBeyondLimits: an Enterprise cluster refuses what goes beyond the account's
	// limits, as a Standard one does. Users saw pools that were accepted and of
	// which nothing came, hence the default; whether that is always so is not known.
	RefuseBeyondLimits bool
	// RefuseReservedTaintKeys refuses taint keys that contain kubernetes.io or
	// linode.com. Label keys that do are always refused.
	RefuseReservedTaintKeys bool
	// ReapplyRemoved: labels and taints of the pool that a user removes from
	// a Node come back. The program that simulates Kubernetes reads it.
	ReapplyRemoved bool
	// IgnorePoolFilter makes the pool list ignore X-Filter.
	IgnorePoolFilter bool
	// UnlistedNotFound: a node that is not in its pool's nodes[] yet (on
	// Enterprise, for a while) cannot be got, deleted or recycled: 404, although
	// it exists and is paid for.
	UnlistedNotFound bool
	// LabelForm is the form of the labels of workers' Linodes, with LabelCluster,
	// LabelPool and LabelHex for the parts that differ; "" is that of the recorded
	// ones, which is the node's name. On LKE Enterprise and in pools with a label
	// none was recorded.
	LabelForm string
	// LenientPages answers a page beyond the end with an empty page instead of
	// a 404.
	LenientPages bool
}

// Parts of Behaviour.LabelForm.
const (
	LabelCluster = "<cluster>"
	LabelPool    = "<pool>"
	LabelHex     = "<12 hex digits>"
)

// NoCapacity refuses new nodes of a plan in a region. An empty Type or Region
// means any. The API's real words for it are not known: Reason may give some.
type NoCapacity struct {
	Type, Region string
	Status       int    // 0 = 400
	Reason       string // "" = words of our own

	// Silent: an Enterprise cluster accepts the nodes, and they get no Linode until there is capacity (LKE Enterprise is known for that, and
	// when it is so and when it refuses is not known). On Standard, and for plain Linodes, it is a refusal all the same.
	Silent bool
}

// NoCapability takes a capability from a region: the platform does not offer it there.
type NoCapability struct{ Region, Capability string }
