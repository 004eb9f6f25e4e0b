package lkeprobe

import (
	"cmp"
	"maps"
	"math"
	"net/http"
	"regexp"
	"runtime/debug"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/experiment"
)

// tool names the program with its version.
func tool() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "karpenter-linode (development build)"
	}
	return "karpenter-linode " + info.Main.Version
}

// report makes the report of the run.
func (s *session) report(started time.Time, leftovers []string, stopped string) *report.Report {
	book := s.lab.Book
	r := &report.Report{
		Schema: report.Schema, Tool: tool(), Day: started.UTC().Format(time.DateOnly), TookMS: time.Since(started).Milliseconds(),
		Cluster: report.Cluster{Tier: s.tier(), Region: s.lab.Region, K8sVersion: s.version},
		Plan: report.Plan{
			Type: s.plan.Type, Nodes: s.plan.Nodes, Linodes: s.plan.Linodes + s.plan.Nanodes, Minutes: s.plan.Duration.Minutes(),
			MaxCost: math.Round(s.plan.MaxCost*10000) / 10000,
		},
		Scenarios: append([]report.Scenario{}, s.scenarios...), RateLimits: s.rateLimits(),
		Audit: report.Audit{Writes: []report.Write{}, Refused: []string{}, Leftovers: []string{}, Stopped: s.public(stopped)},
	}
	for _, late := range s.guard.Late() {
		book.Delay(report.LateEffect, late)
		book.Within(report.LateWrites, experiment.LateWithin, "a pool whose creation had no answer showed after", late)
	}
	for _, about := range report.Assumptions() {
		j := book.Evidence(about)
		j.Means, j.Seen = assumed[about].means, s.public(j.Seen)
		if j.Verdict == report.Broken {
			j.Setting = assumed[about].setting
		}
		r.Judgements = append(r.Judgements, j)
	}
	book.Into(r)
	for i := range r.Facts {
		r.Facts[i].Seen = s.public(r.Facts[i].Seen)
	}
	for name, value := range r.Switches {
		r.Switches[name] = s.public(value)
	}
	for _, l := range leftovers {
		r.Audit.Leftovers = append(r.Audit.Leftovers, s.public(l))
	}
	s.audit(r, started)
	return r
}

var (
	idInPath  = regexp.MustCompile(`/\d[0-9a-f-]*`)
	tagInPath = regexp.MustCompile(`^/tags/.*`)
)

// route is a path without IDs and tags.
func route(path string) string {
	return tagInPath.ReplaceAllString(idInPath.ReplaceAllString(path, "/{id}"), "/tags/{tag}")
}

// rateLimits lists the limits that headers announced, and answers the questions about them.
func (s *session) rateLimits() []report.RateLimit {
	limits := map[string]report.RateLimit{}
	for _, e := range s.guard.Entries() {
		if e.Status < 200 || e.Status > 299 {
			continue
		}
		l, known := limits[e.Method+route(e.Path)]
		if !known {
			l = report.RateLimit{Method: e.Method, Route: route(e.Path), Limit: e.Limit}
		}
		l.Answers++
		limits[e.Method+l.Route] = l
	}
	for question, of := range map[string]string{
		"limits.collections": "GET/linode/instances", "limits.others": "GET/lke/clusters/{id}",
		"limits.versions": "GET/lke/tiers/" + s.tier() + "/versions",
	} {
		l, known := limits[of]
		if !known || !slices.ContainsFunc(s.plan.Steps, func(step Step) bool { return step.Name == "limits" }) {
			continue
		}
		s.lab.Book.Answer(question, "%s", cmp.Or(l.Limit, "no header"))
		if question != "limits.versions" {
			s.lab.Book.Weigh(report.NoLimitHeaders, l.Limit != "", "X-RateLimit-Limit of GET %s: %s", l.Route, cmp.Or(l.Limit, "none"))
		}
	}
	return slices.SortedFunc(maps.Values(limits), func(a, b report.RateLimit) int {
		return cmp.Or(cmp.Compare(a.Route, b.Route), cmp.Compare(a.Method, b.Method))
	})
}

// audit puts the record of the run's own requests into the report.
func (s *session) audit(r *report.Report, started time.Time) {
	var took []time.Duration
	for _, e := range s.guard.Entries() {
		if e.Refused != "" {
			r.Audit.Refused = append(r.Audit.Refused, s.public(e.Refused))
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
			AfterMS: e.At.Sub(started).Milliseconds(), Method: e.Method, Path: route(e.Path), Status: e.Status,
		})
	}
	r.Delays[report.Request] = quantiles(took)
}

// quantiles are the quantiles of the time to answer a read: single slow answers show nothing about the rest.
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

// assumed has each assumption in words, and the chart's value to change if the platform breaks it; "" = no value helps.
var assumed = map[report.Assumption]struct{ means, setting string }{
	report.LateIDs:        {"most nodes have an instance ID within 3 minutes, and all within 15", ""},
	report.LateTaints:     {"a Node has its pool's taints within 15 seconds of its registration", "admissionPolicy.enabled"},
	report.OldLists:       {"lists show a write within 2 minutes", "settings.listLag"},
	report.OldReads:       {"reads of one pool or Linode show a write within 4 seconds", "settings.settleTime"},
	report.LateWrites:     {"a write without an answer takes effect within 2 minutes, or never", "settings.lateEffect"},
	report.LostTags:       {"tags stay as they were written", ""},
	report.LoweredCounts:  {"LKE leaves a pool's count as it was set", ""},
	report.LessMemory:     {"a Node has at least 92.5% of its plan's memory", "settings.vmMemoryOverheadPercent"},
	report.ReturningNodes: {"LKE does not replace a node that was deleted", ""},
	report.NoLimitHeaders: {"answers announce their rate limit", ""},
	report.UnknownRefusal: {"a refused purchase has words that the operator knows", ""},
	report.HangingPools:   {"an accepted node gets a Linode", ""},
	report.OtherNames:     {"a Node has the name that is the label of its Linode", ""},
}
