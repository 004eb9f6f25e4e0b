package belief

import (
	"errors"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/event"
)

// 404s that come together are one fact: an instance is gone when two of them, the settle
// time apart, and a list after the second one lack it.
func TestThatAnInstanceIsGoneTakesTwo404sTheSettleTimeApart(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	settle := lkepool.Config{}.WithDefaults().SettleTime
	for _, test := range []struct {
		name string
		// reads are when those began that were answered 404, after the first one.
		reads []time.Duration
		list  bool
		gone  bool
	}{
		{"one", []time.Duration{0}, true, false},
		{"two at once", []time.Duration{0, 0}, true, false},
		{"two within the settle time", []time.Duration{0, settle - time.Millisecond}, true, false},
		{"two the settle time apart", []time.Duration{0, settle}, true, true},
		{"two the settle time apart, and no list", []time.Duration{0, settle}, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := New(lkepool.Config{}.WithDefaults(), lkepool.Limits{PoolSize: 100}, now, true)
			apply := func(at time.Time, d event.Done) {
				d.Began = at
				b.At(at)
				b.Merge(d)
			}
			list := event.Action{Op: event.OpListInstances}
			apply(now, event.Done{Action: list, Instances: []lkepool.Instance{{ID: 7, Tags: []string{lkepool.ManagedTag}}}})
			first := now.Add(5 * time.Minute)
			for _, after := range test.reads {
				apply(first.Add(after), event.Done{Action: event.Action{Op: event.OpGetInstance, InstanceID: 7},
					Err: &claims.Error{Kind: claims.KindNotFound, Op: "get instance", Err: errors.New("not found")}})
			}
			if test.list {
				apply(first.Add(5*time.Minute), event.Done{Action: list})
			}
			if _, known := b.Nodes.Get(7); known == test.gone {
				t.Errorf("the instance is known: %v, want %v", known, !test.gone)
			}
		})
	}
}

// A list that cannot be older than the proof refutes it, because the instance runs and is
// paid for; one that may be older does not.
func TestALaterListRefutesThatAnInstanceIsGone(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	settle := lkepool.Config{}.WithDefaults().SettleTime
	proven := start.Add(10 * time.Minute)
	shows := []lkepool.Instance{{ID: 7, Tags: []string{lkepool.ManagedTag}}}
	for _, test := range []struct {
		name  string
		after time.Duration
		known bool
	}{
		{"a list that may be older than the proof", 2*time.Minute - time.Second, false},
		{"a list that is not", 2 * time.Minute, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := New(lkepool.Config{}.WithDefaults(), lkepool.Limits{PoolSize: 100}, start, true)
			apply := func(at time.Time, d event.Done) {
				d.Began = at
				b.At(at)
				b.Merge(d)
			}
			list := event.Action{Op: event.OpListInstances}
			apply(start, event.Done{Action: list, Instances: shows})
			for _, at := range []time.Time{proven.Add(-5 * time.Minute), proven.Add(settle - 5*time.Minute)} {
				apply(at, event.Done{Action: event.Action{Op: event.OpGetInstance, InstanceID: 7},
					Err: &claims.Error{Kind: claims.KindNotFound, Op: "get instance", Err: errors.New("not found")}})
			}
			apply(proven, event.Done{Action: list})
			if _, known := b.Nodes.Get(7); known {
				t.Fatal("the instance is not proven gone")
			}
			apply(proven.Add(test.after), event.Done{Action: list, Instances: shows})
			if _, known := b.Nodes.Get(7); known != test.known {
				t.Errorf("the instance is known: %v, want %v", known, test.known)
			}
		})
	}
}
