// Package pooltest is the conformance suite of backends for package lkepool.
// Its tests check everything that the claim engine relies on. The engine can
// run on each backend that passes.
//
// The suite waits for the platform with time.Sleep, so run it inside a
// testing/synctest bubble, or against a platform that is quick. It creates and
// deletes pools, and expects to be alone with pools of its own tags.
//
// A backend's own test calls Run with a Harness: the Backend, a key that the platform accepts
// and a key that it refuses, a way to let a node never get an instance, and the longest time
// that the platform takes. Packages lke (against linodesim) and memory run it.
//
// The tests are: a created pool and its tags; members that arrive, each in one pool; scaling;
// tags of instances and pools; a removal takes exactly the named node, or a place without an
// instance; removing what is gone is no error; dropping a pool takes its nodes; a missing
// object is KindNotFound; a refused key is KindInvalid; the end of the context ends a call.
package pooltest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// Harness is a backend under test.
type Harness struct {
	Backend lkepool.Backend
	// Key is a key that the platform accepts, BadKey a key that it refuses.
	Key, BadKey lkepool.Key
	// Stall makes the next requested node never get an instance, as happens when a
	// platform promises capacity that it does not have.
	Stall func()
	// Patience is the longest time that the platform takes for any change.
	Patience time.Duration
}

// Run runs the suite. run runs one test in an environment, for example a
// synctest bubble. begin is called in that environment, once for each test.
func Run(t *testing.T, run func(*testing.T, func(*testing.T)), begin func(*testing.T) Harness) {
	for _, c := range []struct {
		name string
		test func(*suite)
	}{
		{"a created pool is observed with its tags, count and template", (*suite).create},
		{"members arrive, and each is in one pool", (*suite).arrive},
		{"scaling sets the count", (*suite).scale},
		{"marking replaces the tags, and every read returns them", (*suite).mark},
		{"tagging a pool replaces its tags, and leaves its count", (*suite).tagPool},
		{"removing takes exactly the node that was named", (*suite).remove},
		{"removing what is gone is no error", (*suite).removeGone},
		{"removing a place that has no instance yet takes only that", (*suite).removePlace},
		{"dropping takes the pool and its nodes", (*suite).drop},
		{"what does not exist is not found", (*suite).missing},
		{"a key that the platform refuses is invalid", (*suite).refuse},
		{"the end of the context ends a call", (*suite).cancelled},
	} {
		t.Run(c.name, func(t *testing.T) {
			run(t, func(t *testing.T) {
				s := &suite{T: t, Harness: begin(t)}
				c.test(s)
			})
		})
	}
}

type suite struct {
	*testing.T
	Harness
}

// joined is a pool with its members, each once: the instances that its slots name, and the
// instances that name the pool themselves.
type joined struct {
	lkepool.Pool
	Members []member
}

type member struct {
	NodeID string
	lkepool.Instance
}

// made creates a pool of n and waits until all members are known.
func (s *suite) made(n int) joined {
	s.Helper()
	created := s.created(n)
	return s.eventually("members of the pool", created.ID, func(pool joined) bool {
		return len(pool.Members) == n && !slices.ContainsFunc(pool.Members, func(m member) bool { return m.NodeID == "" })
	})
}

func (s *suite) created(n int) lkepool.Pool {
	s.Helper()
	pool, err := s.Backend.Create(s.Context(), lkepool.PoolSpec{
		Key: s.Key, Count: n, Tags: []string{s.Key.Tag(claims.Tags{}), lkepool.ManagedTag},
	})
	if err != nil {
		s.Fatal(err)
	}
	return pool
}

// pause waits a second, or until the test ends.
func (s *suite) pause() {
	select {
	case <-time.After(time.Second):
	case <-s.Context().Done():
	}
}

// eventually observes until the pool is as wanted.
func (s *suite) eventually(what string, id int, wanted func(joined) bool) joined {
	s.Helper()
	for waited := time.Duration(0); waited <= s.Patience; waited += time.Second {
		if pool, ok := s.observed(id); ok && wanted(pool) {
			return pool
		}
		s.pause()
	}
	last, _ := s.observed(id)
	s.Fatalf("%s: not within %s; the pool is %+v", what, s.Patience, last)
	return joined{}
}

func (s *suite) observed(id int) (joined, bool) {
	s.Helper()
	for _, pool := range s.all() {
		if pool.ID == id {
			return pool, true
		}
	}
	return joined{}, false
}

// all reads both lists and joins them.
func (s *suite) all() []joined {
	s.Helper()
	listed, err := s.Backend.Pools(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	instances, err := s.Backend.Instances(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	var pools []joined
	for _, p := range listed {
		j := joined{Pool: p}
		for _, i := range instances {
			at := slices.IndexFunc(p.Slots, func(slot lkepool.Slot) bool { return slot.InstanceID == i.ID })
			switch {
			case at >= 0:
				j.Members = append(j.Members, member{NodeID: p.Slots[at].NodeID, Instance: i})
			case i.PoolID == p.ID && i.State != lkepool.Leaving:
				j.Members = append(j.Members, member{Instance: i})
			}
		}
		pools = append(pools, j)
	}
	return pools
}

func (s *suite) create() {
	pool := s.created(2)
	if pool.ID == 0 || pool.Count != 2 || pool.InstanceType != s.Key.InstanceType || !slices.Contains(pool.Tags, s.Key.Tag(claims.Tags{})) {
		s.Errorf("the answer is %+v", pool)
	}
	seen, ok := s.observed(pool.ID)
	if !ok || seen.Count != 2 || !slices.Contains(seen.Tags, s.Key.Tag(claims.Tags{})) || seen.InstanceType != s.Key.InstanceType {
		s.Errorf("observed %+v", seen)
	}
	for name, want := range s.Key.Template.Labels {
		if seen.Template.Labels[name] != want {
			s.Errorf("label %s is %q", name, seen.Template.Labels[name])
		}
	}
	if len(seen.Template.Taints) != len(s.Key.Template.Taints) {
		s.Errorf("taints are %v", seen.Template.Taints)
	}
}

func (s *suite) arrive() {
	first, second := s.made(2), s.made(1)
	seen := map[int]bool{}
	for _, pool := range s.all() {
		for _, member := range pool.Members {
			if seen[member.ID] {
				s.Errorf("instance %d is in two pools", member.ID)
			}
			seen[member.ID] = true
		}
	}
	for _, member := range append(first.Members, second.Members...) {
		if !seen[member.ID] || member.Name == "" || member.InstanceType != s.Key.InstanceType || member.Created.IsZero() || member.Foreign {
			s.Errorf("member %+v", member)
		}
	}
}

func (s *suite) scale() {
	pool := s.created(1)
	scaled, err := s.Backend.Scale(s.Context(), pool.ID, 3)
	if err != nil || scaled.Count != 3 {
		s.Fatalf("got %+v, %v", scaled, err)
	}
	read, err := s.Backend.Pool(s.Context(), pool.ID)
	if err != nil || read.Count != 3 {
		s.Errorf("got %+v, %v", read, err)
	}
	s.eventually("three members", pool.ID, func(p joined) bool { return len(p.Members) == 3 })
}

func (s *suite) mark() {
	pool := s.made(1)
	member := pool.Members[0]
	tags := append(slices.Clone(member.Tags), "karpenter.sh/nodeclaim=a", "team=a")
	stored, err := s.Backend.Mark(s.Context(), member.ID, tags)
	if err != nil {
		s.Fatal(err)
	}
	slices.Sort(tags)
	for what, got := range map[string]func() []string{
		"the answer": func() []string { return stored.Tags },
		"Instance": func() []string {
			instance, err := s.Backend.Instance(s.Context(), member.ID)
			if err != nil {
				s.Fatal(err)
			}
			return instance.Tags
		},
		"the lists": func() []string {
			pool, _ := s.observed(pool.ID)
			return pool.Members[0].Tags
		},
	} {
		sorted := slices.Sorted(slices.Values(got()))
		if !slices.Equal(sorted, tags) {
			s.Errorf("%s has %v, want %v", what, sorted, tags)
		}
	}
	if stored.ID != member.ID || stored.Name == "" {
		s.Errorf("the answer is %+v", stored)
	}
}

func (s *suite) tagPool() {
	pool := s.created(2)
	tags := append(slices.Clone(pool.Tags), "team=a")
	stored, err := s.Backend.TagPool(s.Context(), pool.ID, tags)
	if err != nil {
		s.Fatal(err)
	}
	read, err := s.Backend.Pool(s.Context(), pool.ID)
	if err != nil {
		s.Fatal(err)
	}
	slices.Sort(tags)
	for what, got := range map[string]lkepool.Pool{"the answer": stored, "Pool": read} {
		if sorted := slices.Sorted(slices.Values(got.Tags)); !slices.Equal(sorted, tags) || got.Count != 2 {
			s.Errorf("%s has the tags %v and count %d, want %v and 2", what, sorted, got.Count, tags)
		}
	}
}

func (s *suite) missing() {
	const missingID = 999_999_999
	if _, err := s.Backend.Pool(s.Context(), missingID); claims.KindOf(err) != claims.KindNotFound {
		s.Errorf("pool: %v", err)
	}
	if _, err := s.Backend.Instance(s.Context(), missingID); claims.KindOf(err) != claims.KindNotFound {
		s.Errorf("instance: %v", err)
	}
	if _, err := s.Backend.Mark(s.Context(), missingID, []string{"team=a"}); claims.KindOf(err) != claims.KindNotFound {
		s.Errorf("mark: %v", err)
	}
	if _, err := s.Backend.TagPool(s.Context(), missingID, []string{"team=a"}); claims.KindOf(err) != claims.KindNotFound {
		s.Errorf("tag pool: %v", err)
	}
}

func (s *suite) refuse() {
	if err := s.Backend.Check(s.Key); err != nil {
		s.Errorf("the good key: %v", err)
	}
	if err := s.Backend.Check(s.BadKey); claims.KindOf(err) != claims.KindInvalid {
		s.Errorf("the bad key: %v", err)
	}
	if s.Backend.Limits().PoolSize < 1 {
		s.Errorf("limits are %+v", s.Backend.Limits())
	}
}

func (s *suite) cancelled() {
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	if _, err := s.Backend.Pools(ctx); err == nil {
		s.Error("Pools succeeded")
	}
	if _, err := s.Backend.Instances(ctx); err == nil {
		s.Error("Instances succeeded")
	}
	if _, err := s.Backend.Scale(ctx, 1, 1); err == nil {
		s.Error("Scale succeeded")
	}
}
