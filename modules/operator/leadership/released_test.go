package leadership_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/leadership"
)

// Only a replica that gave the Lease back has no write that may take effect yet.
func TestAReplicaKnowsWhetherTheOneBeforeReleasedTheLease(t *testing.T) {
	for name, c := range map[string]struct {
		before func(*lease)
		want   bool
	}{
		"no Lease":     {func(*lease) {}, true},
		"released":     {func(l *lease) { released := record(""); l.record = &released }, true},
		"not released": {func(l *lease) { expired := record("replica-0"); l.record = &expired }, false},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := &lease{}
			c.before(cluster)
			var told []bool
			lock := leadership.NewFence(lateEffect, func(_ context.Context, released bool) error {
				told = append(told, released)
				return nil
			}).Lock(cluster)
			acquire := lock.Update
			if _, _, err := lock.Get(t.Context()); err != nil {
				acquire = lock.Create
			}
			if err := acquire(t.Context(), record("replica-1")); err != nil {
				t.Fatal(err)
			}
			if len(told) != 1 || told[0] != c.want {
				t.Errorf("released: %v, want %t", told, c.want)
			}
		})
	}
}

// A replica that cannot read the NodeClaims does not lead. It tries again with the Lease that it has, and still knows how the replica
// before ended.
func TestAReplicaThatCannotBeginDoesNotLead(t *testing.T) {
	released := record("")
	cluster := &lease{record: &released}
	unreadable := errors.New("the API server is not ready")
	var told []bool
	fence := leadership.NewFence(lateEffect, func(_ context.Context, free bool) error {
		if told = append(told, free); len(told) == 1 {
			return unreadable
		}
		return nil
	})
	r := &replica{T: t, cluster: cluster, fence: fence, lock: fence.Lock(cluster)}
	r.linode = fence.Guard(answers(func() { r.sent++ }))
	if err := r.update("replica-1"); !errors.Is(err, unreadable) {
		t.Errorf("elected: %v", err)
	}
	r.may(false)
	if err := r.update("replica-1"); err != nil || !slices.Equal(told, []bool{true, true}) {
		t.Errorf("again: %v, released: %v", err, told)
	}
	r.may(true)
}
