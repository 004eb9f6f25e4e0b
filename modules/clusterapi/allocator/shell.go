package allocator

import (
	"context"
	"sync"
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
	// sendBefore is how long a write may wait for a slot until it is decided again.
	sendBefore = 10 * time.Second
)

// shell runs the core. One goroutine, the loop, exists while callers wait or requests are under way.
type shell struct {
	backend clusterapi.Backend
	cfg     clusterapi.Config
	runner  *effects.Runner
	wake    chan struct{}

	mu      sync.Mutex
	core    *core.Core
	callers map[int]chan core.Answer
	last    int
	inbox   []core.Event
	running bool
	under   int // requests under way
	reads   context.Context
	cancel  context.CancelFunc
}

func newShell(backend clusterapi.Backend, cfg clusterapi.Config) *shell {
	return &shell{backend: backend, cfg: cfg, runner: effects.NewRunner(parallel, cfg.Clock), wake: make(chan struct{}, 1),
		core: core.New(cfg, false), callers: map[int]chan core.Answer{}}
}

// call puts a call to the core and waits for its answer. When ctx ends, the core answers at once.
func (s *shell) call(ctx context.Context, ask core.Ask) core.Answer {
	done := make(chan core.Answer, 1)
	s.mu.Lock()
	s.last++
	token := s.last
	s.callers[token] = done
	s.post(core.Arrived{Token: token, Ask: ask})
	s.mu.Unlock()
	select {
	case answer := <-done:
		return answer
	case <-ctx.Done():
	}
	s.mu.Lock()
	if _, waits := s.callers[token]; waits {
		s.post(core.Left{Token: token, Cause: context.Cause(ctx)})
	}
	s.mu.Unlock()
	return <-done
}

func (s *shell) begin(clean bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.core.Begin(clean)
	if s.running {
		s.post(core.Tick{})
	}
}

func (s *shell) orphans(w clusterapi.World, alive []claims.Claimant) []clusterapi.Machine {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.core.Orphans(w, alive, s.cfg.Clock.Now())
}

// post queues an event and starts the loop if there is none. The caller holds mu.
func (s *shell) post(e core.Event) {
	s.inbox = append(s.inbox, e)
	if !s.running {
		s.running = true
		s.reads, s.cancel = context.WithCancel(context.Background())
		go s.loop()
		return
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// loop handles events until no call waits and no request is under way.
func (s *shell) loop() {
	timer := s.cfg.Clock.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		next, more := s.step()
		if !more {
			return
		}
		timer.Stop()
		if !next.IsZero() {
			timer.Reset(next.Sub(s.cfg.Clock.Now()))
		}
		select {
		case <-s.wake:
		case <-timer.C():
			s.mu.Lock()
			s.inbox = append(s.inbox, core.Tick{})
			s.mu.Unlock()
		}
	}
}

// step handles the inbox. It returns when the core needs a tick, and false when the loop may end.
func (s *shell) step() (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.inbox) > 0 {
		e := s.inbox[0]
		s.inbox = s.inbox[1:]
		for _, a := range s.core.Handle(e, s.cfg.Clock.Now()) {
			if a.Op == core.ActionAnswer {
				s.callers[a.Token] <- a.Answer
				delete(s.callers, a.Token)
				continue
			}
			if s.reads.Err() != nil {
				s.reads, s.cancel = context.WithCancel(context.Background())
			}
			s.under++
			go s.request(s.reads, a)
		}
	}
	if !s.core.Idle() {
		return s.core.Wake(), true
	}
	s.cancel()
	if s.under > 0 {
		return time.Time{}, true
	}
	s.running = false
	return time.Time{}, false
}

// request makes one request and posts its result. A write is not cancelled when its callers leave.
func (s *shell) request(ctx context.Context, a core.Action) {
	began := s.cfg.Clock.Now()
	var e core.Event
	if a.Op == core.ActionRead {
		var w clusterapi.World
		outcome, err := s.runner.Do(ctx, effects.Request{Timeout: requestTimeout}, func(ctx context.Context) (err error) {
			w, err = s.backend.Read(ctx)
			return err
		})
		e = core.Read{World: w, Err: err, Cancelled: outcome.Cancelled, Epoch: a.Epoch}
		s.report(claims.ActionEnd{Op: "read cluster", Reason: "callers wait", Err: err}, began)
	} else {
		err := s.write(ctx, a.Write)
		e = core.Written{Write: a.Write, Err: err, Epoch: a.Epoch}
		end := claims.ActionEnd{Op: string(a.Write.Op), Reason: a.Write.Reason, InstanceType: a.Write.InstanceType, Err: err}
		if err == nil {
			end.Bought = a.Write.Bought
			if a.Write.Op == clusterapi.OpClaim {
				end.Claimed = 1
			}
		}
		s.report(end, began)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.under--
	s.post(e)
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
