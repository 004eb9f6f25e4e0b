package allocator_test

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// faults lets requests go wrong for a while, one way after another.
func (s *life) faults(random *rand.Rand) {
	for time.Now().Before(s.end) {
		time.Sleep(time.Duration(random.Int64N(int64(time.Minute))))
		rule := s.drawFault(random)
		s.noteFault(rule)
		s.noteForbidden(rule)
		id := s.sim.Fail(rule)
		for until := time.Now().Add(time.Duration(random.Int64N(int64(time.Minute)))); time.Now().Before(until); {
			time.Sleep(5 * time.Second)
			s.noteForbidden(rule)
		}
		s.endFault(rule, id)
	}
}

func (s *life) noteForbidden(rule linodesim.Rule) {
	if rule.Status == http.StatusForbidden {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.events.forbidden = time.Now()
	}
}

func (s *life) drawFault(random *rand.Rand) linodesim.Rule {
	switch late, group := random.IntN(3) == 0, random.IntN(3) == 0; {
	case s.tardy && late:
		return drawLate(random)
	case s.grouped && group:
		return drawGroup(random)
	}
	routes := []string{"", poolsRoute, poolRoute, nodeRoute, instancesRoute, instanceRoute}
	rule := linodesim.Rule{Route: routes[random.IntN(len(routes))], Probability: 0.1 + 0.9*random.Float64()}
	switch random.IntN(12) {
	case 0:
		rule.Status, rule.RetryAfter = 429, time.Duration(1+random.IntN(10))*time.Second
	case 1:
		rule.Status, rule.AfterEffect = 500+random.IntN(4), random.IntN(2) == 0
	case 2:
		rule.Drop, rule.AfterEffect = true, random.IntN(2) == 0
	case 3:
		rule.Delay = time.Duration(random.IntN(60)) * time.Second
	case 4, 5:
		rule.Route, rule.Kind, rule.Stale, rule.UpTo = "", linodesim.Lists, 3*time.Second, true
		if s.lagging {
			rule.Stale = 2 * time.Minute
		}
	case 6:
		rule.Status, rule.HTML = 502, true
	case 7:
		rule.Route, rule.Kind, rule.Stale, rule.UpTo = "", linodesim.Reads, settle, true
	case 8:
		rule.Hang, rule.Probability = true, 0.3*random.Float64()
	case 9:
		rule.Route, rule.Kind = "", linodesim.Lists
		switch less := random.IntN(3); {
		case less == 0:
			rule.Shift = -1 // an entry twice, where the list has several pages
		case s.grouped: // a list without an instance, and two 404s, would prove that it is gone
		case less == 1:
			rule.Shift = 1
		default:
			rule.Missing = 1
		}
	case 10:
		rule = s.drawLie(random)
	case 11:
		if !s.calm {
			rule.Route, rule.Method, rule.Status = instanceRoute, http.MethodPut, http.StatusForbidden
		}
	}
	return rule
}

// drawLie is a write that is accepted and has no effect, or a read that answers
// 404 once for each object; in other lives it is a late answer.
func (s *life) drawLie(random *rand.Rand) linodesim.Rule {
	switch {
	case s.lossy:
		return linodesim.Rule{
			Method: []string{http.MethodPut, http.MethodDelete}[random.IntN(2)], View: linodesim.View{NoEffect: true},
			Probability: 0.5 * random.Float64(),
		}
	case s.ghosts:
		notFound := linodesim.Answer{Status: http.StatusNotFound, Reason: "Not found"}
		return linodesim.Rule{Kind: linodesim.Reads, Answer: notFound, Match: s.firstGhost}
	}
	return linodesim.Rule{Delay: 5 * time.Second, UpTo: true}
}

// firstGhost is true for the first read of an object by the engine.
func (s *life) firstGhost(r *http.Request) bool {
	if !ofOneObject(r) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.events.ghosts[r.URL.Path]
	s.events.ghosts[r.URL.Path] = true
	return !was
}

// watchWrites looks at each write of the engine before it is sent, and after.
func (s *life) watchWrites() {
	s.sending = func(r *http.Request) {
		s.noteWrite(r)
		if id, count, ok := scaling(r); ok {
			s.checkScaling(id, count)
		}
	}
	s.sent = func(end sentRequest) {
		s.noteEnd(end)
		id, err := strconv.Atoi(path.Base(end.URL.Path))
		if end.failed() && err == nil && end.Method == http.MethodPut && strings.HasSuffix(path.Dir(end.URL.Path), instancesRoute) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.events.failed[id]++
		}
	}
}

// scaling returns the pool and the count that a request sets.
func scaling(r *http.Request) (poolID, count int, ok bool) {
	poolID, err := strconv.Atoi(path.Base(r.URL.Path))
	if r.Method != http.MethodPut || err != nil || path.Base(path.Dir(r.URL.Path)) != "pools" || r.Body == nil {
		return 0, 0, false
	}
	text, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(text))
	var body struct{ Count *int }
	if err != nil || json.Unmarshal(text, &body) != nil || body.Count == nil {
		return 0, 0, false
	}
	return poolID, *body.Count, true
}

// checkScaling is I9 when a count is sent: no write lowers one, unless a person raised it
// after it was read.
func (s *life) checkScaling(poolID, count int) {
	for _, pool := range s.ours() {
		s.mu.Lock()
		edited := s.events.counted[pool.ID]
		s.mu.Unlock()
		if pool.ID == poolID && count < pool.Count && (edited.IsZero() || time.Since(edited) > 2*time.Minute) {
			s.errorf("I9: at %s, the count of pool %d is set from %d to %d", moment(time.Now()), poolID, pool.Count, count)
		}
	}
}

// hollow reports whether a pool of the key has the slot of a Linode that was
// deleted, for a node that LKE, in this life, does not replace.
func (s *life) hollow(key lkepool.Key) bool {
	all := map[int]bool{}
	for _, i := range s.sim.Snapshot().Instances {
		all[i.ID] = true
	}
	for _, pool := range s.ours() {
		if !slices.Contains(pool.Tags, poolKeyTag+key.Hash()) {
			continue
		}
		for _, node := range pool.Nodes {
			if node.InstanceID != 0 && !all[node.InstanceID] {
				return true
			}
		}
	}
	return false
}
