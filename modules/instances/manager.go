package instances

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Manager makes and removes instances. It is safe for concurrent use; run one
// per cluster.
type Manager struct {
	cfg   Config
	shell *shell
}

// New returns a Manager over a backend. It makes no request. The process is
// taken to lead from now on; see Begin.
func New(backend Backend, cfg Config) (*Manager, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if backend == nil {
		return nil, invalid("configure", "backend", "is nil")
	}
	return &Manager{cfg: cfg, shell: &shell{
		backend: backend, cfg: cfg, slots: make(chan struct{}, parallelEffects), core: newCore(cfg, cfg.Clock.Now()),
		changed: make(chan struct{}), reads: map[int]context.CancelFunc{},
	}}, nil
}

// Begin makes the Manager forget what it has seen, because this process begins
// to lead now and another one may have changed it. Programs with leader
// election call it when they are elected; callers that wait keep waiting.
func (m *Manager) Begin() {
	m.shell.mu.Lock()
	defer m.shell.mu.Unlock()
	m.shell.core.now = m.cfg.Clock.Now()
	m.shell.core.begin()
	m.shell.wake()
}

// Create returns the claimant's instance: the one it has already, whatever the
// spec, or one that is made. It waits until ctx ends, and then returns
// KindProvisioning with what it waits for, or the kind of what prevents it;
// the next call continues.
func (m *Manager) Create(ctx context.Context, spec Spec) (Instance, error) {
	began := m.cfg.Clock.Now()
	var result answer
	if t, err := newCreateTask(&m.cfg, spec); err != nil {
		result.err = err
	} else {
		result = m.shell.call(ctx, t)
	}
	if hook := m.cfg.Observer.Create; hook != nil {
		hook(CreateEnd{Claimant: spec.Claimant, Plan: spec.Plan, Region: spec.Region, Wait: m.cfg.Clock.Since(began), Err: result.err})
	}
	return result.instance, result.err
}

// Get reads one instance. KindNotFound is proven: two 404s SettleTime apart, or
// one after an accepted removal. KindConflict means that it exists and is not
// this cluster's.
func (m *Manager) Get(ctx context.Context, instanceID int) (Instance, error) {
	if err := checkID("get", instanceID); err != nil {
		return Instance{}, err
	}
	result := m.shell.call(ctx, &getTask{id: instanceID})
	return result.instance, result.err
}

// List returns all instances of this cluster that have a claim, in the order of
// their IDs. An instance stays in the result until it is proven gone. The result
// is never partial: an error instead.
func (m *Manager) List(ctx context.Context) ([]Instance, error) {
	result := m.shell.call(ctx, &listTask{})
	return result.instances, result.err
}

// Delete removes an instance for good. nil means that the platform accepted
// that, now or before; the instance may exist for a while. KindNotFound means that
// it does not exist, proven as for Get. KindConflict means that it is another
// claimant's, or not this cluster's; the zero Claimant stands for any claimant.
func (m *Manager) Delete(ctx context.Context, instanceID int, by Claimant) error {
	const op = "delete"
	if err := checkID(op, instanceID); err != nil {
		return err
	}
	if by != (Claimant{}) {
		if err := by.check(op, "by"); err != nil {
			return err
		}
	}
	return m.shell.call(ctx, &deleteTask{op: op, id: instanceID, by: by.id(), reason: "its claimant is done with it"}).err
}

// SetTags takes tags off an instance and puts others on, and leaves everything
// else, the claim above all. A change that makes no difference writes nothing.
// KindConflict means that the instance is not the claimant's; the zero Claimant
// stands for any.
func (m *Manager) SetTags(ctx context.Context, instanceID int, by Claimant, remove, add []string) error {
	const op = "set tags"
	if err := checkID(op, instanceID); err != nil {
		return err
	}
	if err := checkTags(op, "add", add); err != nil {
		return err
	}
	for i, tag := range remove {
		if ownTag(tag) {
			return invalid(op, fmt.Sprintf("remove[%d]", i), "%q is not a user's tag", tag)
		}
	}
	return m.shell.call(ctx, &tagsTask{id: instanceID, by: by.id(), remove: remove, add: add}).err
}

// Collect removes what nothing needs: instances whose claimant has not existed
// for OrphanTTL, all but one of several with one claimant, and those whose disks
// and boot were not finished in FinishTimeout and that no caller waits for.
// Times are measured from when this process first saw it so.
//
// An instance goes only when the sweep's Vacate agrees, and is read and judged
// again right before. When the claim was taken off a claimant's instance, it is
// written again with the tags that the instance had beside it. What was done is returned along with an error.
func (m *Manager) Collect(ctx context.Context, how Sweep) (Collected, error) {
	const op = "collect"
	if how.Alive == nil {
		return Collected{}, invalid(op, "Sweep.Alive", "is nil")
	}
	if err := m.shell.call(ctx, &listTask{}).err; err != nil {
		return Collected{}, err
	}
	claimants, err := how.Alive(ctx)
	if err != nil {
		return Collected{}, &Error{Kind: KindUnavailable, Op: op, Effect: EffectNone, Err: err}
	}
	alive := make([]claimID, 0, len(claimants))
	for _, claimant := range claimants {
		alive = append(alive, claimant.id())
	}
	m.shell.mu.Lock()
	m.shell.core.now = m.cfg.Clock.Now()
	orphans, stripped := m.shell.core.orphans(alive), m.shell.core.strippedOf(alive)
	collected := Collected{Unclaimed: slices.Clone(m.shell.core.world.unclaimed)}
	m.shell.mu.Unlock()

	var errs []error
	for _, id := range stripped {
		errs = append(errs, m.shell.call(ctx, &tagsTask{id: id}).err)
	}
	removed, err := m.evict(ctx, how, orphans, alive)
	collected.Removed = removed
	return collected, errors.Join(append(errs, err)...)
}

// evict removes the instances that may go, a bounded number at a time.
func (m *Manager) evict(ctx context.Context, how Sweep, orphans []Instance, alive []claimID) ([]Instance, error) {
	removed, errs := make([]bool, len(orphans)), make([]error, len(orphans))
	slots := make(chan struct{}, parallelRemovals)
	var group sync.WaitGroup
	for i, orphan := range orphans {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			removed[i], errs[i] = m.evictOne(ctx, how, orphan, alive)
		})
	}
	group.Wait()
	var gone []Instance
	for i, orphan := range orphans {
		if removed[i] {
			gone = append(gone, orphan)
		}
	}
	return gone, errors.Join(errs...)
}

func (m *Manager) evictOne(ctx context.Context, how Sweep, orphan Instance, alive []claimID) (bool, error) {
	if how.Vacate != nil {
		may, err := how.Vacate(ctx, orphan)
		if err != nil {
			return false, fail(KindUnavailable, "collect", orphan.ID, "vacating: %w", err)
		}
		if !may {
			return false, nil
		}
	}
	t := &deleteTask{op: "collect", id: orphan.ID, reason: "nothing needs it",
		judge: func(c *core, o *object) bool { return c.needless(o, alive) }}
	err := m.shell.call(ctx, t).err
	if KindOf(err) == KindNotFound {
		return false, nil
	}
	return err == nil && !t.withdrawn, err
}
