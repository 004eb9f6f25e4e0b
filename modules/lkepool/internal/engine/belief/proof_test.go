package belief

import (
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// 404s that come together are one fact: an instance is gone when two of them, the settle
// time apart, and a list after the second one lack it.
func TestThatAnInstanceIsGoneTakesTwo404sTheSettleTimeApart(t *testing.T) {
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
			h := newHearer()
			h.after(0, instancesListed(lkepool.Instance{ID: 7, Tags: []string{lkepool.ManagedTag}}))
			for _, after := range test.reads {
				h.between(5*time.Minute+after, 5*time.Minute+after, instanceMissed())
			}
			if test.list {
				h.between(10*time.Minute, 10*time.Minute, instancesListed())
			}
			if _, known := h.Nodes.Get(7); known == test.gone {
				t.Errorf("the instance is known: %v, want %v", known, !test.gone)
			}
		})
	}
}

// A list that cannot be older than the proof refutes it, because the instance runs and is
// paid for; one that may be older does not.
func TestALaterListRefutesThatAnInstanceIsGone(t *testing.T) {
	const proven = 10 * time.Minute
	shows := instancesListed(lkepool.Instance{ID: 7, Tags: []string{lkepool.ManagedTag}})
	for _, test := range []struct {
		name  string
		after time.Duration
		known bool
	}{
		{"a list that may be older than the proof", 2*time.Minute - time.Second, false},
		{"a list that is not", 2 * time.Minute, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newHearer()
			h.after(0, shows)
			h.after(5*time.Minute, instanceMissed())
			h.after(h.cfg.SettleTime, instanceMissed())
			h.between(proven, proven, instancesListed())
			if _, known := h.Nodes.Get(7); known {
				t.Fatal("the instance is not proven gone")
			}
			h.after(test.after, shows)
			if _, known := h.Nodes.Get(7); known != test.known {
				t.Errorf("the instance is known: %v, want %v", known, test.known)
			}
		})
	}
}
