package linodesim

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"
)

// CallCount counts the answers of one kind.
type CallCount struct {
	Method string
	Route  string // template without version; "(unknown)" for what the API does not have
	Status int    // 0 = the connection was dropped, or the caller went away
	Class  string // rate class; "" for unknown routes
	N      int
}

// Call is one request that was answered, or dropped.
type Call struct {
	At        time.Time
	Took      time.Duration
	User      string // "" without a valid token
	Method    string
	Path      string // with version and query
	Route     string
	Class     string
	Status    int
	RequestID string
}

const (
	unknownRoute = "(unknown)"
	keptCalls    = 200
	keptUnknown  = 100
)

type countKey struct {
	user, method, route, class string
	status                     int
}

// journal records requests.
type journal struct {
	mu         sync.Mutex
	requests   int
	counts     map[countKey]int
	recent     []Call
	steps      steps // for the page's chart
	unknown    []string
	violations []string
}

func (j *journal) nextID() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.requests++
	return fmt.Sprintf("req-%06d", j.requests)
}

func (j *journal) add(c Call) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.counts == nil {
		j.counts, j.steps = map[countKey]int{}, steps{}
	}
	j.counts[countKey{c.User, c.Method, c.Route, c.Class, c.Status}]++
	j.steps.add(c.At)
	if j.recent = append(j.recent, c); len(j.recent) > keptCalls {
		j.recent = slices.Delete(j.recent, 0, len(j.recent)-keptCalls)
	}
}

// notKnown records a route, field or filter that the API does not have, each once.
func (j *journal) notKnown(what string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.unknown) < keptUnknown && !slices.Contains(j.unknown, what) {
		j.unknown = append(j.unknown, what)
	}
}

func (j *journal) violation(text string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.violations = append(j.violations, text)
}

// Calls counts the requests so far by route, method, status and rate class,
// sorted in that order.
func (s *Sim) Calls() []CallCount { return s.counted(func(string) bool { return true }) }

// CallsWith counts the calls with a token.
func (s *Sim) CallsWith(token string) []CallCount {
	caller, known := s.tokens[token]
	return s.counted(func(user string) bool { return known && user == caller.User })
}

func (s *Sim) counted(of func(user string) bool) []CallCount {
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	sums := map[CallCount]int{}
	for k, n := range s.journal.counts {
		if of(k.user) {
			sums[CallCount{Method: k.method, Route: k.route, Status: k.status, Class: k.class}] += n
		}
	}
	out := make([]CallCount, 0, len(sums))
	for c, n := range sums {
		c.N = n
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b CallCount) int {
		return cmp.Or(cmp.Compare(a.Route, b.Route), cmp.Compare(a.Method, b.Method), cmp.Compare(a.Status, b.Status))
	})
	return out
}

// RecentCalls lists the last requests, oldest first.
func (s *Sim) RecentCalls() []Call {
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	return slices.Clone(s.journal.recent)
}

// Unknown lists the routes, fields and filters of requests that the API does not have,
// each once.
func (s *Sim) Unknown() []string {
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	return append([]string{}, s.journal.unknown...)
}

// Violations lists answers that differed from the API's description; see
// Config.ValidateAnswers. A test may require that the list is empty.
func (s *Sim) Violations() []string {
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	return append([]string{}, s.journal.violations...)
}
