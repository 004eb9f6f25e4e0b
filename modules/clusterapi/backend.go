package clusterapi

import "context"

// Backend reads and writes one cluster's objects. Errors are *claims.Error; a failed precondition is
// KindConflict with EffectNone. Package kube has the Backend over the Kubernetes API.
type Backend interface {
	// Read reads MachineDeployments, MachineSets and then Machines, each at least as new as the call.
	Read(ctx context.Context) (World, error)
	// Write carries out a write whose preconditions hold.
	Write(ctx context.Context, write Write) error
}

// Op names a write.
type Op string

const (
	// OpClaim writes ClaimAnnotation on Machine, with Value.
	OpClaim Op = "claim machine"
	// OpFence writes FenceAnnotation on Machine, with Value.
	OpFence Op = "fence machine"
	// OpRelease writes DeleteMachineAnnotation on Machine.
	OpRelease Op = "release machine"
	// OpScale sets the replicas of Deployment by its scale subresource.
	OpScale Op = "scale deployment"
	// OpPause sets the replicas of Deployment and pauses it with RemovalAnnotation, with Value, in one write.
	OpPause Op = "pause deployment"
	// OpShrink sets the replicas of Set by its scale subresource.
	OpShrink Op = "shrink set"
	// OpResume removes the pause and RemovalAnnotation from Deployment.
	OpResume Op = "resume deployment"
)

// Write is one write to one object. It takes effect only while the object has UID, if that is known, and ResourceVersion.
type Write struct {
	Op Op
	// Object is the name of the Machine, MachineDeployment or MachineSet.
	Object, UID, ResourceVersion string
	Value                        string
	Replicas                     int
	// Reason is why the write was decided, for logs.
	Reason string
	// Bought counts the Machines that the write adds, of InstanceType.
	Bought       int
	InstanceType string
}
