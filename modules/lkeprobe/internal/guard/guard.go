// Package guard stands between the probe and the network. It lets through only requests that the probe may send, and records each of
// them.
//
//	request                                                            the guard
//	a read                                                             passes, except for a read of secrets
//	POST of a node pool in the probe's cluster, with the run's tag     passes, while the nodes stay within the plan
//	a change or deletion of a pool, node or Linode of the run          passes, while the nodes stay within the plan
//	any other write                                                    is answered with a 403 made here, and never sent
//
// So a mistake in an experiment cannot touch the objects of the account's owner, and the record proves that no request did.
//
// The guard learns from the API's answers alone which objects are the run's: a pool whose tags or taints the rule recognizes, its nodes,
// their Linodes, and Linodes with such a tag. A Guard is safe for concurrent use.
package guard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// NoSuchPlan is a plan that cannot exist: a pool of it costs nothing, whatever
// else is wrong with it.
const NoSuchPlan = "lkeprobe-no-such-plan"

// Rule bounds a run.
type Rule struct {
	ClusterID int
	Tag       string            // KEY=VALUE: each pool that is created or retagged carries it as tag and as taint; "" = nothing is created
	Owned     func(string) bool // whether a tag, or a taint as KEY=VALUE, makes a pool the run's
	OwnTag    func(string) bool // whether a tag can only be the probe's; nil = none can
	Nodes     int               // at once, over all pools of the run
	Linodes   int               // in all, as far as they are requested
	Plans     []string          // that may be requested
}

// Entry is one request that was sent, or refused here.
type Entry struct {
	At      time.Time
	Took    time.Duration
	Method  string
	Path    string // without version and query
	Status  int    // 0 = no answer
	Limit   string // X-RateLimit-Limit
	Scopes  string // of the token
	Own     bool   // a write to something of the run
	Refused string // why it was not sent
}

// Late is when a pool showed whose creation had no answer.
type Late struct{ AtLeast, AtMost time.Duration }

// Guard is an http.RoundTripper.
type Guard struct {
	next http.RoundTripper
	rule Rule

	mu      sync.Mutex
	own     owned
	lost    map[string]lost // creations without an answer, by tagKey
	late    []Late
	entries []Entry
}

// lost is a creation without an answer.
type lost struct {
	sent, absent time.Time // absent: when the last list without its pool was requested
	shown        bool
}

// New makes a guard in front of a transport.
func New(next http.RoundTripper, rule Rule) *Guard {
	return &Guard{next: next, rule: rule, own: newOwned(), lost: map[string]lost{}}
}

// RoundTrip implements http.RoundTripper.
func (g *Guard) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := read(r)
	if err != nil {
		return nil, err
	}
	e := Entry{At: time.Now(), Method: r.Method, Path: bare(r.URL.EscapedPath())}
	undo, err := g.permit(r.Method, e.Path, body)
	if err != nil {
		e.Refused = err.Error()
		g.keep(e)
		return refusal(r, err), nil
	}
	e.Own = r.Method != http.MethodGet
	answered := false
	defer func() { // also after a panic
		if !answered {
			g.lose(e, body)
		}
	}()
	response, err := g.next.RoundTrip(r)
	e.Took = time.Since(e.At)
	if err != nil {
		g.keep(e)
		return nil, err
	}
	e.Status = response.StatusCode
	answer, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		g.keep(e)
		return nil, err
	}
	answered = e.Status < 500
	e.Limit = response.Header.Get("X-RateLimit-Limit")
	e.Scopes = response.Header.Get("X-OAuth-Scopes")
	response.Body = io.NopCloser(bytes.NewReader(answer))
	if e.Status >= 400 && e.Status < 500 {
		undo()
	}
	g.keep(e)
	g.learn(e, answer)
	return response, nil
}

// lose remembers a creation that may have its effect although it had no answer.
func (g *Guard) lose(e Entry, body []byte) {
	var w wanted
	if e.Method != http.MethodPost || json.Unmarshal(body, &w) != nil || w.Tags == nil || w.Type == NoSuchPlan {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lost[tagKey(*w.Tags)] = lost{sent: e.At}
}

// Lost is when the last creation was sent that had no answer and whose pool has not shown; zero = none.
func (g *Guard) Lost() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	var last time.Time
	for _, l := range g.lost {
		if !l.shown && l.sent.After(last) {
			last = l.sent
		}
	}
	return last
}

// lateWithin is how long a change without an answer is counted by Unanswered.
const lateWithin = 10 * time.Minute

// Unanswered reports whether a change of the last minutes had no answer: it may still take effect.
func (g *Guard) Unanswered() bool {
	return slices.ContainsFunc(g.Entries(), func(e Entry) bool {
		return e.Method != http.MethodGet && e.Refused == "" && (e.Status == 0 || e.Status >= 500) && time.Since(e.At) < lateWithin
	})
}

// Late lists how late pools showed whose creation had no answer.
func (g *Guard) Late() []Late {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.late)
}

func (g *Guard) keep(e Entry) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.entries = append(g.entries, e)
}

// Entries lists all requests so far, oldest first.
func (g *Guard) Entries() []Entry {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.entries)
}

// Pools lists the pools that are known to be the run's, also deleted ones.
func (g *Guard) Pools() []int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.own.poolIDs()
}

// Tags lists the tags that only the probe can have made.
func (g *Guard) Tags() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Sorted(maps.Keys(g.own.tags))
}

// Linodes lists the Linodes that are known to be the run's, also deleted ones.
func (g *Guard) Linodes() []int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.own.linodeIDs()
}

// Asked is how many nodes of the run there may be now.
func (g *Guard) Asked() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.own.total()
}

// permit decides on a request. The result takes back what was counted for it,
// for the case that the API refuses.
func (g *Guard) permit(method, path string, body []byte) (undo func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if method == http.MethodGet {
		if parts[0] == "profile" || parts[0] == "account" || slices.Contains(parts, "kubeconfig") {
			return nil, fmt.Errorf("GET %s would show secrets", path)
		}
		return func() {}, nil
	}
	pools := []string{"lke", "clusters", strconv.Itoa(g.rule.ClusterID), "pools"}
	nodes := []string{"lke", "clusters", strconv.Itoa(g.rule.ClusterID), "nodes"}
	linodes := []string{"linode", "instances"}
	switch {
	case method == http.MethodPost && slices.Equal(parts, pools):
		return g.permitCreate(body)
	case method == http.MethodPut && below(parts, pools):
		return g.permitUpdate(number(parts), body)
	case method == http.MethodDelete && below(parts, pools):
		return g.permitIf(g.own.hasPool(number(parts)), method, path)
	case method == http.MethodDelete && below(parts, nodes):
		return g.permitIf(g.own.hasNode(parts[len(parts)-1]), method, path)
	case method == http.MethodDelete && below(parts, []string{"tags"}):
		label, err := url.PathUnescape(parts[1])
		return g.permitIf(err == nil && g.own.tags[label], method, path)
	case (method == http.MethodPut || method == http.MethodDelete) && below(parts, linodes):
		g.noteTags(body)
		return g.permitIf(g.own.hasLinode(number(parts)), method, path)
	}
	return nil, fmt.Errorf("%s %s is nothing that the probe does", method, path)
}

func (g *Guard) permitIf(own bool, method, path string) (func(), error) {
	if !own {
		return nil, fmt.Errorf("%s %s is not about something of this run", method, path)
	}
	return func() {}, nil
}

// wanted holds what a request makes of a pool.
type wanted struct {
	Type   string    `json:"type"`
	Count  *int      `json:"count"`
	Tags   *[]string `json:"tags"`
	Taints *[]taint  `json:"taints"`
}

type taint struct{ Key, Value string }

func (t taint) is(tag string) bool { return t.Key+"="+t.Value == tag }

func (g *Guard) tainted(taints *[]taint) bool {
	return taints != nil && slices.ContainsFunc(*taints, func(t taint) bool { return t.is(g.rule.Tag) })
}

func (g *Guard) permitCreate(body []byte) (func(), error) {
	var w wanted
	if err := json.Unmarshal(body, &w); err != nil {
		return nil, fmt.Errorf("a pool whose request cannot be read: %w", err)
	}
	if g.rule.Tag == "" || w.Tags == nil || !slices.Contains(*w.Tags, g.rule.Tag) {
		return nil, fmt.Errorf("a pool without the run's tag %q", g.rule.Tag)
	}
	if !g.tainted(w.Taints) {
		return nil, fmt.Errorf("a pool without the run's taint %q", g.rule.Tag)
	}
	g.own.noteTags(*w.Tags, g.rule.OwnTag)
	if w.Type == NoSuchPlan {
		return func() {}, nil
	}
	if !slices.Contains(g.rule.Plans, w.Type) {
		return nil, fmt.Errorf("a pool of plan %s, which is not in the plan of the run", w.Type)
	}
	count := 0
	if w.Count != nil {
		count = *w.Count
	}
	return g.reserve(0, tagKey(*w.Tags), count)
}

func (g *Guard) permitUpdate(pool int, body []byte) (func(), error) {
	if !g.own.hasPool(pool) {
		return nil, fmt.Errorf("an update of pool %d, which is not of this run", pool)
	}
	var w wanted
	if err := json.Unmarshal(body, &w); err != nil {
		return nil, fmt.Errorf("an update whose request cannot be read: %w", err)
	}
	if w.Tags != nil && !slices.Contains(*w.Tags, g.rule.Tag) {
		return nil, fmt.Errorf("an update of pool %d that removes the run's tag", pool)
	}
	if w.Taints != nil && !g.tainted(w.Taints) {
		return nil, fmt.Errorf("an update of pool %d that removes the run's taint", pool)
	}
	g.noteTags(body)
	if w.Count == nil {
		return func() {}, nil
	}
	return g.reserve(pool, "", *w.Count)
}

// reserve counts nodes before they are requested: a lost answer may have had
// its effect.
func (g *Guard) reserve(pool int, key string, count int) (func(), error) {
	before := g.own.asked(pool, key)
	more := max(0, count-before)
	if at := g.own.total() + more; at > g.rule.Nodes {
		return nil, fmt.Errorf("%d nodes at once; the plan has %d", at, g.rule.Nodes)
	}
	if g.own.bought+more > g.rule.Linodes {
		return nil, fmt.Errorf("%d Linodes in all; the plan has %d", g.own.bought+more, g.rule.Linodes)
	}
	g.own.ask(pool, key, count)
	g.own.bought += more
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.own.ask(pool, key, before)
		g.own.bought -= more
	}, nil
}

// Allow replaces the rule.
func (g *Guard) Allow(rule Rule) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rule = rule
}
