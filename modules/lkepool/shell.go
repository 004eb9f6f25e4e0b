package lkepool

import (
	"context"
	"sync"
	"time"
)

// shell runs the core: it serialises events, starts effects, and turns their
// results into events. It has no knowledge of claims. One goroutine, the loop,
// exists while callers wait or writes are under way.
type shell struct {
	backend Backend
	cfg     Config
	// slots bounds the effects at the same time.
	slots chan struct{}

	mu      sync.Mutex
	core    *core
	callers map[int]chan answer
	last    int
	inbox   []event
	wake    chan struct{}
	running bool
	// effects is how many are under way; cancel ends the reads among them.
	effects int
	reads   context.Context
	cancel  context.CancelFunc
}

// call puts a request to the core, and waits for its answer. When ctx ends the
// core is told, and answers at once.
func (s *shell) call(ctx context.Context, a ask) answer {
	done := make(chan answer, 1)
	s.mu.Lock()
	s.last++
	token := s.last
	s.callers[token] = done
	s.post(asked{token: token, ask: a})
	s.mu.Unlock()
	select {
	case result := <-done:
		return result
	case <-ctx.Done():
	}
	s.mu.Lock()
	if _, waiting := s.callers[token]; waiting {
		s.post(left{token: token, cause: context.Cause(ctx)})
	}
	s.mu.Unlock()
	return <-done
}

// begin makes a new core, which keeps the callers that wait.
func (s *shell) begin(limits Limits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh := newCore(s.cfg, limits, s.cfg.Clock.Now())
	if s.core != nil {
		fresh.inherit(s.core)
	}
	s.core = fresh
}

// tell gives the core what needs no answer.
func (s *shell) tell(what func(*core)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what(s.core)
}

// post queues an event, and starts the loop if there is none. The caller holds mu.
func (s *shell) post(e event) {
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
			s.inbox = append(s.inbox, tick{})
			s.mu.Unlock()
		}
	}
}

// step handles what is in the inbox. It returns when the core wants a tick, and
// false when the loop may end.
func (s *shell) step() (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.inbox) > 0 {
		e := s.inbox[0]
		s.inbox = s.inbox[1:]
		for _, a := range s.core.handle(e, s.cfg.Clock.Now()) {
			s.run(a)
		}
	}
	if !s.core.idle() {
		return s.core.wake(), true
	}
	s.cancel()
	if s.effects > 0 {
		return time.Time{}, true
	}
	s.running = false
	return time.Time{}, false
}

// run answers a caller or starts an effect. The caller holds mu.
func (s *shell) run(a action) {
	if a.op == opAnswer {
		if done, ok := s.callers[a.token]; ok {
			delete(s.callers, a.token)
			done <- *a.answer
		}
		return
	}
	s.effects++
	if s.reads.Err() != nil {
		s.reads, s.cancel = context.WithCancel(context.Background())
	}
	ctx := s.reads
	go func() {
		s.slots <- struct{}{}
		result := s.effect(ctx, a)
		<-s.slots
		s.mu.Lock()
		defer s.mu.Unlock()
		s.effects--
		s.post(result)
	}()
}

// effect makes one request. A write is not cancelled when its callers leave,
// because then nothing would show whether it happened.
func (s *shell) effect(ctx context.Context, a action) done {
	timeout := readTimeout
	if a.op.write() {
		ctx, timeout = context.WithoutCancel(ctx), writeTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	d := done{action: a, began: s.cfg.Clock.Now()}
	switch a.op {
	case opListPools:
		d.pools, d.err = s.backend.Pools(ctx)
	case opListInstances:
		d.instances, d.err = s.backend.Instances(ctx)
	case opGetPool:
		d.pool, d.err = s.backend.Pool(ctx, a.poolID)
	case opGetInstance:
		d.instance, d.err = s.backend.Instance(ctx, a.instanceID)
	case opCreate:
		d.pool, d.err = s.backend.Create(ctx, PoolSpec{Key: a.key, Tags: a.tags, Count: a.count})
	case opScale:
		d.pool, d.err = s.backend.Scale(ctx, a.poolID, a.count)
	case opMark:
		d.instance, d.err = s.backend.Mark(ctx, a.instanceID, a.tags)
	case opRemove:
		d.err = s.backend.Remove(ctx, a.poolID, a.nodeID)
	case opDrop:
		d.err = s.backend.Drop(ctx, a.poolID)
	}
	s.report(d)
	return d
}

func (s *shell) report(d done) {
	hook := s.cfg.Observer.Action
	if hook == nil {
		return
	}
	a := d.action
	end := ActionEnd{
		Op: string(a.op), Reason: a.reason, NodePool: a.key.NodePool, InstanceType: a.key.InstanceType,
		PoolID: a.poolID, InstanceID: a.instanceID, Duration: s.cfg.Clock.Since(d.began), Err: d.err,
	}
	if d.err == nil {
		end.Bought = a.bought
		if a.op == opMark && a.key.NodePool != "" {
			end.Claimed = 1
		}
	}
	hook(end)
}
