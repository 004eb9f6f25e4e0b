// Package fault decides which requests go wrong, and how.
//
// A Rule says which requests it is about (method, route, any condition), which
// of those it hits (the nth, at most so many, with a probability) and what
// happens then. The first rule that hits a request decides; rules are asked in
// the order in which they were added. Chance is drawn from the seed given to
// NewSet, so that a run with one caller repeats exactly.
//
// The package knows requests only; linodesim carries the effects out. A Set is
// safe for concurrent use.
package fault

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Rule is one way in which requests go wrong. A rule without effect counts
// requests and does nothing.
type Rule struct {
	// Which requests: all that fit every given condition.
	Method string                   // "" = any
	Route  string                   // template without version, e.g. /lke/clusters/{clusterId}/pools; "" = any
	Match  func(*http.Request) bool // nil = any; its path has no version

	// Which of them.
	Nth         int     // only this one, from 1, counted from when the rule was added; 0 = all
	Times       int     // at most this many; 0 = no bound
	Probability float64 // of each; 0 = always

	// What happens. Status and Drop come instead of the effect; with
	// AfterEffect the request does its work first and only its answer is lost.
	Delay       time.Duration // wait first, beside the profile's delay
	Status      int           // answer with this
	Reason      string        // and this reason; "" = the status text
	Field       string
	RetryAfter  time.Duration // with this Retry-After header, in whole seconds; 0 = none
	Header      http.Header   // and these
	HTML        bool          // as a proxy would: text/html instead of the API's JSON
	Drop        bool          // close the connection instead
	AfterEffect bool
	Stale       time.Duration // reads show a state that is up to this old
}

// ID names a rule that was added.
type ID int

// Set is the rules in force.
type Set struct {
	mu    sync.Mutex
	rng   *rand.Rand
	last  ID
	rules []*active
}

type active struct {
	id         ID
	rule       Rule
	seen, hits int
}

// NewSet makes an empty set.
func NewSet(seed uint64) *Set {
	return &Set{rng: rand.New(rand.NewPCG(seed, 3))}
}

// Add puts a rule in force.
func (s *Set) Add(r Rule) ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	s.rules = append(s.rules, &active{id: s.last, rule: r})
	return s.last
}

// Remove ends a rule; an unknown one is no error.
func (s *Set) Remove(id ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = slices.DeleteFunc(s.rules, func(a *active) bool { return a.id == id })
}

// Clear ends all rules.
func (s *Set) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = nil
}

// Hits tells how many requests a rule has hit.
func (s *Set) Hits(id ID) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.rules {
		if a.id == id {
			return a.hits
		}
	}
	return 0
}

// Decide finds the rule that hits a request.
func (s *Set) Decide(route string, r *http.Request) (Rule, ID, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.rules {
		if a.hit(route, r, s.rng) {
			return a.rule, a.id, true
		}
	}
	return Rule{}, 0, false
}

func (a *active) hit(route string, r *http.Request, rng *rand.Rand) bool {
	rule := a.rule
	if rule.Method != "" && rule.Method != r.Method || rule.Route != "" && rule.Route != route {
		return false
	}
	if rule.Match != nil && !rule.Match(r) {
		return false
	}
	a.seen++
	if rule.Nth > 0 && a.seen != rule.Nth || rule.Times > 0 && a.hits >= rule.Times {
		return false
	}
	if rule.Probability > 0 && rng.Float64() >= rule.Probability {
		return false
	}
	a.hits++
	return true
}
