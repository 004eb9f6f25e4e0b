package instances

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core"
)

// Manager makes and removes instances. It is safe for concurrent use; run one
// per cluster.
type Manager struct {
	cfg   settings
	shell *shell
}

// New returns a Manager over a backend. It makes no request. The Manager begins to
// lead at once, as after Begin(claims.MayStillWrite).
func New(backend Backend, cfg Config) (*Manager, error) {
	settings, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if backend == nil {
		return nil, claims.Invalid("configure", "backend", "is nil")
	}
	return &Manager{cfg: settings, shell: newShell(backend, settings)}, nil
}

// Begin drops everything that the Manager has read, because this process begins to
// lead and another process may have changed the platform. Programs with leader election
// call it when they are elected; waiting callers keep waiting.
//
// After a predecessor that claims.MayStillWrite, the Manager does not modify the
// predecessor's instances for Config.LateEffect and Config.SettleTime, except for
// removals: it writes no tags, adds no disks, and returns no unfinished instance. Under
// Config.Ceilings it creates nothing for Config.LateEffect and Config.ListLag. After a
// predecessor that claims.Ended, these times are without Config.LateEffect.
func (m *Manager) Begin(after claims.Predecessor) { m.shell.begin(after) }

// Create returns the claimant's instance: the existing instance, whatever the spec, or
// a new instance. It waits until ctx ends, and then returns claims.KindProvisioning with
// the reason of the wait, or the kind of the last error; the next call continues.
func (m *Manager) Create(ctx context.Context, spec Spec) (Instance, error) {
	began := m.cfg.Clock.Now()
	creation, order, err := newOrder(&m.cfg, spec)
	var result core.Answer
	if err == nil {
		result = m.shell.call(ctx, core.Ask{Kind: core.AskCreate, Order: order}, creation)
		err = result.Err
	}
	if hook := m.cfg.Observer.Claim; hook != nil {
		hook(claims.ClaimEnd{
			Claimant: spec.Claimant, InstanceType: spec.InstanceType, Region: spec.Region, Wait: m.cfg.Clock.Since(began), Err: err,
		})
	}
	return Instance(result.Instance), err
}

// Get reads one instance. claims.KindNotFound is proven: two 404s SettleTime apart and a
// list that lacks the instance, or, after an accepted removal, two such 404s, or one 404
// and a later list. claims.KindConflict means that the instance exists and does not
// belong to this cluster.
func (m *Manager) Get(ctx context.Context, instanceID int) (Instance, error) {
	if err := checkID("get", instanceID); err != nil {
		return Instance{}, err
	}
	result := m.shell.ask(ctx, core.Ask{Kind: core.AskGet, ID: instanceID})
	return Instance(result.Instance), result.Err
}

// List returns all instances of this cluster that have a claim, in the order of
// their IDs. An instance stays in the result until it is proven gone. The result
// is never partial: List returns an error instead.
func (m *Manager) List(ctx context.Context) ([]Instance, error) {
	result := m.shell.ask(ctx, core.Ask{Kind: core.AskList})
	var all []Instance
	for _, i := range result.Instances {
		all = append(all, Instance(i))
	}
	return all, result.Err
}

// Delete removes an instance for good. nil means that the platform accepted the
// removal, now or before; the instance may exist for a while. claims.KindNotFound
// means that it does not exist, proven as for Get. claims.KindConflict means that it
// belongs to another claimant or another cluster; the zero Claimant matches any claimant.
func (m *Manager) Delete(ctx context.Context, instanceID int, by claims.Claimant) error {
	const op = "delete"
	if err := checkID(op, instanceID); err != nil {
		return err
	}
	if by != (claims.Claimant{}) {
		if err := checkClaimant(op, "by", by); err != nil {
			return err
		}
	}
	return m.shell.ask(ctx, core.Ask{Kind: core.AskDelete, ID: instanceID, By: m.cfg.own.ID(by)}).Err
}

// SetTags removes tags from an instance and adds others. It keeps all other tags, the
// claim's included, and writes nothing if nothing changes. claims.KindConflict means
// that the instance is not the claimant's; the zero Claimant matches any claimant.
func (m *Manager) SetTags(ctx context.Context, instanceID int, by claims.Claimant, remove, add []string) error {
	const op = "set tags"
	if err := checkID(op, instanceID); err != nil {
		return err
	}
	if err := checkTags(op, "add", add, m.cfg.own); err != nil {
		return err
	}
	for i, tag := range remove {
		if m.cfg.own.Own(tag) {
			return claims.Invalid(op, fmt.Sprintf("remove[%d]", i), "%q is not a user's tag", tag)
		}
	}
	return m.shell.ask(ctx, core.Ask{Kind: core.AskTags, ID: instanceID, By: m.cfg.own.ID(by), Remove: remove, Add: add}).Err
}

// Collect removes instances that no claimant needs: instances whose claimant has not
// existed for OrphanTTL, all but one of several instances with one claimant, and instances
// that were not finished within FinishTimeout and for which no caller waits. Times are
// measured from when this process first saw the reason.
//
// Collect removes an instance only if the sweep's Vacate returns true, and reads and
// checks the instance again right before. If a user removed the tags of a claim, Collect
// writes them again, with the other tags that the instance had. The result is valid even
// with an error.
func (m *Manager) Collect(ctx context.Context, how claims.Sweep) (claims.Collected, error) {
	const op = "collect"
	if how.Alive == nil {
		return claims.Collected{}, claims.Invalid(op, "Sweep.Alive", "is nil")
	}
	if err := m.shell.ask(ctx, core.Ask{Kind: core.AskList}).Err; err != nil {
		return claims.Collected{}, err
	}
	claimants, err := how.Alive(ctx)
	if err != nil {
		return claims.Collected{}, &claims.Error{Kind: claims.KindUnavailable, Op: op, Effect: claims.EffectNone, Err: err}
	}
	alive := make([]claims.ClaimID, 0, len(claimants))
	for _, claimant := range claimants {
		alive = append(alive, m.cfg.own.ID(claimant))
	}
	found := m.shell.survey(alive)
	collected := claims.Collected{Unclaimed: found.Unclaimed}

	var errs []error
	for _, id := range found.Stripped {
		errs = append(errs, m.shell.ask(ctx, core.Ask{Kind: core.AskTags, ID: id}).Err)
	}
	removed, err := m.evict(ctx, how, found.Orphans, alive)
	collected.Removed = removed
	return collected, errors.Join(append(errs, err)...)
}

// evict removes the orphans that Vacate releases, a bounded number at a time.
func (m *Manager) evict(ctx context.Context, how claims.Sweep, orphans []claims.Node, alive []claims.ClaimID) ([]claims.Node, error) {
	removed, errs := make([]bool, len(orphans)), make([]error, len(orphans))
	slots := make(chan struct{}, core.ParallelRemovals)
	var group sync.WaitGroup
	for i, orphan := range orphans {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			removed[i], errs[i] = m.evictOne(ctx, how, orphan, alive)
		})
	}
	group.Wait()
	var gone []claims.Node
	for i, orphan := range orphans {
		if removed[i] {
			gone = append(gone, orphan)
		}
	}
	return gone, errors.Join(errs...)
}

func (m *Manager) evictOne(ctx context.Context, how claims.Sweep, orphan claims.Node, alive []claims.ClaimID) (bool, error) {
	if how.Vacate != nil {
		may, err := how.Vacate(ctx, orphan)
		if err != nil {
			return false, claims.Errorf(claims.KindUnavailable, "collect", claims.Object("instance", orphan.InstanceID), "vacating: %w", err)
		}
		if !may {
			return false, nil
		}
	}
	result := m.shell.ask(ctx, core.Ask{Kind: core.AskEvict, ID: orphan.InstanceID, Alive: alive})
	if claims.KindOf(result.Err) == claims.KindNotFound {
		return false, nil
	}
	return result.Err == nil && !result.Withdrawn, result.Err
}

// Actions returns the values of ActionEnd.Op.
func Actions() []string { return core.Actions() }
