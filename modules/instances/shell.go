package instances

import (
	"context"
	"sync"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/effects"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core"
)

// shell runs calls in the goroutines of their callers, and each effect in a separate
// goroutine. It decides nothing.
type shell struct {
	requests requests
	cfg      settings
	runner   *effects.Runner

	mu   sync.Mutex
	core *core.Core
	// changed is closed and replaced when a call may continue.
	changed chan struct{}
	callers int
	// reads contains the cancel functions of the reads under way, which end with the
	// last caller.
	reads map[int]context.CancelFunc
	last  int
}

func newShell(backend Backend, cfg settings) *shell {
	return &shell{
		requests: requests{backend, cfg.own}, cfg: cfg, runner: effects.NewRunner(core.ParallelEffects, cfg.Clock),
		core: core.New(cfg.engine(), cfg.own, cfg.Clock.Now()), changed: make(chan struct{}), reads: map[int]context.CancelFunc{},
	}
}

// caller is a call, with the request for an instance if the call makes one.
type caller struct {
	*core.Call
	creation Creation
}

// begin makes the core begin to lead.
func (s *shell) begin(after claims.Predecessor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.core.Begin(after, s.cfg.Clock.Now())
	s.wake()
}

// survey returns the findings of a sweep.
func (s *shell) survey(alive []claims.ClaimID) core.Survey {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.core.Survey(alive, s.cfg.Clock.Now())
}

// ask runs a call until it is answered or ctx ends.
func (s *shell) ask(ctx context.Context, ask core.Ask) core.Answer {
	return s.call(ctx, ask, Creation{})
}

// call runs a call, like ask. creation is the request for the instance that the call makes.
func (s *shell) call(ctx context.Context, ask core.Ask, creation Creation) core.Answer {
	c := s.enter(ask, creation)
	defer s.exit(c)
	for {
		next, changed := s.step(ctx, c)
		switch {
		case next.End != nil:
			return *next.End
		case next.Effect != nil:
			continue
		}
		if ended := s.wait(ctx, next.Until, changed); ended {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.core.Leave(c.Call, context.Cause(ctx), s.cfg.Clock.Now())
		}
	}
}

func (s *shell) enter(ask core.Ask, creation Creation) *caller {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.callers++
	return &caller{s.core.Admit(ask, s.cfg.Clock.Now()), creation}
}

func (s *shell) exit(c *caller) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.core.Dismiss(c.Call, s.cfg.Clock.Now())
	s.wake()
	if s.callers--; s.callers == 0 {
		for _, cancel := range s.reads {
			cancel()
		}
	}
}

// step returns the call's next step, and starts it if it is an effect.
func (s *shell) step(ctx context.Context, c *caller) (core.Step, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		a := s.core.Leave(c.Call, context.Cause(ctx), s.cfg.Clock.Now())
		return core.Step{End: &a}, nil
	}
	next := s.core.Next(c.Call, s.cfg.Clock.Now())
	if next.Effect != nil {
		s.start(ctx, *next.Effect, c.creation)
		s.wake()
	}
	return next, s.changed
}

// wait waits for a change or a time. It returns true if ctx ended first.
func (s *shell) wait(ctx context.Context, until time.Time, changed <-chan struct{}) bool {
	var clock <-chan time.Time
	if !until.IsZero() {
		timer := s.cfg.Clock.NewTimer(until.Sub(s.cfg.Clock.Now()))
		defer timer.Stop()
		clock = timer.C()
	}
	select {
	case <-ctx.Done():
		return true
	case <-changed:
	case <-clock:
	}
	return false
}

// wake makes all calls continue. The caller holds mu.
func (s *shell) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// start makes a request in a separate goroutine. A read continues while any caller waits,
// and ends with the last caller. The caller of start holds mu.
func (s *shell) start(ctx context.Context, e core.Effect, creation Creation) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.last++
	token := s.last
	if !e.Op.Write() {
		s.reads[token] = cancel
	}
	go func() {
		defer cancel()
		r := s.perform(ctx, e, creation)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.reads, token)
		s.core.Handle(r, s.cfg.Clock.Now())
		s.wake()
	}()
}

// perform makes one request. Writes to one instance never overlap.
func (s *shell) perform(ctx context.Context, e core.Effect, creation Creation) core.Result {
	r := core.Result{Effect: e}
	request := effects.Request{NotAfter: e.NotAfter, Timeout: core.Timeout(e.Op)}
	switch {
	case e.Op == core.OpCreate:
		request.Lock = "label " + creation.Label
	case e.Op.Write():
		request.Lock = claims.Object("instance", e.ID)
	}
	outcome, err := s.runner.Do(ctx, request, func(ctx context.Context) error {
		s.requests.send(ctx, &r, creation)
		return r.Err
	})
	r.Began, r.Err, r.Unsent, r.Cancelled = outcome.Began, err, outcome.Unsent, outcome.Cancelled
	if r.Unsent {
		r.Err = &claims.Error{Kind: claims.KindUnavailable, Op: string(e.Op), Object: claims.Object("instance", e.ID),
			Effect: claims.EffectNone, Err: err}
	}
	s.report(r, creation)
	return r
}

func (s *shell) report(r core.Result, creation Creation) {
	hook := s.cfg.Observer.Action
	if hook == nil {
		return
	}
	end := claims.ActionEnd{
		Op: string(r.Op), Reason: r.Reason, InstanceID: r.ID, Duration: s.cfg.Clock.Since(r.Began), Err: r.Err,
	}
	if r.Op == core.OpCreate {
		end.InstanceType = creation.InstanceType
		if r.Err == nil {
			end.InstanceID, end.Bought, end.Claimed = r.Instance.InstanceID, 1, 1
		}
	}
	hook(end)
}
