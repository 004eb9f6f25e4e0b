package leadership_test

import (
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
			lock := leadership.NewFence(lateEffect, func(released bool) { told = append(told, released) }).Lock(cluster)
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
