// Package sweep removes what a run created and makes sure that it is gone,
// against an API that may lag behind, lose answers or contradict itself.
//
// Pools are known by their IDs, or found by the run's tag in the list of pools.
// A pool counts as gone after several 404s in a row that span some seconds: one
// alone may be a mistake. A deletion that shows no effect is sent again. Linodes
// go with their pools; one that stays is deleted itself.
package sweep

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

// API has the calls of a sweep.
type API interface {
	Pools(ctx context.Context) ([]api.LKENodePool, error)
	Linodes(ctx context.Context) ([]api.Instance, error) // of the cluster
	GetPool(ctx context.Context, clusterID, poolID int) (*api.LKENodePool, error)
	DeletePool(ctx context.Context, clusterID, poolID int) error
	GetInstance(ctx context.Context, linodeID int) (*api.Instance, error)
	DeleteInstance(ctx context.Context, linodeID int) error
}

// Known lists what the run is known to own.
type Known interface {
	Pools() []int
	Linodes() []int
}

// Job is one sweep.
type Job struct {
	API       API
	Known     Known
	ClusterID int
	Owned     func(tag string) bool
	// Watch is how long the list of pools is watched for pools whose creation had
	// no answer, or whose IDs are not known; 0 = one look.
	Watch time.Duration
}

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

// Result of a sweep.
type Result struct {
	Pools     int      // removed
	Leftovers []string // what could not be removed, with the reason
}

// Run sweeps until everything is gone or the context ends.
func (j Job) Run(ctx context.Context) Result {
	pools, linodes := map[int]*target{}, map[int]*target{}
	start := time.Now()
	listed := false
	err := poll.Until(ctx, func(ctx context.Context) (bool, error) {
		listed = j.find(ctx, pools) || listed
		for id, t := range pools {
			j.removePool(ctx, id, t)
		}
		done := listed && time.Since(start) >= j.Watch
		for _, t := range pools {
			done = done && t.gone()
		}
		return done, unhurried(ctx, done)
	})
	if err == nil {
		err = poll.Until(ctx, func(ctx context.Context) (bool, error) {
			done := j.removeLinodes(ctx, pools, linodes)
			return done, unhurried(ctx, done)
		})
	}
	r := Result{Leftovers: leftovers("pool", pools)}
	r.Pools = len(pools) - len(r.Leftovers)
	r.Leftovers = append(r.Leftovers, leftovers("Linode", linodes)...)
	if err != nil && !listed {
		r.Leftovers = append(r.Leftovers, "the list of pools could not be read: pools whose creation had no answer may be left")
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

// find adds the run's pools, those that are known and those in the list. It
// reports whether the list could be read.
func (j Job) find(ctx context.Context, targets map[int]*target) bool {
	for _, id := range j.Known.Pools() {
		add(targets, id)
	}
	list, err := j.API.Pools(ctx)
	for _, p := range list {
		if slices.ContainsFunc(p.Tags, j.Owned) {
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

func (j Job) removePool(ctx context.Context, id int, t *target) {
	if t.gone() {
		return
	}
	if t.deleted.IsZero() {
		t.send(func() error { return j.API.DeletePool(ctx, j.ClusterID, id) })
	}
	_, err := j.API.GetPool(ctx, j.ClusterID, id)
	if t.look(err) && time.Since(t.deleted) >= again {
		t.send(func() error { return j.API.DeletePool(ctx, j.ClusterID, id) })
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
func (j Job) removeLinodes(ctx context.Context, pools, targets map[int]*target) bool {
	own := j.Known.Linodes()
	for _, id := range own {
		add(targets, id)
	}
	list, err := j.API.Linodes(ctx)
	for _, i := range list {
		for id := range pools {
			if strings.HasPrefix(i.Label, fmt.Sprintf("lke%d-%d-", j.ClusterID, id)) {
				add(targets, i.ID)
			}
		}
	}
	done := err == nil
	for id, t := range targets {
		if t.gone() {
			continue
		}
		linode, err := j.API.GetInstance(ctx, id)
		there := t.look(err)
		t.shutting = there && linode.Status == api.InstanceStatusDeleting
		if there && !t.shutting && slices.Contains(own, id) && time.Since(t.first) > patience && time.Since(t.deleted) > again {
			t.send(func() error { return j.API.DeleteInstance(ctx, id) })
		}
		done = done && t.gone()
	}
	return done
}
