package linodesim

import "github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"

// These are the types of package account, which has their documentation.
type (
	State           = account.State
	ClusterInfo     = account.Cluster
	Pool            = account.Pool
	Node            = account.Node
	Instance        = account.Instance
	Taint           = account.Taint
	HostMaintenance = account.HostMaintenance
	NoCapacity      = account.NoCapacity
	NoCapability    = account.NoCapability

	ClusterSpec  = account.ClusterSpec
	PoolSpec     = account.PoolSpec
	PoolEdit     = account.PoolEdit
	InstanceSpec = account.InstanceSpec
	FirewallSpec = account.FirewallSpec

	Event        = account.Event
	EventKind    = account.EventKind
	EventCluster = account.EventCluster
	EventPool    = account.EventPool
	EventLinode  = account.EventLinode
	EventPlan    = account.EventPlan

	Entry = account.Entry
	Actor = account.Actor
	Floor = account.Floor

	Behaviour      = account.Behaviour
	LastNode       = account.LastNode
	LostLinode     = account.LostLinode
	PassingVolumes = account.PassingVolumes
	PoolTaints     = account.PoolTaints
)

// Node states as the API names them: the platform's own progress, not the
// Kubernetes Ready condition.
const (
	NotReady = account.NotReady
	Ready    = account.Ready
)

// Instance states in use here, of the API's longer list.
const (
	StatusOffline      = account.StatusOffline
	StatusProvisioning = account.StatusProvisioning
	StatusBooting      = account.StatusBooting
	StatusRunning      = account.StatusRunning
	StatusDeleting     = account.StatusDeleting
	StatusShuttingDown = account.StatusShuttingDown
	StatusRebooting    = account.StatusRebooting
)

// Kinds of events of worker nodes.
const (
	NodeJoins   = account.NodeJoins
	NodeChanged = account.NodeChanged
	NodeReboots = account.NodeReboots
	NodeGone    = account.NodeGone
)

// Kinds of events of Linodes that are no workers of LKE.
const (
	LinodeBoots = account.LinodeBoots
	LinodeStops = account.LinodeStops
	LinodeGone  = account.LinodeGone
)

// Actions in the audit log.
const (
	ClusterCreated   = account.ClusterCreated
	ClusterDeleted   = account.ClusterDeleted
	ClusterEdited    = account.ClusterEdited
	ClusterUpgraded  = account.ClusterUpgraded
	PoolCreated      = account.PoolCreated
	PoolCount        = account.PoolCount
	PoolEdited       = account.PoolEdited
	PoolDeleted      = account.PoolDeleted
	NodeRequested    = account.NodeRequested
	NodeListed       = account.NodeListed
	NodeRemoved      = account.NodeRemoved
	NodeJoined       = account.NodeJoined
	InstanceCreated  = account.InstanceCreated
	InstanceStatus   = account.InstanceStatus
	InstanceTagged   = account.InstanceTagged
	InstanceEdited   = account.InstanceEdited
	InstanceDeleting = account.InstanceDeleting
	InstanceGone     = account.InstanceGone
	AssetCreated     = account.AssetCreated
	AssetChanged     = account.AssetChanged
	AssetDeleted     = account.AssetDeleted
)

// Answers to deleting the last node.
const (
	KeepEmptyPool    = account.KeepEmptyPool
	RemovePool       = account.RemovePool
	RefuseLastDelete = account.RefuseLastDelete
)

// Answers to a deleted Linode.
const (
	RecreateLinode = account.RecreateLinode
	LeaveHole      = account.LeaveHole
)

// Answers to the end of an attachment with persist_across_boots false.
const (
	DetachAtStop = account.DetachAtStop
	DetachAtBoot = account.DetachAtBoot
	KeepAtReboot = account.KeepAtReboot
)

// Times of a pool's taints.
const (
	TaintsByTier         = account.TaintsByTier
	TaintsAtRegistration = account.TaintsAtRegistration
	TaintsLate           = account.TaintsLate
)

// Parts of Behaviour.LabelForm.
const (
	LabelCluster = account.LabelCluster
	LabelPool    = account.LabelPool
	LabelHex     = account.LabelHex
)

// LKE is the platform acting by itself.
var LKE = account.LKE

func each[T, A any](all []T, of func(T) A) []A {
	out := make([]A, len(all))
	for i, one := range all {
		out[i] = of(one)
	}
	return out
}
