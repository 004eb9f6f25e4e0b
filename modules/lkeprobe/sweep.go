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
	again         = 20 * time.Second // between two deletions of one object
	patience      = 2 * time.Minute  // how long a Linode may outlive its pool
)

// target is one object that has to be removed.
type target struct {
	first   time.Time // when it was looked at first
	deleted time.Time // last deletion that was sent
	missing int       // 404s in a row
	since   time.Time // the first of them
	problem string
}

func (t *target) gone() bool {
	return t.missing >= confirmations && time.Since(t.since) >= confirmFor
}

// send notes the outcome of a deletion. A 404 is no problem: another client was quicker, or the read that follows corrects it.
func (t *target) send(err error) {
	if err == nil || linode.KindOf(err) == linode.KindNotFound {
		t.deleted = time.Now()
		return
	}
	t.note(err)
}

// look notes the outcome of a read, and reports whether the object exists.
func (t *target) look(err error) bool {
	switch {
	case err == nil:
		t.missing = 0
		return true
	case linode.KindOf(err) != linode.KindNotFound:
		t.note(err)
		return false
	case t.missing == 0:
		t.since = time.Now()
	}
	t.missing++
	return false
}

func (t *target) note(err error) {
	if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		t.problem = err.Error()
	}
}

// targets are objects of one kind, by ID.
type targets map[int]*target

func (t targets) add(ids ...int) {
	for _, id := range ids {
		if t[id] == nil {
			t[id] = &target{first: time.Now()}
		}
	}
}

func (t targets) gone() bool { return len(t.left("")) == 0 }

// left names the objects that are not gone, each with the last error about it.
func (t targets) left(what string) []string {
	var out []string
	for _, id := range slices.Sorted(maps.Keys(t)) {
		if !t[id].gone() {
			out = append(out, strings.TrimSuffix(fmt.Sprintf("%s %d: %s", what, id, t[id].problem), ": "))
		}
	}
	return out
}

// sweep removes what a run created and makes sure that it is gone, against an API that may lag behind, lose answers or contradict
// itself, until everything is gone or the context ends. It returns the number of pools that are gone, and what could not be removed.
//
// sweep knows pools by their IDs, or finds them in the list of pools by the run's tag or taint. It watches the list until the given
// time: a pool whose creation had no answer may appear late. A pool counts as gone after several 404s in a row that span some seconds:
// a single 404 may be a mistake. sweep sends a deletion again if it shows no effect. Linodes go with their pools; sweep deletes a
// Linode that stays.
func (s *session) sweep(ctx context.Context, watch time.Time) (removed int, left []string) {
	pools, linodes := targets{}, targets{}
	listed := false
	err := s.until(ctx, func() bool {
		listed = s.removePools(ctx, pools) || listed
		return listed && time.Now().After(watch) && pools.gone()
	})
	if err == nil {
		err = s.until(ctx, func() bool { return s.removeLinodes(ctx, pools, linodes) })
	}
	left = pools.left("pool")
	removed = len(pools) - len(left)
	left = append(left, linodes.left("Linode")...)
	if err != nil && (!listed || !watch.IsZero()) {
		left = append(left, "clean-up stopped before the list of pools was complete: pools whose creation had no answer may be left")
	}
	return removed, left
}

// until calls done until it returns true. It adds a pause of a second to keep within the rate limits: nothing here is measured.
func (s *session) until(ctx context.Context, done func() bool) error {
	return poll.Until(ctx, func(ctx context.Context) (bool, error) {
		if done() {
			return true, nil
		}
		return false, poll.Pause(ctx, time.Second)
	})
}

// removePools removes the run's pools, from the record and from the list. It reports whether the list could be read.
func (s *session) removePools(ctx context.Context, pools targets) bool {
	known, _, _ := s.guard.Owned()
	pools.add(known...)
	list, err := s.pools(ctx)
	for _, p := range list {
		if s.ownedPool(p) != "" {
			pools.add(p.ID)
		}
	}
	for id, t := range pools {
		if t.gone() {
			continue
		}
		if t.deleted.IsZero() {
			t.send(s.lab.Client.DeletePool(ctx, s.cfg.ClusterID, id))
		}
		_, err := s.lab.Client.GetPool(ctx, s.cfg.ClusterID, id)
		if t.look(err) && time.Since(t.deleted) >= again {
			t.send(s.lab.Client.DeletePool(ctx, s.cfg.ClusterID, id))
		}
	}
	return err == nil
}

// removeLinodes waits for the Linodes of pools that are gone. It reports whether they are gone, too.
func (s *session) removeLinodes(ctx context.Context, pools, linodes targets) bool {
	list, err := s.lab.Linodes(ctx)
	_, own, _ := s.guard.Owned() // the list may have shown more of them
	linodes.add(own...)
	for _, i := range list {
		for id := range pools {
			if strings.HasPrefix(i.Label, fmt.Sprintf("lke%d-%d-", s.cfg.ClusterID, id)) {
				linodes.add(i.ID)
			}
		}
	}
	for id, t := range linodes {
		if t.gone() {
			continue
		}
		linode, err := s.lab.Client.GetInstance(ctx, id)
		if t.look(err) && linode.Status != api.InstanceStatusDeleting && slices.Contains(own, id) && time.Since(t.first) > patience &&
			time.Since(t.deleted) > again {
			t.send(s.lab.Client.DeleteInstance(ctx, id))
		}
	}
	return err == nil && linodes.gone()
}
