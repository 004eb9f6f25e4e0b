package instances

import (
	"context"
	"sync"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/effects"
)

// shell runs tasks in the goroutines of their callers and each effect in one of its
// own. It decides nothing.
type shell struct {
	backend Backend
	cfg     settings
	runner  *effects.Runner

	mu   sync.Mutex
	core *core
	// changed is closed and replaced when a task may continue.
	changed chan struct{}
	callers int
	// reads contains the cancel functions of the reads under way, which end with the
	// last caller.
	reads map[int]context.CancelFunc
	last  int
}

// call runs a task until it ends or ctx does.
func (s *shell) call(ctx context.Context, t task) answer {
	s.enter(t)
	defer s.exit(t)
	for {
		next, changed := s.step(ctx, t)
		switch {
		case next.end != nil:
			return *next.end
		case next.effect != nil:
			continue
		}
		if ended := s.wait(ctx, next.until, changed); ended {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.core.now = s.cfg.Clock.Now()
			return t.leave(s.core, context.Cause(ctx))
		}
	}
}

func (s *shell) enter(t task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.callers++
	s.core.now = s.cfg.Clock.Now()
	s.core.seq++
	t.begin(s.core)
}

func (s *shell) exit(t task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.core.now = s.cfg.Clock.Now()
	t.ended(s.core)
	s.wake()
	if s.callers--; s.callers == 0 {
		for _, cancel := range s.reads {
			cancel()
		}
	}
}

// step returns the task's next step, and starts it if it is an effect.
func (s *shell) step(ctx context.Context, t task) (step, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.core.now = s.cfg.Clock.Now()
	if ctx.Err() != nil {
		a := t.leave(s.core, context.Cause(ctx))
		return end(a), nil
	}
	next := t.next(s.core)
	if next.effect != nil {
		s.start(ctx, *next.effect)
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

// wake makes all tasks continue. The caller holds mu.
func (s *shell) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// start makes a request in a goroutine of its own. Reads continue for the other
// callers when theirs leaves, and end with the last one. The caller holds mu.
func (s *shell) start(ctx context.Context, e effect) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.last++
	token := s.last
	if !e.op.write() {
		s.reads[token] = cancel
	}
	go func() {
		defer cancel()
		r := s.perform(ctx, e)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.reads, token)
		s.core.now = s.cfg.Clock.Now()
		s.core.done(r)
		s.wake()
	}()
}

// perform makes one request. Writes to one instance never overlap.
func (s *shell) perform(ctx context.Context, e effect) result {
	r := result{effect: e}
	request := effects.Request{NotAfter: e.notAfter, Timeout: e.op.timeout()}
	switch {
	case e.op == opCreate:
		request.Lock = "label " + e.creation.Label
	case e.op.write():
		request.Lock = claims.Object("instance", e.id)
	}
	outcome, err := s.runner.Do(ctx, request, func(ctx context.Context) error {
		s.request(ctx, &r)
		return r.err
	})
	r.began, r.err, r.unsent, r.cancelled = outcome.Began, err, outcome.Unsent, outcome.Cancelled
	if r.unsent {
		r.err = &claims.Error{Kind: claims.KindUnavailable, Op: string(e.op), Object: claims.Object("instance", e.id),
			Effect: claims.EffectNone, Err: err}
	}
	s.report(r)
	return r
}

func (s *shell) request(ctx context.Context, r *result) {
	e := r.effect
	switch e.op {
	case opList:
		r.instances, r.err = s.backend.Tagged(ctx, e.text)
	case opFind:
		r.instances, r.err = s.backend.Find(ctx, e.text, s.cfg.own.NameTag(e.claim.id))
	case opRead:
		r.instance, r.err = s.backend.Instance(ctx, e.id)
	case opDisks:
		r.disks, r.err = s.backend.Disks(ctx, e.id)
	case opDisk:
		r.disks, r.err = one(s.backend.Disk(ctx, e.id, e.diskID))
	case opConfigs:
		r.configs, r.err = s.backend.Configs(ctx, e.id)
	case opCreate:
		r.instance, r.err = s.backend.Create(ctx, e.creation)
	case opDelete:
		r.err = s.backend.Delete(ctx, e.id)
	case opTag:
		r.instance, r.err = s.backend.Tag(ctx, e.id, e.tags)
	case opAddDisk:
		r.disks, r.err = one(s.backend.AddDisk(ctx, e.id, e.disk))
	case opAttach:
		r.err = s.backend.Attach(ctx, e.id, e.config, e.devices)
	case opBoot:
		r.err = s.backend.Boot(ctx, e.id, e.config)
	}
}

// one returns a list of one disk.
func one(disk DiskState, err error) ([]DiskState, error) { return []DiskState{disk}, err }

func (s *shell) report(r result) {
	hook := s.cfg.Observer.Action
	if hook == nil {
		return
	}
	end := claims.ActionEnd{
		Op: string(r.op), Reason: r.reason, InstanceType: r.creation.InstanceType, InstanceID: r.id,
		Duration: s.cfg.Clock.Since(r.began), Err: r.err,
	}
	if r.op == opCreate && r.err == nil {
		end.InstanceID, end.Bought, end.Claimed = r.instance.InstanceID, 1, 1
	}
	hook(end)
}
