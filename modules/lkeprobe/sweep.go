package lkeprobe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/poll"
)

const (
	confirmations = 3                // 404s in a row
	confirmFor    = 5 * time.Second  // and the time that they span
	again         = 20 * time.Second // between two deletions of one thing
	patience      = 2 * time.Minute  // with a Linode whose pool is gone
)

// target is one thing that has to go.
type target struct {
	deleted  time.Time // last deletion that was sent
	missing  int       // 404s in a row
	since    time.Time // the first of them
	first    time.Time // when it was looked at first
	problem  string
	shutting bool // its status is deleting
}

func (t *target) gone() bool {
	return t.missing >= confirmations && time.Since(t.since) >= confirmFor
}

func (t *target) absent() {
	if t.missing == 0 {
		t.since = time.Now()
	}
	t.missing++
}

// swept is the result of a sweep.
type swept struct {
	removed int      // pools
	left    []string // what could not be removed, with the reason
}

// sweep removes what a run created and makes sure that it is gone, against an API that may lag behind, lose answers or contradict
// itself, until everything is gone or the context ends.
//
// Pools are known by their IDs, or found by the run's tag or taint in the list of pools, which is watched until a time: a pool whose
// creation had no answer may show late. A pool counts as gone after several 404s in a row that span some seconds: one alone may be a
// mistake. A deletion that shows no effect is sent again. Linodes go with their pools; one that stays is deleted itself.
func (s *session) sweep(ctx context.Context, until time.Time) swept {
	pools, linodes := map[int]*target{}, map[int]*target{}
	listed := false
	err := poll.Until(ctx, func(ctx context.Context) (bool, error) {
		listed = s.find(ctx, pools) || listed
		for id, t := range pools {
			s.removePool(ctx, id, t)
		}
		done := listed && time.Now().After(until)
		for _, t := range pools {
			done = done && t.gone()
		}
		return done, unhurried(ctx, done)
	})
	if err == nil {
		err = poll.Until(ctx, func(ctx context.Context) (bool, error) {
			done := s.removeLinodes(ctx, pools, linodes)
			return done, unhurried(ctx, done)
		})
	}
	r := swept{left: leftovers("pool", pools)}
	r.removed = len(pools) - len(r.left)
	r.left = append(r.left, leftovers("Linode", linodes)...)
	if err != nil && (!listed || !until.IsZero()) {
		r.left = append(r.left, "the list of pools could not be watched to the end: pools whose creation had no answer may be left")
	}
	return r
}

// unhurried keeps a sweep within the rate limits: nothing here is measured.
func unhurried(ctx context.Context, done bool) error {
	if done {
		return nil
	}
	return poll.Pause(ctx, time.Second)
}

func leftovers(what string, targets map[int]*target) []string {
	var out []string
	for _, id := range slices.Sorted(maps.Keys(targets)) {
		if t := targets[id]; !t.gone() {
			out = append(out, strings.TrimSuffix(fmt.Sprintf("%s %d: %s", what, id, t.problem), ": "))
		}
	}
	return out
}

// find adds the run's pools, from the record and from the list. It
// reports whether the list could be read.
func (s *session) find(ctx context.Context, targets map[int]*target) bool {
	for _, id := range s.guard.Pools() {
		add(targets, id)
	}
	list, err := s.pools(ctx)
	for _, p := range list {
		if s.ownedPool(p) != "" {
			add(targets, p.ID)
		}
	}
	return err == nil
}

func add(targets map[int]*target, id int) {
	if targets[id] == nil {
		targets[id] = &target{first: time.Now()}
	}
}

func (s *session) removePool(ctx context.Context, id int, t *target) {
	if t.gone() {
		return
	}
	if t.deleted.IsZero() {
		t.send(func() error { return s.lab.Client.DeletePool(ctx, s.cfg.ClusterID, id) })
	}
	_, err := s.lab.Client.GetPool(ctx, s.cfg.ClusterID, id)
	if t.look(err) && time.Since(t.deleted) >= again {
		t.send(func() error { return s.lab.Client.DeletePool(ctx, s.cfg.ClusterID, id) })
	}
}

// send sends a deletion. A 404 is no problem: something else was quicker, or the
// read that follows corrects it.
func (t *target) send(remove func() error) {
	if err := remove(); err != nil && linode.KindOf(err) != linode.KindNotFound {
		t.note(err)
		return
	}
	t.deleted = time.Now()
}

// look takes in the answer to a read, and reports whether the thing is there.
func (t *target) look(err error) bool {
	switch {
	case err == nil:
		t.missing = 0
		return true
	case linode.KindOf(err) == linode.KindNotFound:
		t.absent()
	default:
		t.note(err)
	}
	return false
}

func (t *target) note(err error) {
	if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		t.problem = err.Error()
	}
}

// removeLinodes waits for the Linodes of pools that are gone.
func (s *session) removeLinodes(ctx context.Context, pools, targets map[int]*target) bool {
	list, err := s.lab.Linodes(ctx)
	own := s.guard.Linodes() // the list may have shown more of them
	for _, id := range own {
		add(targets, id)
	}
	for _, i := range list {
		for id := range pools {
			if strings.HasPrefix(i.Label, fmt.Sprintf("lke%d-%d-", s.cfg.ClusterID, id)) {
				add(targets, i.ID)
			}
		}
	}
	done := err == nil
	for id, t := range targets {
		if t.gone() {
			continue
		}
		linode, err := s.lab.Client.GetInstance(ctx, id)
		there := t.look(err)
		t.shutting = there && linode.Status == api.InstanceStatusDeleting
		if there && !t.shutting && slices.Contains(own, id) && time.Since(t.first) > patience && time.Since(t.deleted) > again {
			t.send(func() error { return s.lab.Client.DeleteInstance(ctx, id) })
		}
		done = done && t.gone()
	}
	return done
}
