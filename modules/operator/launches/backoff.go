// Package launches records which plans a NodePool does not get because its launches of them failed: a node that never joined was paid
// for, and a launch that the API refuses keeps core from planning for the whole cluster until it is given up. The pause grows with each
// failure in a row and ends with a node that joins. Export and Import carry it over a restart (controllers/pauses).
//
// Used by cloudprovider, concurrently; nodepoolstatus shows what fails.
package launches

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/pacing"
)

// remembered is for how long after its last pause a failure counts for the next.
const remembered = time.Hour

// A Target names plans that are not bought; an empty plan stands for all of the NodePool.
type Target struct{ NodePool, Plan string }

// A Failure is a plan, or "" for all plans, of which launches failed in a row.
type Failure struct {
	Plan string
	pacing.Record
}

// Backoff is safe for concurrent use.
type Backoff struct {
	mu       sync.Mutex
	failures map[Target]pacing.Record
}

// New returns a Backoff without failures.
func NewBackoff() *Backoff { return &Backoff{failures: map[Target]pacing.Record{}} }

// Failed notes a failure, and returns the pause.
func (b *Backoff) Failed(t Target, pauses []time.Duration) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.failures, func(_ Target, f pacing.Record) bool { return time.Since(f.Until) > remembered })
	record := b.failures[t]
	pause := record.Failed(time.Now(), pauses)
	b.failures[t] = record
	return pause
}

// Joined forgets the failures of a plan when a node of it has joined since.
func (b *Backoff) Joined(nodePool, plan string, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.failures, func(t Target, f pacing.Record) bool { return t.concerns(nodePool, plan) && at.After(f.Last) })
}

// Pausing returns whether a NodePool does not get a plan now.
func (b *Backoff) Pausing(nodePool, plan string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	return now.Before(b.failures[Target{nodePool, plan}].Until) || now.Before(b.failures[Target{NodePool: nodePool}].Until)
}

func (t Target) concerns(nodePool, plan string) bool {
	return t.NodePool == nodePool && (t.Plan == plan || t.Plan == "")
}

// Failures returns what of a NodePool fails, until a node joins.
func (b *Backoff) Failures(nodePool string) (failures []Failure) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for t, f := range b.failures {
		if t.NodePool == nodePool && time.Since(f.Until) <= remembered {
			failures = append(failures, Failure{t.Plan, f})
		}
	}
	slices.SortFunc(failures, func(a, b Failure) int { return strings.Compare(a.Plan, b.Plan) })
	return failures
}

// Export returns the failures that count still, in a fixed order.
func (b *Backoff) Export() []ExportedFailure {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []ExportedFailure
	for t, f := range b.failures {
		if time.Since(f.Until) <= remembered {
			all = append(all, ExportedFailure{t.NodePool, t.Plan, f.InARow, f.Last.UTC().Round(time.Second), f.Until.UTC().Round(time.Second)})
		}
	}
	slices.SortFunc(all, func(a, b ExportedFailure) int {
		return cmp.Or(strings.Compare(a.NodePool, b.NodePool), strings.Compare(a.Plan, b.Plan))
	})
	return all
}

// Import adds failures that another process has exported. What cannot be, such as a pause that is longer than any, is left out, and what
// this process knows itself stays.
func (b *Backoff) Import(all []ExportedFailure) {
	b.mu.Lock()
	defer b.mu.Unlock()
	longest := slices.Max(pacing.Joins)
	for _, e := range all {
		t := Target{e.NodePool, e.Plan}
		_, known := b.failures[t]
		if known || e.NodePool == "" || e.InARow < 1 || time.Since(e.Until) > remembered || time.Until(e.Until) > longest ||
			time.Until(e.Last) > 0 {
			continue
		}
		b.failures[t] = pacing.Record{InARow: e.InARow, Last: e.Last, Until: e.Until}
	}
}

// Exported is one failure in a form that can be stored.
type ExportedFailure struct {
	NodePool string    `json:"nodePool"`
	Plan     string    `json:"plan,omitempty"` // "" for all plans
	InARow   int       `json:"inARow"`
	Last     time.Time `json:"last"`
	Until    time.Time `json:"until"`
}
