// Package guard stands between the probe and the network. It lets through only
// what the probe may do, and records everything that it did.
//
// Reads are free, except for secrets. A write passes when it creates a node pool
// in the probe's cluster that carries the run's tag, or changes or deletes a
// pool, node or Linode that the API itself showed to be part of such a pool, and
// while the nodes stay within the plan. Anything else is answered with a 403
// made here and never sent. So a mistake in an experiment cannot touch what
// belongs to the account's owner, and the record proves that none did.
//
// Ownership is learned from the API's answers alone: a pool whose tags the rule
// recognizes, its nodes, their Linodes. A Guard is safe for concurrent use.
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
	Tag       string            // each pool that is created or retagged carries it; "" = nothing is created
	Owned     func(string) bool // whether a tag makes a pool the run's
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
	Own     bool   // a write to something of the run
	Refused string // why it was not sent
}

// Exchange is one request with its answer, as bytes.
type Exchange struct {
	Method, Path, Query, Filter string
	Status                      int
	Header                      http.Header
	Request, Response           []byte
}

// Guard is an http.RoundTripper.
type Guard struct {
	next   http.RoundTripper
	rule   Rule
	listen func(Exchange)

	mu      sync.Mutex
	own     owned
	entries []Entry
}

// New makes a guard in front of a transport. The listener gets every exchange
// that has an answer, one at a time.
func New(next http.RoundTripper, rule Rule, listen func(Exchange)) *Guard {
	return &Guard{next: next, rule: rule, listen: listen, own: newOwned()}
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
	response.Body = io.NopCloser(bytes.NewReader(answer))
	if e.Status >= 400 && e.Status < 500 {
		undo()
	}
	g.keep(e)
	g.learn(e, answer)
	g.hear(r, e, body, answer, response.Header)
	return response, nil
}

func (g *Guard) hear(r *http.Request, e Entry, request, answer []byte, header http.Header) {
	if g.listen == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.listen(Exchange{
		Method: e.Method, Path: e.Path, Query: r.URL.RawQuery, Filter: r.Header.Get("X-Filter"), Status: e.Status,
		Header: header, Request: request, Response: answer,
	})
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
	Type  string    `json:"type"`
	Count *int      `json:"count"`
	Tags  *[]string `json:"tags"`
}

func (g *Guard) permitCreate(body []byte) (func(), error) {
	var w wanted
	if err := json.Unmarshal(body, &w); err != nil {
		return nil, fmt.Errorf("a pool whose request cannot be read: %w", err)
	}
	if g.rule.Tag == "" || w.Tags == nil || !slices.Contains(*w.Tags, g.rule.Tag) {
		return nil, fmt.Errorf("a pool without the run's tag %q", g.rule.Tag)
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
