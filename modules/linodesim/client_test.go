package linodesim_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// client speaks plain JSON to a simulator in memory.
type client struct {
	t     *testing.T
	sim   *linodesim.Sim
	token string
}

type reply struct {
	status int
	header http.Header
	raw    string
	body   map[string]any
}

// do sends a request that must have an answer.
func (c client) do(method, path, body string, headers ...string) reply {
	c.t.Helper()
	got, err := c.try(c.t.Context(), method, path, body, headers...)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	return got
}

func (c client) try(ctx context.Context, method, path, body string, headers ...string) (reply, error) {
	c.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, "http://api.example"+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := c.sim.Transport().RoundTrip(r)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = answer.Body.Close() }()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	out := reply{status: answer.StatusCode, header: answer.Header, raw: string(raw)}
	if strings.HasPrefix(out.raw, "{") {
		if err := json.Unmarshal(raw, &out.body); err != nil {
			c.t.Fatalf("%s %s: %v in %s", method, path, err, raw)
		}
	}
	return out, nil
}

// serve puts a simulator on a free port of the loopback address.
func serve(t testing.TB, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

func newSim(t *testing.T, cfg linodesim.Config) (*linodesim.Sim, client) {
	t.Helper()
	cfg.ValidateAnswers = true
	sim, err := linodesim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, v := range sim.Violations() {
			t.Errorf("answer differs from the description: %s", v)
		}
	})
	return sim, client{t, sim, linodesim.DefaultToken}
}

// addCluster makes one with a settled pool of one node and gives its path.
func addCluster(t *testing.T, sim *linodesim.Sim, tier string) (linodesim.ClusterInfo, string) {
	t.Helper()
	info, err := sim.AddCluster(linodesim.ClusterSpec{
		Label: "demo", Tier: tier, Settled: true, Pools: []linodesim.PoolSpec{{Type: "g6-standard-2", Count: 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return info, fmt.Sprintf("/v4beta/lke/clusters/%d", info.ID)
}

// reason gives field and reason of the first error.
func (r reply) reason() (field, reason string) {
	errors, _ := r.body["errors"].([]any)
	if len(errors) == 0 {
		return "", ""
	}
	first, _ := errors[0].(map[string]any)
	field, _ = first["field"].(string)
	reason, _ = first["reason"].(string)
	return field, reason
}

func (r reply) data(t *testing.T) []map[string]any {
	t.Helper()
	list, ok := r.body["data"].([]any)
	if !ok {
		t.Fatalf("answer %d has no data: %s", r.status, r.raw)
	}
	out := make([]map[string]any, len(list))
	for i, e := range list {
		out[i] = e.(map[string]any)
	}
	return out
}
