package linodesim

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Kind narrows a rule to a kind of request.
type Kind string

// Kinds of requests.
const (
	Any    Kind = ""       // every request
	Lists  Kind = "lists"  // GET of a collection
	Reads  Kind = "reads"  // GET of anything else
	Writes Kind = "writes" // POST, PUT, DELETE
)

// Rule is a fault of requests: which requests meet it, and what happens to them then.
//
// A request fits a rule if it meets the conditions Kind, Method, Route and Match. A rule hits a request that fits if
// Nth, Times, Probability and For choose the request. The simulator tries the rules in the order of Fail, and then the
// profile's rules, until one hits; only this rule applies. Example: a rule with Nth 2 leaves the first request to the
// next rule, and hits the second request.
//
// A rule without effect counts requests and does nothing, but no later rule applies to these requests. In JSON, the
// form that Admin reads, the fields of Answer and View stand beside the other fields, and durations are text.
type Rule struct {
	// These fields choose the requests that fit: they meet every given condition.
	Kind   Kind                     `json:"kind"`
	Method string                   `json:"method"` // "" = any
	Route  string                   `json:"route"`  // template without version, e.g. /lke/clusters/{clusterId}/pools; "" = any
	Match  func(*http.Request) bool `json:"-"`      // nil = any; its path has no version

	// These fields choose among the requests that fit.
	Nth         int     `json:"nth"`         // only this one, from 1, counted from when the rule was added; 0 = all
	Times       int     `json:"times"`       // at most this many; 0 = no bound
	Probability float64 `json:"probability"` // of each; 0 = always
	// For makes groups: a request that is hit begins a window of this length, in which every request that fits is
	// hit. Nth, Times and Probability then choose the first request of a group.
	For time.Duration `json:"for"`

	// These fields tell what happens. Answer, Drop and Hang replace the effect of the request. With AfterEffect the
	// request has its effect first, and they replace only its answer.
	//
	// Delay is a wait before the effect, in addition to the profile's delay. A request that its client cancels in this
	// time has no effect. Config.TimeScale does not shorten the times of a rule.
	Delay time.Duration `json:"delay"`
	Answer
	Drop        bool `json:"drop"` // close the connection instead
	Hang        bool `json:"hang"` // do not answer until the caller goes away
	AfterEffect bool `json:"after_effect"`
	View

	UpTo bool `json:"up_to"` // Delay, Stale and Late are drawn for each request, from 0 to the given value
}

// Answer replaces the API's answer, unless Status is 0.
type Answer struct {
	Status     int           `json:"status"`
	Reason     string        `json:"reason"` // "" = the status text
	Field      string        `json:"field"`
	RetryAfter time.Duration `json:"retry_after"` // with this Retry-After header, in whole seconds; 0 = none
	Header     http.Header   `json:"-"`           // and with these headers
	HTML       bool          `json:"html"`        // as a proxy would: text/html instead of the API's JSON
}

// View changes what a request sees of the world, or does to it.
type View struct {
	Stale   time.Duration `json:"stale"`   // a read shows the world as it was that long ago, but never as it was before the rule was added
	Missing int           `json:"missing"` // how many of its entries a list lacks
	// Shift moves the pages after the first. Example with pages of 100: with 1, the second page begins with entry 102, so
	// the client misses entry 101; with -1, it begins with entry 100, so the client gets this entry twice.
	Shift    int  `json:"shift"`
	NoEffect bool `json:"no_effect"` // a write is answered as if carried out, and changes nothing
	// Late carries a write out this much later, also if its sender is gone. The client does not wait for that: it gets
	// the Answer at once (504 without an Answer), or its connection drops or hangs. If the API would refuse the write
	// at the later time, the write has no effect, and no client learns it. Late cannot be combined with AfterEffect or
	// NoEffect.
	Late time.Duration `json:"late"`
}

// decision holds what happens to one request.
type decision struct {
	Rule   Rule // with Delay, Stale and Late as drawn
	ID     RuleID
	Hit    bool
	Chance float64 // drawn, from 0 to below 1: chooses the entries that are missing
}

// ruled is the part of a request that rules match.
type ruled struct {
	*http.Request
	Route string
	List  bool // of a collection
}

// Check returns an error for a rule with impossible values, such as a Status below 200, a negative time, or Late together
// with AfterEffect. Admin answers such a rule with a 400.
func (r Rule) Check() error {
	switch {
	case r.Kind != Any && r.Kind != Lists && r.Kind != Reads && r.Kind != Writes:
		return fmt.Errorf("kind is %q; it must be lists, reads, writes or empty", r.Kind)
	case r.Status != 0 && (r.Status < 200 || r.Status > 599):
		return fmt.Errorf("status is %d; it must be from 200 to 599", r.Status)
	case r.Probability < 0 || r.Probability > 1:
		return fmt.Errorf("probability is %g; it must be from 0 to 1", r.Probability)
	case r.Nth < 0 || r.Times < 0 || r.Missing < 0:
		return fmt.Errorf("nth, times and missing are %d, %d and %d; they must not be negative", r.Nth, r.Times, r.Missing)
	case r.Delay < 0 || r.Stale < 0 || r.RetryAfter < 0:
		return fmt.Errorf("delay, stale and retry_after are %v, %v and %v; they must not be negative", r.Delay, r.Stale, r.RetryAfter)
	case r.Late < 0 || r.For < 0:
		return fmt.Errorf("late and for are %v and %v; they must not be negative", r.Late, r.For)
	case r.Late > 0 && (r.AfterEffect || r.NoEffect):
		return errors.New("late cannot be combined with after_effect or no_effect: with late, the effect comes after the answer")
	}
	return nil
}

// RuleID names a rule in force.
type RuleID int

// ruleSet holds the rules in force. Chance is drawn from its seed, so that a run
// with one caller repeats exactly. It is safe for concurrent use.
type ruleSet struct {
	mu    sync.Mutex
	rng   *rand.Rand
	last  RuleID
	rules []*active // added
	base  []*active // decide after the rules of Fail
}

type active struct {
	id         RuleID
	rule       Rule
	seen, hits int
	groups     int       // requests that were hit and began a window
	until      time.Time // end of the window
}

// newRuleSet makes a set with rules that decide after all added ones.
func newRuleSet(seed uint64, base ...Rule) *ruleSet {
	s := &ruleSet{rng: rand.New(rand.NewPCG(seed, 3))}
	for _, r := range base {
		s.last++
		s.base = append(s.base, &active{id: s.last, rule: r})
	}
	return s
}

// Add puts a rule in force.
func (s *ruleSet) Add(r Rule) RuleID {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	s.rules = append(s.rules, &active{id: s.last, rule: r})
	return s.last
}

// Remove ends a rule; an unknown one is no error.
func (s *ruleSet) Remove(id RuleID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = slices.DeleteFunc(s.rules, func(a *active) bool { return a.id == id })
}

// Clear ends all rules, the profile's included.
func (s *ruleSet) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules, s.base = nil, nil
}

// Stale gives the longest Stale of the rules in force.
func (s *ruleSet) Stale() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var longest time.Duration
	for _, a := range slices.Concat(s.rules, s.base) {
		longest = max(longest, a.rule.Stale)
	}
	return longest
}

// String describes a rule in one line, for people: which requests it is about
// and what happens to them.
func (r Rule) String() string {
	var parts []string
	add := func(when bool, format string, args ...any) {
		if when {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	subject := strings.Join(slices.DeleteFunc([]string{r.Method, string(r.Kind), r.Route}, func(s string) bool { return s == "" }), " ")
	add(r.Delay > 0, "%v slower", r.Delay)
	add(r.Status != 0, "answered %d", r.Status)
	add(r.Drop, "dropped")
	add(r.Hang, "without an answer")
	add(r.AfterEffect, "after the effect")
	add(r.NoEffect, "without effect")
	add(r.Late > 0, "carried out %v late", r.Late)
	add(r.Stale > 0, "%v behind", r.Stale)
	add(r.Missing > 0, "lacking %d entries", r.Missing)
	add(r.Shift != 0, "pages shifted by %d", r.Shift)
	add(r.Probability > 0, "%g of them", r.Probability)
	add(r.Nth > 0, "only number %d", r.Nth)
	add(r.Times > 0, "at most %d times", r.Times)
	add(r.For > 0, "for %v at a time", r.For)
	return cmp.Or(subject, "every request") + ": " + cmp.Or(strings.Join(parts, ", "), "counted only")
}

// inForce lists the added rules, and the profile's rules.
func (s *ruleSet) inForce() (added, profile []Rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rules := func(all []*active) []Rule { return each(all, func(a *active) Rule { return a.rule }) }
	return rules(s.rules), rules(s.base)
}

// Hits returns how many requests a rule has hit.
func (s *ruleSet) Hits(id RuleID) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range slices.Concat(s.rules, s.base) {
		if a.id == id {
			return a.hits
		}
	}
	return 0
}

// Decide finds the rule that hits a request.
func (s *ruleSet) Decide(r ruled, now time.Time) decision {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rules := range [][]*active{s.rules, s.base} {
		for _, a := range rules {
			if a.hit(r, now, s.rng) {
				return s.drawn(a)
			}
		}
	}
	return decision{}
}

// drawn draws only the values that the rule needs, so that a rule without chances does not change the draws of other
// rules.
func (s *ruleSet) drawn(a *active) decision {
	d := decision{Rule: a.rule, ID: a.id, Hit: true}
	if a.rule.UpTo {
		d.Rule.Delay = upTo(a.rule.Delay, s.rng)
		d.Rule.Stale = upTo(a.rule.Stale, s.rng)
		d.Rule.Late = upTo(a.rule.Late, s.rng)
	}
	if a.rule.Missing > 0 {
		d.Chance = s.rng.Float64()
	}
	return d
}

func upTo(limit time.Duration, rng *rand.Rand) time.Duration {
	if limit <= 0 {
		return 0
	}
	return time.Duration(rng.Int64N(int64(limit) + 1))
}

func (a *active) hit(r ruled, now time.Time, rng *rand.Rand) bool {
	rule := a.rule
	if rule.Method != "" && rule.Method != r.Method || rule.Route != "" && rule.Route != r.Route || !rule.Kind.fits(r) {
		return false
	}
	if rule.Match != nil && !rule.Match(r.Request) {
		return false
	}
	a.seen++
	if now.Before(a.until) {
		a.hits++
		return true
	}
	if rule.Nth > 0 && a.seen != rule.Nth || rule.Times > 0 && a.groups >= rule.Times {
		return false
	}
	if rule.Probability > 0 && rng.Float64() >= rule.Probability {
		return false
	}
	a.hits++
	a.groups++
	a.until = now.Add(rule.For)
	return true
}

func (k Kind) fits(r ruled) bool {
	read := r.Method == http.MethodGet
	switch k {
	case Lists:
		return read && r.List
	case Reads:
		return read && !r.List
	case Writes:
		return !read
	}
	return true
}
