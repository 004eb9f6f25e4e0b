package guard_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/guard"
)

const tag = "lkeprobe-run=1"

// canned answers each request with the next of its answers.
type canned struct {
	answers []answer
	sent    []string
}

type answer struct {
	status int
	body   string
}

func (c *canned) RoundTrip(r *http.Request) (*http.Response, error) {
	c.sent = append(c.sent, r.Method+" "+r.URL.Path)
	a := answer{200, "{}"}
	if len(c.answers) > 0 {
		a, c.answers = c.answers[0], c.answers[1:]
	}
	return &http.Response{StatusCode: a.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(a.body)), Request: r}, nil
}

func rule() guard.Rule {
	return guard.Rule{ClusterID: 5, Tag: tag, Owned: func(t string) bool { return t == tag },
		OwnTag: func(t string) bool { return strings.HasPrefix(t, "lkeprobe-") }, Nodes: 3, Linodes: 5, Plans: []string{"g6-standard-1"}}
}

// step is one request, and whether it may be sent.
type step struct {
	method, path, body string
	answer             answer
	refused            string // part of the reason; "" = sent
}

const (
	pools  = "/v4beta/lke/clusters/5/pools"
	taints = `"taints":[{"key":"lkeprobe-run","value":"1","effect":"NoSchedule"}]`
	create = `{"type":"g6-standard-1","count":2,"tags":["lkeprobe-run=1","lkeprobe-pool=1"],` + taints + `}`
	own    = `{"id":7,"tags":["LKEPROBE-POOL=1","lkeprobe-run=1"],"nodes":[{"id":"7-aa","instance_id":70},{"id":"7-bb","instance_id":null}]}`
	users  = `{"id":8,"tags":["acme"],"nodes":[{"id":"8-aa","instance_id":80}]}`
)

func TestOnlyTheRunsOwnThingsAreTouched(t *testing.T) {
	list := answer{200, `{"data":[` + own + `,` + users + `],"page":1}`}
	for name, steps := range map[string][]step{
		"reads": {
			{method: "GET", path: pools}, {method: "GET", path: "/v4beta/linode/instances/80"},
			{method: "GET", path: "/v4beta/profile", refused: "secrets"}, {method: "GET", path: "/v4beta/account", refused: "secrets"},
			{method: "GET", path: "/v4beta/lke/clusters/5/kubeconfig", refused: "secrets"},
		},
		"things of others": {
			{method: "GET", path: pools, answer: list},
			{method: "DELETE", path: pools + "/8", refused: "about an object that this run did not create"},
			{method: "PUT", path: pools + "/8", body: `{"count":1}`, refused: "pool 8, which this run did not create"},
			{method: "DELETE", path: "/v4beta/lke/clusters/5/nodes/8-aa", refused: "did not create"},
			{method: "DELETE", path: "/v4beta/linode/instances/80", refused: "did not create"},
			{method: "PUT", path: "/v4beta/linode/instances/80", body: `{"tags":[]}`, refused: "did not create"},
			{method: "DELETE", path: "/v4beta/lke/clusters/5", refused: "the probe never sends"},
			{method: "DELETE", path: "/v4beta/lke/clusters/6/pools/7", refused: "the probe never sends"},
			{method: "POST", path: "/v4beta/linode/instances", body: `{}`, refused: "the probe never sends"},
			{method: "POST", path: pools + "/7/recycle", refused: "the probe never sends"},
			{method: "DELETE", path: pools + "/7x", refused: "did not create"},
		},
		"own things": {
			{method: "DELETE", path: pools + "/7", refused: "did not create"}, // nothing has shown that it is the run's
			{method: "GET", path: pools, answer: list},
			{method: "PUT", path: pools + "/7", body: `{"tags":["lkeprobe-run=1","x"]}`},
			{method: "PUT", path: pools + "/7", body: `{"tags":["x"]}`, refused: "removes the run's tag"},
			{method: "PUT", path: pools + "/7", body: `{"taints":[]}`, refused: "removes the run's taint"},
			{method: "PUT", path: pools + "/7", body: `{` + taints + `}`},
			{method: "DELETE", path: "/v4beta/lke/clusters/5/nodes/7-bb"},
			{method: "PUT", path: "/v4beta/linode/instances/70", body: `{"label":"x"}`},
			{method: "DELETE", path: "/v4beta/linode/instances/70"},
			{method: "DELETE", path: pools + "/7"},
		},
		"tags": {
			{method: "DELETE", path: "/v4beta/tags/lkeprobe-run=1", refused: "did not create"},
			{method: "GET", path: pools, answer: list},
			{method: "PUT", path: pools + "/7", body: `{"tags":["lkeprobe-run=1","acme","lkeprobe-a b"]}`},
			{method: "DELETE", path: "/v4beta/tags/acme", refused: "did not create"},
			{method: "DELETE", path: "/v4beta/tags/lkeprobe-run=1"},
			{method: "DELETE", path: "/v4beta/tags/lkeprobe-a%20b"},
			{method: "DELETE", path: "/v4beta/tags/lkeprobe-other", refused: "did not create"},
		},
		"Linodes with the run's tag": {
			{method: "GET", path: "/v4beta/linode/instances",
				answer: answer{200, `{"data":[{"id":71,"tags":["lkeprobe-run=1"]},{"id":81,"tags":["acme"]}]}`}},
			{method: "DELETE", path: "/v4beta/linode/instances/81", refused: "did not create"},
			{method: "DELETE", path: "/v4beta/linode/instances/71"},
		},
		"another cluster's answer proves nothing": {
			{method: "GET", path: "/v4beta/lke/clusters/6/pools", answer: list},
			{method: "DELETE", path: pools + "/7", refused: "did not create"},
		},
		"creation": {
			{method: "POST", path: pools, body: `{"type":"g6-standard-1","count":1,"tags":["x"]}`, refused: "without the run's tag"},
			{method: "POST", path: pools, body: `{"type":"g6-standard-1","count":1,"tags":["lkeprobe-run=1"]}`,
				refused: "without the run's taint"},
			{method: "POST", path: pools, body: `{"type":"g6-standard-8","count":1,"tags":["lkeprobe-run=1"],` + taints + `}`,
				refused: "may not buy"},
			{method: "POST", path: pools, body: `not JSON`, refused: "cannot be read"},
			{method: "POST", path: pools, body: `{"type":"lkeprobe-no-such-plan","count":501,"tags":["lkeprobe-run=1"],` + taints + `}`,
				answer: answer{400, "{}"}},
			{method: "POST", path: pools, body: create, answer: answer{200, own}},
		},
		"nodes at once": {
			{method: "POST", path: pools, body: `{"type":"g6-standard-1","count":4,"tags":["lkeprobe-run=1"],` + taints + `}`,
				refused: "4 nodes at once; the run may have 3"},
			{method: "POST", path: pools, body: create, answer: answer{200, own}},
			{method: "PUT", path: pools + "/7", body: `{"count":4}`, refused: "4 nodes at once"},
			{method: "PUT", path: pools + "/7", body: `{"count":3}`},
			{method: "POST", path: pools, body: create, refused: "5 nodes at once"},
			{method: "DELETE", path: pools + "/7"},
			{method: "POST", path: pools, body: create},
		},
		"a refused creation leaves its place": {
			{method: "POST", path: pools, body: create, answer: answer{400, "{}"}},
			{method: "POST", path: pools, body: create, answer: answer{500, "{}"}}, // this one may have had its effect
			{method: "POST", path: pools, body: strings.Replace(create, "pool=1", "pool=2", 1), refused: "4 nodes at once"},
		},
		"Linodes in all": {
			{method: "POST", path: pools, body: create, answer: answer{200, own}}, {method: "DELETE", path: pools + "/7"},
			{method: "POST", path: pools, body: strings.Replace(create, "pool=1", "pool=2", 1),
				answer: answer{200, strings.NewReplacer(`"id":7,`, `"id":9,`, "POOL=1", "pool=2").Replace(own)}},
			{method: "DELETE", path: pools + "/9"},
			{method: "POST", path: pools, body: strings.Replace(create, "pool=1", "pool=3", 1), refused: "6 Linodes in all; the run may buy 5"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			network := &canned{}
			g := guard.New(network, rule())
			for i, s := range steps {
				if s.answer.status != 0 {
					network.answers = []answer{s.answer}
				}
				before := len(network.sent)
				check(t, g, network, i, s, before)
			}
		})
	}
}

func check(t *testing.T, g *guard.Guard, network *canned, i int, s step, before int) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), s.method, "http://api.example"+s.path, strings.NewReader(s.body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := g.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(response.Body)
	sent := len(network.sent) > before
	if sent != (s.refused == "") {
		t.Errorf("step %d, %s %s %s: sent %v: %s", i, s.method, s.path, s.body, sent, body)
	}
	last := g.Entries()[len(g.Entries())-1]
	if s.refused != "" && (response.StatusCode != 403 || !strings.Contains(string(body), s.refused) ||
		!strings.Contains(last.Refused, s.refused)) {
		t.Errorf("step %d: %d %s, noted %q, want %q", i, response.StatusCode, body, last.Refused, s.refused)
	}
	if s.refused == "" && last.Own != (s.method != "GET") {
		t.Errorf("step %d: noted as own: %v", i, last.Own)
	}
}

// Without a tag, as for a clean-up, nothing is created.
func TestCleanUpCreatesNothing(t *testing.T) {
	network := &canned{}
	cleaning := rule()
	cleaning.Tag = ""
	g := guard.New(network, cleaning)
	check(t, g, network, 0, step{method: "POST", path: pools, body: create, refused: "without the run's tag"}, 0)
}
