package core

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/known"
)

// simProven records the state that the answers to the process prove: results for
// callers must not be older. A reading proves the state of its beginning, less
// what readings may be out of date by.
type simProven struct {
	// gone are proven not to exist.
	gone map[int]bool
	// status and tags are times after which a returned status, and returned tags, must
	// have been true at some moment. written is the answer to a write of tags.
	status, tags, written map[int]time.Time
	// read is the beginning of the latest reading, writing contains the instances with a
	// write under way, added is the time of the latest disk. held ends the pause of
	// creations after a 429.
	read    map[int]time.Time
	added   map[int]time.Time
	writing map[int]bool
	held    time.Time
	// shown are the instances that answers have shown.
	shown map[int]bool
	// unanswered is the latest write of tags without an answer. landed is the time at which a reading showed its tags; this reading began
	// after the write and cannot show the state before it. The process knows no more about the time of the effect. A reading that begins
	// within the settle time after landed may show the state before the write.
	unanswered map[int]simWrite
	landed     map[int]time.Time
}

// simWrite is a write of tags, and when it was sent.
type simWrite struct {
	tags []string
	sent time.Time
}

func newProven() simProven {
	return simProven{
		gone: map[int]bool{}, status: map[int]time.Time{}, tags: map[int]time.Time{}, written: map[int]time.Time{},
		shown: map[int]bool{}, read: map[int]time.Time{}, writing: map[int]bool{}, added: map[int]time.Time{},
		unanswered: map[int]simWrite{}, landed: map[int]time.Time{},
	}
}

func (b *simProven) forget(id int) {
	delete(b.gone, id)
	delete(b.status, id)
	delete(b.tags, id)
	delete(b.written, id)
}

// begin forgets what was read, as the core does when it begins to lead. Writes
// stay under way.
func (b *simProven) begin() {
	writing, held, unanswered, landed := b.writing, b.held, b.unanswered, b.landed
	*b = newProven()
	b.writing, b.held, b.unanswered, b.landed = writing, held, unanswered, landed
}

// learned is called before the core gets an answer.
func (s *sim) learned(r Result) {
	b := &s.proven
	if r.Op.Write() {
		delete(b.writing, r.ID)
	}
	if r.Op == OpCreate && claims.KindOf(r.Err) == claims.KindRateLimited {
		b.held = known.Latest(b.held, s.now.Add(claims.RetryAfterOf(r.Err)))
	}
	if r.Op == OpTag && r.Err != nil && claims.EffectOf(r.Err) != claims.EffectNone {
		b.unanswered[r.ID] = simWrite{r.Tags, r.Began}
	}
	if r.Err == nil && r.Term == s.core.known.View().Term() {
		for _, i := range append(slices.Clone(r.Instances), r.Instance) {
			b.shown[i.InstanceID] = true
		}
	}
	switch {
	case r.Err != nil || r.Term != s.core.known.View().Term():
	case r.Op == OpFind:
		// A label that is refused after its instance was proven gone refutes the
		// proof: the engine begins again with what the list shows.
		taken := s.core.known.View().Purchase(r.Who).LabelTaken()
		for _, i := range r.Instances {
			if since, gone := s.core.known.View().Gone(i.InstanceID); gone && taken.After(since) {
				b.forget(i.InstanceID)
			}
		}
	case r.Op == OpRead:
		proven := r.Began.Add(-s.plan.stale)
		b.read[r.ID] = known.Latest(b.read[r.ID], r.Began)
		b.status[r.ID] = known.Latest(b.status[r.ID], proven)
		if !r.Began.Before(known.Latest(b.written[r.ID], b.landed[r.ID]).Add(s.settings.SettleTime)) {
			b.tags[r.ID] = known.Latest(b.tags[r.ID], proven)
		}
		if w := b.unanswered[r.ID]; slices.Equal(w.tags, r.Instance.Tags) && !r.Began.Before(w.sent.Add(s.settings.SettleTime)) {
			delete(b.unanswered, r.ID)
			b.landed[r.ID] = s.now
		}
	case r.Op == OpAddDisk:
		b.added[r.ID] = s.now
	case r.Op == OpTag:
		b.written[r.ID] = s.now
		for _, v := range s.known(r.ID).history {
			if slices.Equal(v.value.Tags, r.Tags) {
				b.tags[r.ID] = known.Latest(b.tags[r.ID], v.at)
			}
		}
	}
}

// answeredWith checks what a call returned.
func (s *sim) answeredWith(a Answer) {
	if e, ok := errors.AsType[*claims.Error](a.Err); ok && e.Kind == claims.KindNotFound {
		var id int
		if _, err := fmt.Sscanf(e.Object, "instance %d", &id); err != nil {
			s.violated("%q is reported as not found, which is no instance", e.Object)
		}
		s.proven.gone[id] = true
		if s.find(id) != nil {
			s.violated("%d is reported as not found, and exists", id)
		}
	}
	for _, i := range append(slices.Clone(a.Instances), a.Instance) {
		if i.InstanceID != 0 {
			s.checkShown(i)
		}
	}
}

// checkShown: a returned instance is ours, is not proven gone, and is not older than the last reading.
func (s *sim) checkShown(i Instance) {
	real := s.known(i.InstanceID)
	switch {
	case real == nil || real.foreign:
		s.violated("%d is returned, which is not of this cluster", i.InstanceID)
	case s.proven.gone[i.InstanceID]:
		s.violated("%d is returned, which was proven gone", i.InstanceID)
	case !real.was(s.proven.status[i.InstanceID], func(v Instance) bool { return v.Status == i.Status }):
		s.violated("%d is returned as %s, which it was before the last reading", i.InstanceID, i.Status)
	case !real.was(s.proven.tags[i.InstanceID], func(v Instance) bool { return slices.Equal(v.Tags, i.Tags) }):
		s.violated("%d is returned with tags from before the last reading or write: %v", i.InstanceID, i.Tags)
	}
}

// was reports whether something was so at any moment since a time.
func (i *simInstance) was(since time.Time, so func(Instance) bool) bool {
	for _, v := range slices.Backward(i.history) {
		if so(v.value) {
			return true
		}
		if !v.at.After(since) {
			return false
		}
	}
	return false
}
