package allocator

import (
	"context"
	"sync"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/effects"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine"
)

// shell runs the engine: it serialises events, starts effects, and turns their
// results into events. It has no knowledge of claims. One goroutine, the loop,
// exists while callers wait or writes are under way.
type shell struct {
	backend lkepool.Backend
	cfg     lkepool.Config
	runner  *effects.Runner
	wake    chan struct{}

	mu      sync.Mutex
	core    *engine.Core
	callers map[int]chan engine.Answer
	last    int
	inbox   []engine.Event
	running bool
	// effects is how many are under way, reads what ends the reads among them.
	effects int
	reads   reads
}

// reads is the context of all reads that callers wait for.
type reads struct {
	ctx    context.Context
	cancel context.CancelFunc
}

func newReads() reads {
	ctx, cancel := context.WithCancel(context.Background())
	return reads{ctx, cancel}
}

func newShell(backend lkepool.Backend, cfg lkepool.Config) *shell {
	return &shell{
		backend: backend, cfg: cfg, runner: effects.NewRunner(engine.ParallelEffects, cfg.Clock), wake: make(chan struct{}, 1),
		callers: map[int]chan engine.Answer{},
	}
}

// call puts a request to the engine, and waits for its answer. When ctx ends
// the engine is told, and answers at once.
func (s *shell) call(ctx context.Context, a engine.Ask) engine.Answer {
	done := make(chan engine.Answer, 1)
	s.mu.Lock()
	s.last++
	token := s.last
	s.callers[token] = done
	s.post(engine.Asked{Token: token, Ask: a})
	s.mu.Unlock()
	select {
	case result := <-done:
		return result
	case <-ctx.Done():
	}
	s.mu.Lock()
	if _, waiting := s.callers[token]; waiting {
		s.post(engine.Left{Token: token, Cause: context.Cause(ctx)})
	}
	s.mu.Unlock()
	return <-done
}

// begin makes a new core, which keeps the callers that wait.
func (s *shell) begin(limits lkepool.Limits, clean bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh := engine.New(s.cfg, limits, s.cfg.Clock.Now(), clean)
	if s.core != nil {
		fresh.Inherit(s.core)
	}
	s.core = fresh
}

// tell runs a function on the core under the lock: a report that needs no answer, or a query.
func (s *shell) tell(what func(*engine.Core)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what(s.core)
}

// post queues an event, and starts the loop if there is none. The caller holds mu.
func (s *shell) post(e engine.Event) {
	s.inbox = append(s.inbox, e)
	if !s.running {
		s.running, s.reads = true, newReads()
		go s.loop()
		return
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// loop handles events until nothing waits and nothing is under way.
func (s *shell) loop() {
	timer := s.cfg.Clock.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		next, more := s.step()
		if !more {
			return
		}
		if !next.IsZero() {
			timer.Reset(next.Sub(s.cfg.Clock.Now()))
		} else {
			timer.Stop()
		}
		select {
		case <-s.wake:
		case <-timer.C():
			s.mu.Lock()
			s.inbox = append(s.inbox, engine.Tick{})
			s.mu.Unlock()
		}
	}
}

// step handles what is in the inbox: callers are answered, effects started. It
// returns when the core needs a tick, and false when the loop may end.
func (s *shell) step() (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.inbox) > 0 {
		e := s.inbox[0]
		s.inbox = s.inbox[1:]
		for _, a := range s.core.Handle(e, s.cfg.Clock.Now()) {
			if a.Op == engine.OpAnswer {
				s.answer(a)
				continue
			}
			if s.reads.ctx.Err() != nil {
				s.reads = newReads()
			}
			s.effects++
			go s.effect(s.reads.ctx, a)
		}
	}
	if !s.core.Idle() {
		return s.core.Wake(), true
	}
	s.reads.cancel()
	if s.effects > 0 {
		return time.Time{}, true
	}
	s.running = false
	return time.Time{}, false
}

// answer gives a caller its result. The caller holds mu.
func (s *shell) answer(a engine.Action) {
	if done, ok := s.callers[a.Token]; ok {
		delete(s.callers, a.Token)
		done <- *a.Answer
	}
}

// effect makes one request and posts its result. A write is not cancelled when
// its callers leave, because then nothing would show whether it happened.
func (s *shell) effect(ctx context.Context, a engine.Action) {
	d := s.perform(ctx, a)
	s.report(d)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.effects--
	s.post(d)
}

// perform makes one request. A write waits for other writes to the same object, and one
// whose time has passed meanwhile is dropped: it is decided again.
func (s *shell) perform(ctx context.Context, a engine.Action) engine.Done {
	d := engine.Done{Action: a}
	request := effects.Request{Timeout: engine.ReadTimeout}
	if a.Op.Write() {
		request = effects.Request{Timeout: engine.WriteTimeout, NotAfter: a.NotAfter}
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

// lockOf names the object that a write changes. Removals of nodes of one pool by name
// share it: they commute.
func lockOf(a engine.Action) (name string, shared bool) {
	switch a.Op {
	case engine.OpMark:
		return claims.Object("instance", a.InstanceID), false
	case engine.OpCreate:
		return "", false
	}
	return claims.Object("pool", a.PoolID), a.Op == engine.OpRemove
}

// request makes one request of the Backend.
func (s *shell) request(ctx context.Context, d *engine.Done) {
	a := d.Action
	switch a.Op {
	case engine.OpListPools:
		d.Pools, d.Err = s.backend.Pools(ctx)
	case engine.OpListInstances:
		d.Instances, d.Err = s.backend.Instances(ctx)
	case engine.OpGetPool:
		d.Pool, d.Err = s.backend.Pool(ctx, a.PoolID)
	case engine.OpGetInstance:
		d.Instance, d.Err = s.backend.Instance(ctx, a.InstanceID)
	case engine.OpCreate:
		d.Pool, d.Err = s.backend.Create(ctx, lkepool.PoolSpec{Key: a.Key, Tags: a.Tags, Count: a.Count})
	case engine.OpScale:
		d.Pool, d.Err = s.backend.Scale(ctx, a.PoolID, a.Count)
	case engine.OpMark:
		d.Instance, d.Err = s.backend.Mark(ctx, a.InstanceID, a.Tags)
	case engine.OpRemove:
		d.Err = s.backend.Remove(ctx, a.PoolID, a.NodeID)
	case engine.OpDrop:
		d.Err = s.backend.Drop(ctx, a.PoolID)
	}
}

func (s *shell) report(d engine.Done) {
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
		if a.Op == engine.OpMark && a.Key.NodePool != "" {
			end.Claimed = 1
		}
	}
	hook(end)
}
