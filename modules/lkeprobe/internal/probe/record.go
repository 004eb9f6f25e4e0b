package probe

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/guard"
)

// keptEntries is how many entries of a list an exchange in the report has.
const keptEntries = 2

// needed are the scopes without which a run cannot work.
var needed = []string{"lke:read_write", "linodes:read_write"}

// record keeps the first exchange of each route and status, and what headers
// announced. Safe for concurrent use.
type record struct {
	mu     sync.Mutex
	first  map[string]guard.Exchange
	limits map[string]report.RateLimit
	scopes *string // of the token; nil until an answer had the header
}

func newRecord() *record {
	return &record{first: map[string]guard.Exchange{}, limits: map[string]report.RateLimit{}}
}

func (r *record) note(route string, x guard.Exchange, clusterID int) {
	if route == "" {
		route = "(not described)"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if scopes, ok := x.Header["X-Oauth-Scopes"]; ok && r.scopes == nil && len(scopes) > 0 {
		r.scopes = &scopes[0]
	}
	key := x.Method + " " + route
	l, known := r.limits[key]
	if !known {
		l = report.RateLimit{
			Method: x.Method, Route: route, Limit: x.Header.Get("X-RateLimit-Limit"), Remaining: x.Header.Get("X-RateLimit-Remaining"),
			Scopes: x.Header.Get("X-Accepted-OAuth-Scopes"),
		}
	}
	l.Answers++
	r.limits[key] = l
	key = fmt.Sprintf("%s %d", key, x.Status)
	if _, known := r.first[key]; known {
		return
	}
	x.Response = shortened(x.Response, clusterID)
	r.first[key] = x
}

// shortened keeps of a list the first entries, and of Linodes only the
// cluster's.
func shortened(body []byte, clusterID int) []byte {
	var list map[string]any
	if json.Unmarshal(body, &list) != nil {
		return body
	}
	data, ok := list["data"].([]any)
	if !ok {
		return body
	}
	data = slices.DeleteFunc(data, func(e any) bool {
		object, _ := e.(map[string]any)
		cluster, isLinode := object["lke_cluster_id"]
		return isLinode && cluster != float64(clusterID)
	})
	list["data"] = data[:min(len(data), keptEntries)]
	short, err := json.Marshal(list)
	if err != nil { // what was decoded encodes
		return nil
	}
	return short
}

// lacking reports which scope the token lacks, as far as its answers show.
func (r *record) lacking() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.scopes == nil {
		return nil
	}
	have := strings.FieldsFunc(*r.scopes, func(c rune) bool { return c == ' ' || c == ',' })
	for _, scope := range needed {
		area, _, _ := strings.Cut(scope, ":")
		if !slices.ContainsFunc(have, func(h string) bool { return h == "*" || h == scope || h == area+":*" }) {
			return fmt.Errorf("LINODE_TOKEN lacks the scope %s; it has %s; nothing was created", scope, strings.Join(have, " "))
		}
	}
	return nil
}

// report puts everything together, scrubbed.
func (s *session) report(started time.Time, leftovers []string, stopped string) *report.Report {
	r := &report.Report{
		Schema: report.Schema, Tool: tool(), Day: started.UTC().Format(time.DateOnly), TookMS: time.Since(started).Milliseconds(),
		Cluster: report.Cluster{Tier: s.tier(), Region: s.lab.Region, K8sVersion: s.version},
		Plan: report.Plan{
			Type: s.plan.Type, Nodes: s.plan.Nodes, Linodes: s.plan.Linodes + s.plan.Nanodes, Minutes: s.plan.Duration.Minutes(),
			MaxCost: math.Round(s.plan.MaxCost*10000) / 10000,
		},
		Fields: []report.Field{},
	}
	s.answerLimits()
	s.lab.Book.Into(r)
	for i := range r.Facts {
		r.Facts[i].Seen = s.scrub.Text(r.Facts[i].Seen)
	}
	for name, value := range r.Switches {
		r.Switches[name] = s.scrub.Text(value)
	}
	for _, d := range s.fields.Differences() {
		r.Fields = append(r.Fields, report.Field{Method: d.Method, Route: d.Route, Path: d.Path, Kind: d.Kind, Type: d.Type})
	}
	s.record.into(r, s)
	s.audit(r, started)
	r.Audit.Stopped = s.scrub.Text(stopped)
	r.Audit.Leftovers = []string{}
	for _, l := range leftovers {
		r.Audit.Leftovers = append(r.Audit.Leftovers, s.scrub.Text(l))
	}
	return r
}

func (r *record) into(out *report.Report, s *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out.RateLimits = slices.SortedFunc(maps.Values(r.limits), func(a, b report.RateLimit) int {
		return cmp.Or(cmp.Compare(a.Route, b.Route), cmp.Compare(a.Method, b.Method))
	})
	out.Exchanges = []report.Exchange{}
	for _, key := range slices.Sorted(maps.Keys(r.first)) {
		x := r.first[key]
		out.Exchanges = append(out.Exchanges, report.Exchange{
			Method: x.Method, Path: s.scrub.Path(x.Path), Filter: s.scrub.Filter(x.Filter), Request: s.scrub.Bytes(x.Path, x.Request),
			Status: x.Status, Headers: s.scrub.Headers(x.Header), Response: s.scrub.Bytes(x.Path, x.Response),
		})
	}
}

// answerLimits answers the questions about headers, if they were chosen.
func (s *session) answerLimits() {
	if !slices.Contains(s.names(), "limits") {
		return
	}
	s.record.mu.Lock()
	defer s.record.mu.Unlock()
	for question, key := range map[string]string{
		"limits.collections": "GET /linode/instances", "limits.others": "GET /lke/clusters/{clusterId}",
		"limits.versions": "GET /lke/tiers/{tier}/versions",
	} {
		l, known := s.record.limits[key]
		if !known {
			continue
		}
		s.lab.Book.Answer(question, cmp.Or(l.Limit, "no header"))
	}
}

func (s *session) names() []string {
	var out []string
	for _, e := range s.chosen {
		out = append(out, e.Name)
	}
	return out
}

// audit puts the record of the probe's own requests into the report.
func (s *session) audit(r *report.Report, started time.Time) {
	r.Audit.Writes, r.Audit.Refused = []report.Write{}, []string{}
	var took []time.Duration
	for _, e := range s.guard.Entries() {
		if e.Refused != "" {
			r.Audit.Refused = append(r.Audit.Refused, s.scrub.Text(e.Refused))
			continue
		}
		r.Audit.Requests++
		if e.Method == http.MethodGet {
			if e.Status == http.StatusOK {
				took = append(took, e.Took)
			}
			continue
		}
		if !e.Own {
			r.Audit.Foreign++
		}
		r.Audit.Writes = append(r.Audit.Writes, report.Write{
			AfterMS: e.At.Sub(started).Milliseconds(), Method: e.Method, Path: s.scrub.Path(e.Path), Status: e.Status,
		})
	}
	r.Delays[report.Request] = quantiles(took)
}

// quantiles are those of answering a read: single slow answers show nothing about
// the rest.
func quantiles(took []time.Duration) []report.Sample {
	if len(took) == 0 {
		return nil
	}
	slices.Sort(took)
	var out []report.Sample
	for _, q := range []float64{0.05, 0.5, 0.95} {
		ms := took[int(q*float64(len(took)-1))].Milliseconds()
		out = append(out, report.Sample{AtLeast: ms, AtMost: ms})
	}
	return out
}
