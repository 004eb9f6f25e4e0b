package allocator

import (
	"context"
	"errors"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi"
	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi/internal/core"
)

// Allocator hands out Machines. It is safe for concurrent use.
type Allocator struct {
	cfg   clusterapi.Config
	shell *shell
}

// New returns an Allocator over a backend. It makes no request. The Allocator begins to lead at once, as after
// Begin.
func New(backend clusterapi.Backend, cfg clusterapi.Config) (*Allocator, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	if backend == nil {
		return nil, claims.Invalid("configure", "backend", "is nil")
	}
	cfg = cfg.WithDefaults()
	return &Allocator{cfg: cfg, shell: newShell(backend, cfg)}, nil
}

// Begin informs the Allocator that this process begins to lead now. A process calls Begin each time it is elected. The
// Allocator forgets everything that it has read; callers keep waiting, and the next reading decides about them. The time of
// Config.OrphanTTL begins again.
//
// A write of the previous leader may still take effect, also after that process has ended. So the Allocator writes an
// annotation on each Machine that its first reading shows free, before it hands the Machine out. The annotation gives the
// Machine a new resourceVersion, and the API server refuses late writes that have the earlier resourceVersion.
func (a *Allocator) Begin() { a.shell.begin() }

// Claim returns the claimant's Machine once the Machine has a provider ID: the Machine that the claimant has, a free Machine,
// or a new Machine. It waits until ctx ends, and then returns KindProvisioning with the reason of the wait; the next call
// continues. A Request needs a claimant with a name and a UID, and at least one MachineDeployment; without them Claim returns
// KindInvalid.
func (a *Allocator) Claim(ctx context.Context, r clusterapi.Request) (clusterapi.Machine, error) {
	began := a.cfg.Clock.Now()
	err := check(r)
	var answer core.Answer
	if err == nil {
		answer = a.shell.call(ctx, core.Ask{Kind: core.KindClaim, Request: r})
		err = answer.Err
	}
	if hook := a.cfg.Observer.Claim; hook != nil {
		hook(claims.ClaimEnd{Claimant: r.Claimant, InstanceType: r.InstanceType, Wait: a.cfg.Clock.Since(began), Err: err})
	}
	return answer.Machine, err
}

func check(r clusterapi.Request) error {
	const op = "claim"
	switch {
	case r.Claimant.Name == "":
		return claims.Invalid(op, "Request.Claimant.Name", "is empty")
	case r.Claimant.UID == "":
		return claims.Invalid(op, "Request.Claimant.UID", "is empty; the UID distinguishes a claimant from an earlier claimant of the same name")
	case len(r.Deployments) == 0:
		return claims.Invalid(op, "Request.Deployments", "is empty; it needs at least one MachineDeployment")
	}
	return nil
}

// Release removes the claimant's Machine: it is marked for deletion, and then replicas is lowered. It returns nil when
// Cluster API deletes the Machine (its deletion timestamp is set), KindNotFound when it is gone, and KindProvisioning when ctx
// ends before that. It returns KindConflict for a Machine of another claimant, and for a Machine whose MachineDeployment may
// not be changed; the text names the reason.
func (a *Allocator) Release(ctx context.Context, providerID string, by claims.Claimant) error {
	if providerID == "" || by.Name == "" {
		return claims.Invalid("release", "providerID", "%q and claimant %q must both be set", providerID, by.Name)
	}
	return a.shell.call(ctx, core.Ask{Kind: core.KindRelease, ProviderID: providerID, By: by}).Err
}

// World returns one reading that began after the call.
func (a *Allocator) World(ctx context.Context) (clusterapi.World, error) {
	answer := a.shell.call(ctx, core.Ask{Kind: core.KindWorld})
	return answer.World, answer.Err
}

// Get returns the Machine with a provider ID, KindNotFound if a reading of all Machines lacks it.
func (a *Allocator) Get(ctx context.Context, providerID string) (clusterapi.Machine, error) {
	world, err := a.World(ctx)
	if err != nil {
		return clusterapi.Machine{}, err
	}
	for _, m := range world.Machines {
		if providerID != "" && m.ProviderID == providerID {
			return m, nil
		}
	}
	return clusterapi.Machine{}, claims.Errorf(claims.KindNotFound, "get", providerID, "no Machine of the cluster has this provider ID")
}

// List returns all claimed Machines with a provider ID. If the reading fails, it returns none and the error.
func (a *Allocator) List(ctx context.Context) ([]clusterapi.Machine, error) {
	world, err := a.World(ctx)
	var claimed []clusterapi.Machine
	for _, m := range world.Machines {
		if m.Claim != (claims.Claimant{}) && m.ProviderID != "" {
			claimed = append(claimed, m)
		}
	}
	return claimed, err
}

// Collect removes Machines that no claimant needs: Machines that the readings of this process have shown free, or with the
// same claimant, for Config.OrphanTTL, and whose claimant Sweep.Alive does not return. It needs Sweep.Alive, and returns
// KindInvalid without it. An error of the reading or of Sweep.Alive ends Collect before it removes a Machine.
//
// Collected.Removed has the Machines that Cluster API deletes. A Machine stays, is not in Removed and causes no error if
// Sweep.Vacate returns false for it, if a claimant has taken it in the meantime, if its MachineDeployment may not be changed, if
// it is gone, or if ctx ends before Cluster API deletes it. Every other error of a Machine, also of Sweep.Vacate, is in the
// returned error, together with the Removed of the other Machines.
func (a *Allocator) Collect(ctx context.Context, how claims.Sweep) (claims.Collected, error) {
	if how.Alive == nil {
		return claims.Collected{}, claims.Invalid("collect", "Sweep.Alive", "is nil")
	}
	world, err := a.World(ctx)
	if err != nil {
		return claims.Collected{}, err
	}
	alive, err := how.Alive(ctx)
	if err != nil {
		return claims.Collected{}, err
	}
	orphans := a.shell.orphans(world, alive)
	type end struct {
		node    claims.Node
		removed bool
		err     error
	}
	ends := make(chan end, len(orphans))
	for _, m := range orphans {
		go func() {
			removed, err := a.remove(ctx, m, how)
			ends <- end{m.Node(), removed, err}
		}()
	}
	var collected claims.Collected
	var failed []error
	for range orphans {
		e := <-ends
		if e.removed {
			collected.Removed = append(collected.Removed, e.node)
		}
		failed = append(failed, e.err)
	}
	return collected, errors.Join(failed...)
}

// remove removes one Machine if it may go now. It is no error if the Machine was claimed since, is gone, or is not deleted
// yet when ctx ends.
func (a *Allocator) remove(ctx context.Context, m clusterapi.Machine, how claims.Sweep) (bool, error) {
	if how.Vacate != nil {
		if vacant, err := how.Vacate(ctx, m.Node()); err != nil || !vacant {
			return false, err
		}
	}
	err := a.shell.call(ctx, core.Ask{Kind: core.KindRelease, UID: m.UID, By: m.Claim}).Err
	switch claims.KindOf(err) {
	case claims.KindNotFound, claims.KindConflict, claims.KindProvisioning:
		return false, nil
	}
	return err == nil, err
}
