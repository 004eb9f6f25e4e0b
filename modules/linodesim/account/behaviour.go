package account

import "github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"

// LastNode chooses what deleting the only node of a pool does; the real answer is
// not known.
type LastNode int

// Answers to deleting the last node.
const (
	KeepEmptyPool    LastNode = iota // the pool stays with count 0
	RemovePool                       // the pool is deleted with its node
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

// PassingVolumes chooses when a Linode loses volumes that were attached with
// persist_across_boots false, as the block storage driver for Kubernetes attaches them.
// The driver's README says that a reboot loses them. Issue 390 of its repository says
// that a node's volumes are attached again a minute or two later, which needs a
// linode_id of null. When the API sets linode_id to null is not known.
type PassingVolumes int

// Answers to the end of an attachment with persist_across_boots false.
const (
	DetachAtStop PassingVolumes = iota // when the Linode stops, or its reboot begins
	DetachAtBoot                       // when it runs again
	KeepAtReboot                       // when the Linode is off; a reboot through the API keeps the volumes
)

// PoolTaints chooses when a Node of LKE gets its pool's taints. Standard does not start
// kubelets with them: the README and a log of the vendor's Karpenter provider show it
// (FACTS 18.16). Three things are guesses: that LKE sets the taints afterwards, when it
// sets them, and what Enterprise does.
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

// Behaviour chooses between possible answers of the platform. Each choice is about a
// fact that is not known outside the platform and that matters to a client. The zero
// value is the default. Run a client's tests with each.
type Behaviour struct {
	LastNode       LastNode
	LostLinode     LostLinode
	PassingVolumes PassingVolumes

	// PoolTaints is read by the program that simulates Kubernetes.
	PoolTaints PoolTaints

	// AllowLastPool lets the last pool of a Standard cluster be deleted. The default
	// refuses: the documentation requires a cluster to have a pool.
	AllowLastPool bool
	// AllowZeroCount lets an Enterprise pool have count 0, a feature in limited
	// availability.
	AllowZeroCount bool
	// AllowIsolation: the account has access to pools whose nodes have no public
	// addresses, on both tiers. The feature is in limited availability. On Standard, the
	// vendor's own Terraform provider refuses it; that the API refuses it, too, is an
	// inference.
	AllowIsolation bool
	// RefuseBeyondLimits: an Enterprise cluster refuses nodes beyond the account's
	// limits, as a Standard cluster does. By default an Enterprise cluster accepts them
	// and they get no Linode: users saw such pools. Whether Enterprise always does so is
	// not known.
	RefuseBeyondLimits bool
	// RefuseReservedTaintKeys refuses taint keys that contain kubernetes.io or
	// linode.com. Label keys that do are always refused.
	RefuseReservedTaintKeys bool
	// ReapplyRemoved: when a user removes a label or taint of the pool from a Node, LKE
	// sets it again. The program that simulates Kubernetes reads this choice.
	ReapplyRemoved bool
	// IgnorePoolFilter makes the pool list ignore X-Filter.
	IgnorePoolFilter bool
	// UnlistedNotFound: the API answers 404 when a client gets, deletes or recycles a
	// node that is not in its pool's nodes[] yet (on Enterprise, for a while), although
	// the node exists and is paid for.
	UnlistedNotFound bool
	// LabelForm is the form of the labels of workers' Linodes, with LabelCluster,
	// LabelPool and LabelHex for the parts that differ. "" is the node's name, as
	// recorded, and in a pool that has a label the documented form
	// lke<cluster>-<label>-<hex>. No label was recorded on LKE Enterprise or in a
	// pool that has a label.
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

// NoCapacity refuses new nodes of a plan in a region. An empty Type or Region means any.
// The API's real text for it is not known: Reason may set one.
type NoCapacity struct {
	Type, Region string
	Status       int    // 0 = 400
	Reason       string // "" = the simulator's own text

	// Silent: an Enterprise cluster accepts the nodes, and they get no Linode until
	// there is capacity. LKE Enterprise is known to do so; when it does so and when it
	// refuses is not known. Silent changes nothing on Standard and for plain Linodes:
	// they are refused.
	Silent bool
}

// NoCapability takes a capability from a region: the platform does not offer it there.
type NoCapability struct{ Region, Capability string }
