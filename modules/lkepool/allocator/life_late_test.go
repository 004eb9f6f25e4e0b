package allocator_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/allocator"
)

const (
	// lateEffect is the engine's LateEffect, latestEffect how long after it arrived a write of a
	// life takes effect at most, and onItsWay how long it takes to arrive.
	lateEffect   = 2 * time.Minute
	latestEffect = 100 * time.Second
	onItsWay     = 5 * time.Second
	// manyLives is the number of lives that must have met a fault that half of the lives draw.
	manyLives = 30
)

// drawn counts over all lives of a run the writes that were to land late, the writes that had
// an effect then, and the reads that a group of wrong 404s answered.
var drawn struct{ late, landed, grouped atomic.Int64 }

// checkDrawn fails a run of many lives that had no late writes, or no groups of 404s.
func checkDrawn(t *testing.T, lives int) {
	t.Logf("%d lives, %d writes that were to land late, %d changes that did, %d reads in groups of wrong 404s",
		lives, drawn.late.Load(), drawn.landed.Load(), drawn.grouped.Load())
	if lives >= manyLives && (drawn.late.Load() == 0 || drawn.landed.Load() == 0 || drawn.grouped.Load() == 0) {
		t.Error("no write landed late, or no read was answered by a group of 404s")
	}
}

// severe lets some writes of a life land late, and some reads meet groups of 404s, whenever
// they come, until the faults end.
func (s *life) severe(random *rand.Rand) {
	var rules []linodesim.Rule
	for range 2 + random.IntN(4) {
		if s.tardy {
			rule := drawLate(random)
			rule.Times = 1 + random.IntN(5)
			rules = append(rules, rule)
		}
	}
	if s.grouped {
		rules = append(rules, drawGroup(random))
	}
	ids := make([]linodesim.RuleID, len(rules))
	for i, rule := range rules {
		rule.Probability *= 0.5
		s.noteFault(rule)
		ids[i] = s.sim.Fail(rule)
	}
	time.Sleep(time.Until(s.end))
	for i, id := range ids {
		s.endFault(rules[i], id)
	}
}

// drawLate is writes that are answered with an error, or not at all, and carried out later,
// whatever became of their sender.
func drawLate(random *rand.Rand) linodesim.Rule {
	rule := linodesim.Rule{
		Method: []string{http.MethodPost, http.MethodPut, http.MethodPut, http.MethodDelete}[random.IntN(4)],
		View:   linodesim.View{Late: latestEffect}, UpTo: true, Probability: 0.2 + 0.8*random.Float64(), Match: byEngine,
	}
	if rule.Method == http.MethodPut && random.IntN(2) == 0 {
		rule.Route = poolRoute
	}
	switch random.IntN(5) {
	case 0:
		rule.Hang = true
	case 1:
		rule.Drop = true
	case 2:
		rule.Status, rule.HTML = http.StatusBadGateway, true
	}
	return rule
}

func byEngine(r *http.Request) bool {
	return r.Header.Get("Authorization") == "Bearer "+linodesim.DefaultToken
}

// drawGroup is groups of wrong 404s of everything that is read by its ID, of instances, or of
// pools. Lists stay right.
func drawGroup(random *rand.Rand) linodesim.Rule {
	return linodesim.Rule{
		Kind: linodesim.Reads, Route: []string{"", poolRoute, instanceRoute}[random.IntN(3)], Match: ofOneObject,
		Answer:      linodesim.Answer{Status: http.StatusNotFound, Reason: "Not found"},
		Probability: 0.05 + 0.5*random.Float64(), For: time.Duration(5+random.IntN(26)) * time.Second, Times: 1 + random.IntN(3),
	}
}

// ofOneObject is true for a request about a pool or an instance.
func ofOneObject(r *http.Request) bool {
	dir := path.Base(path.Dir(r.URL.Path))
	return dir == "pools" || dir == "instances"
}

func (s *life) noteFault(rule linodesim.Rule) {
	rule.Match = nil
	s.note("fault %+v", rule)
}

// endFault ends a rule, and adds up what it did while it was in force.
func (s *life) endFault(rule linodesim.Rule, id linodesim.RuleID) {
	switch hits := int64(s.sim.Hits(id)); {
	case rule.Late > 0:
		drawn.late.Add(hits)
	case rule.For > 0:
		drawn.grouped.Add(hits)
	}
	s.sim.Heal(id)
}

// countLanded adds up the changes that came late.
func (s *life) countLanded() {
	for _, e := range s.sim.Audit() {
		if _, late := s.landing(e); late && e.Actor.User == engine {
			drawn.landed.Add(1)
		}
	}
}

// sentWrite is a write of the engine as its sender saw it.
type sentWrite struct {
	method, path string
	// count and keyTag hold the values that a write to a pool sets, nil and "" for other writes.
	count  *int
	keyTag string
	// claim is the claimant in the tags that a write sets, "" for none.
	claim string
	by    context.Context
	// sent and ended are when it was, ended is zero while it is under way.
	sent, ended time.Time
	// unsure: its answer does not exclude that it takes effect later.
	failed, unsure bool
}

// noteWrite records a write that is about to be sent.
func (s *life) noteWrite(r *http.Request) {
	if r.Method == http.MethodGet {
		return
	}
	w := &sentWrite{method: r.Method, path: strings.TrimPrefix(r.URL.Path, "/v4"), sent: time.Now()}
	if r.Body != nil {
		text, err := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(text))
		var body struct {
			Count *int
			Tags  []string
		}
		if err == nil && json.Unmarshal(text, &body) == nil {
			w.count = body.Count
			w.claim = claimIn(body.Tags)
			for _, tag := range body.Tags {
				if strings.HasPrefix(tag, poolKeyTag) {
					w.keyTag = tag
				}
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes = append(s.writes, w)
	s.underWay[r] = w
}

// noteEnd records how a write ended for its sender.
func (s *life) noteEnd(end sentRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.underWay[end.Request]; w != nil {
		delete(s.underWay, end.Request)
		w.by, w.ended, w.failed = end.by, time.Now(), end.failed()
		w.unsure = end.status == 0 || end.status >= http.StatusInternalServerError
	}
}

// predecessor is how a program that counts its writes says that it ended: MayStillWrite if a
// write that was not answered with success or a refusal may still take effect.
func (s *life) predecessor() allocator.Predecessor {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tardy && slices.ContainsFunc(s.writes, func(w *sentWrite) bool {
		return w.ended.IsZero() || w.unsure && time.Since(w.ended) < lateEffect
	}) {
		return allocator.MayStillWrite
	}
	return allocator.Ended
}

// of reports whether the write is one that changes what an entry of the audit log has.
func (w *sentWrite) of(e linodesim.Entry) bool {
	is := func(method, route string, id any) bool {
		return w.method == method && strings.HasSuffix(w.path, fmt.Sprintf("%s/%v", path.Dir(route), id))
	}
	switch e.Action {
	case linodesim.InstanceTagged:
		return is(http.MethodPut, instanceRoute, e.InstanceID) && w.claim == claimIn(strings.Split(e.After, ","))
	case linodesim.NodeRemoved:
		return w.method == http.MethodDelete && (path.Base(w.path) == e.NodeID || path.Base(w.path) == strconv.Itoa(e.PoolID))
	case linodesim.PoolCreated:
		return w.method == http.MethodPost && path.Base(w.path) == "pools" && slices.Contains(strings.Split(e.Tags, ","), w.keyTag)
	case linodesim.PoolCount:
		return w.method == http.MethodPut && path.Base(w.path) == strconv.Itoa(e.PoolID) && w.count != nil && strconv.Itoa(*w.count) == e.After
	}
	return false
}

// landing returns the first write that a change may come from, nil for none, and whether it came
// late: when none that could make it was under way.
func (s *life) landing(e linodesim.Entry) (from *sentWrite, late bool) {
	late = true
	for _, w := range s.writes {
		if !w.of(e) || w.sent.After(e.At) {
			continue
		}
		underWay := w.ended.IsZero() || !w.ended.Before(e.At)
		late = late && !underWay
		if from == nil && (underWay || w.unsure && e.At.Sub(w.sent) <= latestEffect+onItsWay) {
			from = w
		}
	}
	return from, late && from != nil
}

// lateNodes returns how many nodes of each key were bought by requests that landed late.
func (s *life) lateNodes() map[string]int {
	nodes, keys, late := map[string]int{}, s.keysOfPools(), map[string]bool{}
	for _, e := range s.sim.Audit() {
		switch {
		case e.Actor.User != engine:
		case e.Action == linodesim.PoolCreated, e.Action == linodesim.PoolCount:
			if _, landed := s.landing(e); landed {
				late[e.Actor.RequestID] = true
			}
		case e.Action == linodesim.NodeRequested && late[e.Actor.RequestID]:
			nodes[keys[e.PoolID]]++
		}
	}
	return nodes
}

// keysOfPools are the keys of all pools that the engine made, by the pools' IDs.
func (s *life) keysOfPools() map[int]string {
	keys := map[int]string{}
	for _, e := range s.sim.Audit() {
		for _, tag := range strings.Split(e.Tags, ",") {
			if hash, ok := strings.CutPrefix(tag, poolKeyTag); ok && e.Action == linodesim.PoolCreated {
				keys[e.PoolID] = hash
			}
		}
	}
	return keys
}

// afterGivingUp reports whether a claim landed when its instance had been given up, after three
// writes that failed, or its sender had ended. Its claimant may have another instance by then.
func (s *life) afterGivingUp(e linodesim.Entry) bool {
	from, late := s.landing(e)
	if !late {
		return false
	}
	failed := 0
	for _, w := range s.writes {
		if w.of(e) && w.by == from.by && !w.ended.IsZero() && w.ended.Before(e.At) && w.failed {
			failed++
		}
	}
	died := s.died[from.by]
	return failed >= 3 || !died.IsZero() && died.Before(e.At)
}

// outranked reports whether a claim landed after its sender died. Its claimant never got an answer, and the next process may have given the
// instance to another claimant, whose claim outranks the tag and is written again.
func (s *life) outranked(e linodesim.Entry) bool {
	from, late := s.landing(e)
	if !late {
		return false
	}
	died := s.died[from.by]
	return !died.IsZero() && died.Before(e.At)
}

// doubled reports whether an instance was taken from its claimant because another one carries the claim, too: that claim landed after its
// instance had been given up, or after its sender had ended. Without the caller's own records a later process cannot know which of the two
// the claimant got, and keeps the one with the lowest ID.
func (s *life) doubled(c *claimant, removal linodesim.Entry) bool {
	restarted := slices.ContainsFunc(slices.Collect(maps.Values(s.died)), func(at time.Time) bool {
		return at.After(c.got) && at.Before(removal.At)
	})
	return !s.witness && restarted && slices.ContainsFunc(s.sim.Audit(), func(e linodesim.Entry) bool {
		return e.Action == linodesim.InstanceTagged && e.InstanceID != removal.InstanceID && !e.At.After(removal.At) &&
			claimIn(strings.Split(e.After, ",")) == (claims.Tags{}).Value(c.who.Name) && s.afterGivingUp(e)
	})
}

// counts returns what happened to the count of a pool, a line each: its changes, and the writes
// that set it.
func (s *life) counts(poolID int) string {
	var lines []string
	for _, e := range s.sim.Audit() {
		if e.PoolID == poolID && (e.Action == linodesim.PoolCount || e.Action == linodesim.PoolCreated) {
			lines = append(lines, fmt.Sprintf("  %s %s by %s: %q -> %q", moment(e.At), e.Action, e.Actor.User, e.Before, e.After))
		}
	}
	for _, w := range s.writes {
		if w.count != nil && path.Base(w.path) == strconv.Itoa(poolID) {
			lines = append(lines, fmt.Sprintf("  %s PUT of %d, until %s, without an answer: %t",
				moment(w.sent), *w.count, moment(w.ended), w.unsure))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
