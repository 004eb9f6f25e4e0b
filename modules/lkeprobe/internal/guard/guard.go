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
//
// A refused request has a reason that Refused recognizes, so that a refusal of the guard is never taken for one of the API. The pool of
// a creation without an answer may appear later: Lost and Late report it. Unanswered counts changes without an answer for ten minutes.
//
// Refused are, for example: a read that shows secrets (a kubeconfig, the profile, the account), a pool without the run's tag or taint, a
// pool of another plan than the run's, and an update whose body cannot be read.
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

	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/poll"
)

// NoSuchPlan is a plan that cannot exist: so a pool of it costs nothing.
const NoSuchPlan = "lkeprobe-no-such-plan"

// Rule bounds a run.
type Rule struct {
	ClusterID int
	Tag       string            // KEY=VALUE: each pool that is created or retagged carries it as tag and as taint; "" = nothing is created
	Owned     func(string) bool // whether a tag, or a taint as KEY=VALUE, makes a pool the run's
	OwnTag    func(string) bool // whether a tag can only be the probe's
	Nodes     int               // at once, over all pools of the run
	Linodes   int               // in all, counted when they are requested
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
	Own     bool   // a write to an object of the run
	Refused string // why it was not sent
}

// Guard is an http.RoundTripper.
type Guard struct {
	next http.RoundTripper

	mu      sync.Mutex
	rule    Rule
	entries []Entry
	unseen  map[string]*creation // without an answer, by tagKey
	late    []poll.Sample

	// The objects of the run, as the API's answers have shown them.
	pools   map[int]bool
	nodes   map[string]bool
	linodes map[int]bool
	tags    map[string]bool // that only the probe can have made
	asked   map[string]int  // nodes requested, by pool ID, or by tagKey while the ID is unknown
	bought  int             // Linodes requested, in all
}

// creation is the creation of a pool that had no answer.
type creation struct {
	sent poll.Window
	poll.Mark
}

// New makes a guard in front of a transport.
func New(next http.RoundTripper, rule Rule) *Guard {
	return &Guard{next: next, rule: rule, unseen: map[string]*creation{}, pools: map[int]bool{}, nodes: map[string]bool{},
		linodes: map[int]bool{}, tags: map[string]bool{}, asked: map[string]int{}}
}

// Allow replaces the rule.
func (g *Guard) Allow(rule Rule) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rule = rule
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
	e.Limit, e.Scopes = response.Header.Get("X-RateLimit-Limit"), response.Header.Get("X-OAuth-Scopes")
	response.Body = io.NopCloser(bytes.NewReader(answer))
	if e.Status >= 400 && e.Status < 500 && undo != nil {
		undo()
	}
	g.keep(e)
	g.learn(e, answer)
	return response, nil
}

func read(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(r.Body)
	_ = r.Body.Close()
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body, err
}

// bare is a path without its version.
func bare(path string) string {
	for _, version := range []string{"/v4beta/", "/v4/"} {
		if _, rest, found := strings.Cut(path, version); found {
			return "/" + rest
		}
	}
	return path
}

// unsent begins the reason of every refusal made here.
const unsent = "not sent: "

// Refused reports whether a reason is the guard's, not the API's.
func Refused(reason string) bool { return strings.HasPrefix(reason, unsent) }

// refusal returns an answer that looks like a refusal of the API, so that no client tries again.
func refusal(r *http.Request, err error) *http.Response {
	body, _ := json.Marshal(map[string]any{"errors": []any{map[string]string{"reason": unsent + err.Error()}}})
	return &http.Response{
		Status: "403 Forbidden", StatusCode: http.StatusForbidden, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)), Request: r,
	}
}

// lose remembers a creation that may have its effect although it had no answer.
func (g *Guard) lose(e Entry, body []byte) {
	var w wanted
	if e.Method != http.MethodPost || json.Unmarshal(body, &w) != nil || w.Tags == nil || w.Type == NoSuchPlan {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unseen[tagKey(*w.Tags)] = &creation{sent: poll.Window{From: e.At, To: e.At}}
}

// Lost returns when the last creation was sent that had no answer and whose pool has not appeared; zero = there is no such creation.
func (g *Guard) Lost() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	var last time.Time
	for _, c := range g.unseen {
		if !c.Seen() && c.sent.From.After(last) {
			last = c.sent.From
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

// Late lists the delays with which pools appeared whose creation had no answer.
func (g *Guard) Late() []poll.Sample {
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

// Owned lists the known objects of the run: pools and Linodes, deleted ones included, and the tags that only the probe can have made.
func (g *Guard) Owned() (pools, linodes []int, tags []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Sorted(maps.Keys(g.pools)), slices.Sorted(maps.Keys(g.linodes)), slices.Sorted(maps.Keys(g.tags))
}

// Asked returns how many nodes of the run there may be now.
func (g *Guard) Asked() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.total()
}

func (g *Guard) total() int {
	n := 0
	for _, asked := range g.asked {
		n += asked
	}
	return n
}

// permit decides on a request. undo takes back the nodes that permit counted for it, if the API refuses it; nil = permit counted none.
func (g *Guard) permit(method, path string, body []byte) (undo func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if method == http.MethodGet {
		if parts[0] == "profile" || parts[0] == "account" || slices.Contains(parts, "kubeconfig") {
			return nil, fmt.Errorf("GET %s would show secrets", path)
		}
		return nil, nil
	}
	var own bool
	last := parts[len(parts)-1]
	id, _ := strconv.Atoi(last) // 0 without one
	switch cluster := fmt.Sprintf("lke/clusters/%d/", g.rule.ClusterID); method + " " + strings.Join(parts[:len(parts)-1], "/") + "/" {
	case "POST " + cluster:
		if last == "pools" {
			return g.permitCreate(body)
		}
		return nil, fmt.Errorf("the probe never sends %s %s", method, path)
	case "PUT " + cluster + "pools/":
		return g.permitUpdate(id, body)
	case "DELETE " + cluster + "pools/":
		own = g.pools[id]
	case "DELETE " + cluster + "nodes/":
		own = g.nodes[last]
	case "DELETE tags/":
		label, err := url.PathUnescape(last)
		own = err == nil && g.tags[label]
	case "PUT linode/instances/", "DELETE linode/instances/":
		if own = g.linodes[id]; own {
			var w wanted
			if json.Unmarshal(body, &w) == nil && w.Tags != nil {
				g.noteTags(*w.Tags)
			}
		}
	default:
		return nil, fmt.Errorf("the probe never sends %s %s", method, path)
	}
	if !own {
		return nil, fmt.Errorf("%s %s is about an object that this run did not create", method, path)
	}
	return nil, nil
}

// wanted holds the fields of a request that the guard checks.
type wanted struct {
	Type   string    `json:"type"`
	Count  *int      `json:"count"`
	Tags   *[]string `json:"tags"`
	Taints *[]taint  `json:"taints"`
}

type taint struct{ Key, Value string }

func (t taint) String() string { return t.Key + "=" + t.Value }

func (g *Guard) tainted(taints *[]taint) bool {
	return taints != nil && slices.ContainsFunc(*taints, func(t taint) bool { return t.String() == g.rule.Tag })
}

func (g *Guard) permitCreate(body []byte) (func(), error) {
	var w wanted
	switch err := json.Unmarshal(body, &w); {
	case err != nil:
		return nil, fmt.Errorf("a pool whose request cannot be read: %w", err)
	case g.rule.Tag == "" || w.Tags == nil || !slices.Contains(*w.Tags, g.rule.Tag):
		return nil, fmt.Errorf("a pool without the run's tag %q", g.rule.Tag)
	case !g.tainted(w.Taints):
		return nil, fmt.Errorf("a pool without the run's taint %q", g.rule.Tag)
	}
	g.noteTags(*w.Tags)
	if w.Type == NoSuchPlan {
		return nil, nil
	}
	if !slices.Contains(g.rule.Plans, w.Type) {
		return nil, fmt.Errorf("a pool of Linode type %s, which this run may not buy", w.Type)
	}
	count := 0
	if w.Count != nil {
		count = *w.Count
	}
	return g.reserve(tagKey(*w.Tags), count)
}

func (g *Guard) permitUpdate(pool int, body []byte) (func(), error) {
	if !g.pools[pool] {
		return nil, fmt.Errorf("an update of pool %d, which this run did not create", pool)
	}
	var w wanted
	switch err := json.Unmarshal(body, &w); {
	case err != nil:
		return nil, fmt.Errorf("an update whose request cannot be read: %w", err)
	case w.Tags != nil && !slices.Contains(*w.Tags, g.rule.Tag):
		return nil, fmt.Errorf("an update of pool %d that removes the run's tag", pool)
	case w.Taints != nil && !g.tainted(w.Taints):
		return nil, fmt.Errorf("an update of pool %d that removes the run's taint", pool)
	case w.Tags != nil:
		g.noteTags(*w.Tags)
	}
	if w.Count == nil {
		return nil, nil
	}
	return g.reserve(strconv.Itoa(pool), *w.Count)
}

// reserve counts nodes before they are requested: a request whose answer is lost may have had its effect.
func (g *Guard) reserve(pool string, count int) (func(), error) {
	before := g.asked[pool]
	more := max(0, count-before)
	if at := g.total() + more; at > g.rule.Nodes {
		return nil, fmt.Errorf("%d nodes at once; the run may have %d", at, g.rule.Nodes)
	}
	if g.bought+more > g.rule.Linodes {
		return nil, fmt.Errorf("%d Linodes in all; the run may buy %d", g.bought+more, g.rule.Linodes)
	}
	g.asked[pool] = count
	g.bought += more
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.asked[pool] = before
		g.bought -= more
	}, nil
}
