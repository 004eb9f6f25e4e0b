package allocator

import (
	"context"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/effects"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core"
)

// shell runs the engine: the loop of package effects, over the requests of a Backend. It has
// no knowledge of claims.
type shell struct {
	backend lkepool.Backend
	cfg     lkepool.Config
	runner  *effects.Runner
	loop    *effects.Loop[core.Ask, core.Event, core.Action, core.Answer]
	// core is guarded by the lock of loop.
	core *core.Core
}

func newShell(backend lkepool.Backend, cfg lkepool.Config) *shell {
	s := &shell{backend: backend, cfg: cfg, runner: effects.NewRunner(core.ParallelEffects, cfg.Clock)}
	s.loop = effects.NewLoop(effects.LoopConfig[core.Ask, core.Event, core.Action, core.Answer]{
		Core:  func() effects.Core[core.Event, core.Action] { return s.core },
		Clock: cfg.Clock, Timer: func(d time.Duration) (<-chan time.Time, func() bool) {
			timer := cfg.Clock.NewTimer(d)
			return timer.C(), timer.Stop
		},
		Came:   func(token int, a core.Ask) core.Event { return core.Asked{Token: token, Ask: a} },
		Left:   func(token int, cause error) core.Event { return core.Left{Token: token, Cause: cause} },
		Tick:   core.Tick{},
		Answer: answered,
		Run: func(ctx context.Context, a core.Action) core.Event {
			d := s.perform(ctx, a)
			s.report(d)
			return d
		},
	})
	return s
}

// answered returns the caller that an action answers and the answer, and false if the action is a request.
func answered(a core.Action) (token int, answer core.Answer, is bool) {
	if a.Op != core.OpAnswer {
		return 0, core.Answer{}, false
	}
	return a.Token, *a.Answer, true
}

// call puts a request to the engine, and waits for its answer. When ctx ends, the answer comes at once.
func (s *shell) call(ctx context.Context, a core.Ask) core.Answer { return s.loop.Call(ctx, a) }

// begin makes a new core, which keeps the callers that wait.
func (s *shell) begin(limits lkepool.Limits, clean bool) {
	s.loop.Locked(func() {
		fresh := core.New(s.cfg, limits, s.cfg.Clock.Now(), clean)
		if s.core != nil {
			fresh.Inherit(s.core)
		}
		s.core = fresh
	})
}

// tell runs a function on the core under the lock: a report that needs no answer, or a query.
func (s *shell) tell(what func(*core.Core)) {
	s.loop.Locked(func() { what(s.core) })
}

// perform makes one request. A write waits for other writes to the same object. A write
// whose time passes meanwhile is dropped, and the core decides again.
func (s *shell) perform(ctx context.Context, a core.Action) core.Done {
	d := core.Done{Action: a}
	request := effects.Request{Timeout: core.ReadTimeout}
	if a.Op.Write() {
		request = effects.Request{Timeout: core.WriteTimeout, NotAfter: a.NotAfter}
		request.Lock, request.Shared = lockOf(a)
	}
	outcome, err := s.runner.Do(ctx, request, func(ctx context.Context) error {
		s.request(ctx, &d)
		return d.Err
	})
	d.Began, d.Err, d.Unsent, d.Cancelled = outcome.Began, err, outcome.Unsent, outcome.Cancelled
	if d.Unsent {
		d.Err = &claims.Error{Kind: claims.KindUnavailable, Op: string(a.Op), Object: claims.Object("pool", a.PoolID),
			Effect: claims.EffectNone, Err: err}
	}
	return d
}

// lockOf names the object that a write changes. Removals of nodes of one pool share the
// lock, because their order does not matter.
func lockOf(a core.Action) (name string, shared bool) {
	switch a.Op {
	case core.OpMark:
		return claims.Object("instance", a.InstanceID), false
	case core.OpCreate:
		return "", false
	}
	return claims.Object("pool", a.PoolID), a.Op == core.OpRemove
}

// request makes one request of the Backend.
func (s *shell) request(ctx context.Context, d *core.Done) {
	a := d.Action
	switch a.Op {
	case core.OpListPools:
		d.Pools, d.Err = s.backend.Pools(ctx)
	case core.OpListInstances:
		d.Instances, d.Err = s.backend.Instances(ctx)
	case core.OpGetPool:
		d.Pool, d.Err = s.backend.Pool(ctx, a.PoolID)
	case core.OpGetInstance:
		d.Instance, d.Err = s.backend.Instance(ctx, a.InstanceID)
	case core.OpCreate:
		d.Pool, d.Err = s.backend.Create(ctx, lkepool.PoolSpec{Key: a.Key, Tags: a.Tags, Count: a.Count})
	case core.OpScale:
		d.Pool, d.Err = s.backend.Scale(ctx, a.PoolID, a.Count)
	case core.OpMark:
		d.Instance, d.Err = s.backend.Mark(ctx, a.InstanceID, a.Tags)
	case core.OpRemove:
		d.Err = s.backend.Remove(ctx, a.PoolID, a.NodeID)
	case core.OpRetire:
		d.Pool, d.Err = s.backend.TagPool(ctx, a.PoolID, a.Tags)
	case core.OpDrop:
		d.Err = s.backend.Drop(ctx, a.PoolID)
	}
}

func (s *shell) report(d core.Done) {
	hook := s.cfg.Observer.Action
	if hook == nil {
		return
	}
	a := d.Action
	end := claims.ActionEnd{
		Op: string(a.Op), Reason: a.Reason, NodePool: a.Key.NodePool, InstanceType: a.Key.InstanceType,
		PoolID: a.PoolID, InstanceID: a.InstanceID, Duration: s.cfg.Clock.Since(d.Began), Err: d.Err,
	}
	if d.Err == nil {
		end.Bought = a.Bought
		if a.Op == core.OpMark && a.Key.NodePool != "" {
			end.Claimed = 1
		}
	}
	hook(end)
}
