package allocator

import (
	"context"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/effects"
	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi"
	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi/internal/core"
)

const (
	// parallel bounds the requests at a time; a cluster's API server takes more.
	parallel = 16
	// requestTimeout ends one request; a reading is three lists.
	requestTimeout = 15 * time.Second
	// sendBefore is how long a write may wait for a slot. After that it is decided again.
	sendBefore = 10 * time.Second
)

// shell runs the core: the loop of package effects, over the requests of a Backend.
type shell struct {
	backend clusterapi.Backend
	cfg     clusterapi.Config
	runner  *effects.Runner
	loop    *effects.Loop[core.Ask, core.Event, core.Action, core.Answer]
	// core is guarded by the lock of loop.
	core *core.Core
}

func newShell(backend clusterapi.Backend, cfg clusterapi.Config) *shell {
	s := &shell{backend: backend, cfg: cfg, runner: effects.NewRunner(parallel, cfg.Clock), core: core.New(cfg)}
	s.loop = effects.NewLoop(effects.LoopConfig[core.Ask, core.Event, core.Action, core.Answer]{
		Core:  func() effects.Core[core.Event, core.Action] { return s.core },
		Clock: cfg.Clock, Timer: func(d time.Duration) (<-chan time.Time, func() bool) {
			timer := cfg.Clock.NewTimer(d)
			return timer.C(), timer.Stop
		},
		Came: func(token int, ask core.Ask) core.Event { return core.Arrived{Token: token, Ask: ask} },
		Left: func(token int, cause error) core.Event { return core.Left{Token: token, Cause: cause} },
		Tick: core.Tick{},
		Answer: func(a core.Action) (int, core.Answer, bool) {
			return a.Token, a.Answer, a.Op == core.ActionAnswer
		},
		Run: s.request,
	})
	return s
}

// call puts a call to the core and waits for its answer. When ctx ends, the core answers at once.
func (s *shell) call(ctx context.Context, ask core.Ask) core.Answer { return s.loop.Call(ctx, ask) }

func (s *shell) begin() {
	s.loop.Locked(s.core.Begin)
	s.loop.Nudge()
}

func (s *shell) orphans(w clusterapi.World, alive []claims.Claimant) (orphans []clusterapi.Machine) {
	s.loop.Locked(func() { orphans = s.core.Orphans(w, alive, s.cfg.Clock.Now()) })
	return orphans
}

// request makes one request and returns its result. A write is not cancelled when its callers leave.
func (s *shell) request(ctx context.Context, a core.Action) core.Event {
	began := s.cfg.Clock.Now()
	if a.Op == core.ActionRead {
		var w clusterapi.World
		outcome, err := s.runner.Do(ctx, effects.Request{Timeout: requestTimeout}, func(ctx context.Context) (err error) {
			w, err = s.backend.Read(ctx)
			return err
		})
		s.report(claims.ActionEnd{Op: "read cluster", Reason: "callers wait", Err: err}, began)
		return core.Read{World: w, Err: err, Cancelled: outcome.Cancelled, Epoch: a.Epoch}
	}
	err := s.write(ctx, a.Write)
	end := claims.ActionEnd{Op: string(a.Write.Op), Reason: a.Write.Reason, InstanceType: a.Write.InstanceType, Err: err}
	if err == nil {
		end.Bought = a.Write.Bought
		if a.Write.Op == clusterapi.OpClaim {
			end.Claimed = 1
		}
	}
	s.report(end, began)
	return core.Written{Write: a.Write, Err: err, Epoch: a.Epoch}
}

func (s *shell) write(ctx context.Context, w clusterapi.Write) error {
	request := effects.Request{Timeout: requestTimeout, NotAfter: s.cfg.Clock.Now().Add(sendBefore), Lock: string(w.Op) + " " + w.Object}
	outcome, err := s.runner.Do(ctx, request, func(ctx context.Context) error { return s.backend.Write(ctx, w) })
	if outcome.Unsent {
		err = &claims.Error{Kind: claims.KindUnavailable, Op: string(w.Op), Object: w.Object, Effect: claims.EffectNone, Err: err}
	}
	return err
}

func (s *shell) report(end claims.ActionEnd, began time.Time) {
	if hook := s.cfg.Observer.Action; hook != nil {
		end.Duration = s.cfg.Clock.Since(began)
		hook(end)
	}
}
