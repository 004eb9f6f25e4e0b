package launches

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/pacing"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/printable"
)

// State is the part of a Memory that a later process takes up. Its lists have a fixed order.
type State struct {
	Pauses   []Pause
	Refusals []Refusal
	Rests    []Rest
}

// A Pause is a plan whose launches failed in a row; "" stands for all plans of the NodePool.
type Pause struct {
	NodePool string    `json:"nodePool"`
	Plan     string    `json:"plan,omitempty"` // "" for all plans
	InARow   int       `json:"inARow"`
	Last     time.Time `json:"last"`
	Until    time.Time `json:"until"`
}

// A Rest is a plan that no NodePool gets until the rest ends.
type Rest struct {
	Plan  string    `json:"plan"`
	Cause Cause     `json:"cause"`
	Ends  time.Time `json:"ends"`
}

// longestMessage bounds a message that is stored, so that 250 refusals find room in an annotation.
const longestMessage = 100

// Export returns the records that have not ended.
func (m *Memory) Export() State {
	m.mu.Lock()
	defer m.mu.Unlock()
	stored := func(at time.Time) time.Time { return at.UTC().Round(time.Second) }
	s := State{Pauses: m.pausesOf(func(Target) bool { return true })}
	for i := range s.Pauses {
		s.Pauses[i].Last, s.Pauses[i].Until = stored(s.Pauses[i].Last), stored(s.Pauses[i].Until)
	}
	for k := range m.refusals {
		if r, is := m.refusals.get(k); is {
			r.Until, r.Message = stored(r.Until), printable.Bounded(r.Message, longestMessage)
			s.Refusals = append(s.Refusals, r)
		}
	}
	slices.SortFunc(s.Refusals, func(a, b Refusal) int {
		return cmp.Or(cmp.Compare(a.NodeClass.UID, b.NodeClass.UID), cmp.Compare(a.NodePool.UID, b.NodePool.UID))
	})
	for _, plan := range slices.SortedFunc(maps.Keys(m.rests), strings.Compare) {
		if cause, is := m.rests.get(plan); is {
			s.Rests = append(s.Rests, Rest{plan, cause, stored(m.rests[plan].ends)})
		}
	}
	return s
}

// Import adds the records that another process has exported. It leaves out impossible records, such as a pause that is longer than the
// longest one, and keeps the records of this process.
func (m *Memory) Import(s State) {
	m.mu.Lock()
	defer m.mu.Unlock()
	const rounded = time.Second // by Export
	longest := slices.Max(pacing.Joins)
	for _, p := range s.Pauses {
		t, left := Target{p.NodePool, p.Plan}, time.Until(p.Until)
		if _, known := m.pauses.get(t); !known && p.NodePool != "" && p.InARow >= 1 && left >= -failureLasts && left <= longest &&
			time.Until(p.Last) <= 0 {
			m.pause(t, pacing.Record{InARow: p.InARow, Last: p.Last, Until: p.Until})
		}
	}
	for _, r := range s.Refusals {
		left := time.Until(r.Until)
		if _, known := m.refusals.get(r.source()); !known && r.NodeClass.UID != "" && left > 0 && left <= RefusalLasts+rounded {
			m.refusals.set(r.source(), r, left)
		}
	}
	for _, r := range s.Rests {
		left := time.Until(r.Ends)
		if _, known := m.rests.get(r.Plan); !known && r.Plan != "" && left > 0 && left <= r.Cause.rest(m.cfg.PlanRest)+rounded {
			m.rests.set(r.Plan, r.Cause, left)
		}
	}
}
