package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/metrics"
)

// answers is an API that answers whatever a test wants.
type answers map[string]string

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	body, ok := a[strings.TrimPrefix(r.URL.Path, "/v4beta")]
	if !ok {
		return nil, errors.New("no answer")
	}
	return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

func plan(id, class string, hourly float64) string {
	return fmt.Sprintf(`{"id":%q,"label":"x","class":%q,"memory":4096,"disk":81920,"vcpus":2,"gpus":0,"network_out":1000,"transfer":1,
		"price":{"hourly":%v,"monthly":1},"region_prices":[],"addons":{"backups":{"price":{"hourly":1,"monthly":1},"region_prices":[]}},"successor":null,"accelerated_devices":0}`, id, class, hourly)
}

// hostile is an API with two valid plans in its list, one of them twice and one unavailable. All other plans have invalid names and
// prices.
func hostile() answers {
	list := []string{
		plan("g6-standard-2", "standard", 0.036), plan("g6-standard-2", "standard", 0.05), plan("g6-dedicated-2", "dedicated", 0.054),
		plan("", "standard", 1), plan("with space", "standard", 1), plan(strings.Repeat("x", 64), "standard", 1),
		plan("new\nline{}", "standard", 1), plan("\u2028", "standard", 1), plan("g6-odd-1", "no class / at all", 1),
		plan("g6-free-1", "standard", 0), plan("g6-negative-1", "standard", -1),
	}
	return answers{
		"/linode/types":                `{"page":1,"pages":1,"results":11,"data":[` + strings.Join(list, ",") + `]}`,
		"/regions/us-ord/availability": `[{"region":"us-ord","plan":"made-up","available":false},{"region":"us-ord","plan":"g6-dedicated-2","available":false}]`,
	}
}

// No answer of the API and no value that a hook is given makes a new value of a label.
func TestHostileInputMakesNoNewLabelValues(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := metrics.New(registry)
	client, err := linode.New(linode.Config{Token: linode.StaticToken("t"), Transport: hostile(), Observer: m.APICall})
	if err != nil {
		t.Fatal(err)
	}
	market := catalog.NewCatalog(client, catalog.Config{
		Region: "us-ord", OnRefresh: func(err error) { m.Refreshed(err, time.Unix(1, 0)) },
	})
	if err := market.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.Offerings(market)
	offered := []string{"g6-dedicated-2", "g6-standard-2", "g6-free-1", "g6-negative-1"}
	for _, it := range market.InstanceTypes(nil) {
		if o := it.Offerings[0]; o.Available != (it.Name == "g6-standard-2") {
			t.Errorf("%s at %v is available: %v", it.Name, o.Price, o.Available)
		}
	}

	for i := range 50 {
		odd := fmt.Sprintf("odd-%d", i)
		for _, status := range []int{i - 5, 600 + i, 299, 418, 99999} {
			m.APICall(linode.Call{Method: odd, Route: "/" + odd, Status: status, LimiterWait: 1, Retries: 1})
		}
		m.APICall(linode.Call{Method: "GET", Route: "/linode/types", Status: 200 + i%5, LimiterWait: 1, Retries: 1})
		for j := range 5 {
			m.Claim(fmt.Sprintf("%s-%d", odd, j), odd, time.Second)
		}
		m.Claim("", "claimed", time.Second)
		m.Action(claims.ActionEnd{Op: odd, InstanceType: odd, NodePool: odd, Bought: 1, Claimed: 1})
		m.Action(claims.ActionEnd{Op: "scale pool", InstanceType: "g6-standard-2", Bought: 1, Err: &claims.Error{Kind: claims.Kind(odd)}})
		m.Action(claims.ActionEnd{Op: "list pools", Err: &claims.Error{Kind: claims.KindRateLimited}})
		m.Action(claims.ActionEnd{Err: errors.New(odd)})
		m.Collected(claims.Collected{Removed: []claims.Node{{Name: odd}, {Claim: odd}}, Slots: []string{odd}, Pools: []string{odd}})
		m.Refused(odd, launches.NoCapacity)
		m.Refused("g6-standard-2", launches.Cause(odd))
		m.Refused("g6-standard-2", launches.AccountLimit)
		m.Refreshed(errors.New(odd), time.Now())
	}
	closed := map[string][]string{"instance_type": append(offered, "other"), "capacity_type": {"on-demand"}, "zone": {"us-ord"}}
	seen := map[string]map[string]bool{}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				allowed, ok := closed[label.GetName()]
				if !ok {
					allowed = metrics.Values(label.GetName())
				}
				if label.GetName() != "nodepool" && !slices.Contains(allowed, label.GetValue()) {
					t.Errorf("%s: %s=%q is not one of its %d values", family.GetName(), label.GetName(), label.GetValue(), len(allowed))
				}
				if seen[label.GetName()] == nil {
					seen[label.GetName()] = map[string]bool{}
				}
				seen[label.GetName()][label.GetValue()] = true
			}
		}
	}
	// 250 NodePools were seen: 200 have their own series, and "other" has the rest.
	if got := len(seen["nodepool"]); got != 201 || !seen["nodepool"]["other"] || !seen["nodepool"]["odd-0-0"] {
		t.Errorf("%d values of nodepool", got)
	}
	for label, values := range map[string][]string{
		"instance_type": {"g6-dedicated-2", "g6-standard-2", "other"}, "route": {"/linode/types", "other"},
		"status": {"0", "200", "418", "other"},
		"method": {"GET", "other"}, "outcome": {"claimed", "other"}, "result": {"ok", "error", "other", "RateLimited"},
		"kind": {"surplus", "orphan", "place", "pool"}, "cause": {"NoCapacity", "AccountLimit", "other"},
	} {
		for _, value := range values {
			if !seen[label][value] {
				t.Errorf("no series has %s=%q; there are %v", label, value, slices.Sorted(maps.Keys(seen[label])))
			}
		}
	}
}

// The descriptions match the registered metrics, by name, kind, help and labels.
func TestDescribeIsComplete(t *testing.T) {
	described := metrics.Describe()
	if !slices.IsSortedFunc(described, func(a, b metrics.Description) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("not in order")
	}
	registry := prometheus.NewPedanticRegistry()
	m := metrics.New(registry)
	m.APICall(linode.Call{Method: "GET", Route: "/linode/types", Status: 200, LimiterWait: 1, Retries: 1})
	m.Claim("default", "claimed", 1)
	m.Action(claims.ActionEnd{Op: "scale pool", Bought: 1, Claimed: 1})
	m.Collected(claims.Collected{Pools: []string{"1"}})
	m.Unidentified()
	m.NeverJoined("a")
	m.HostMaintenance(2)
	m.Refused("", "")
	m.Refreshed(nil, time.Now())
	m.Refreshed(context.Canceled, time.Now())
	client, err := linode.New(linode.Config{Token: linode.StaticToken("t"), Transport: hostile()})
	if err != nil {
		t.Fatal(err)
	}
	market := catalog.NewCatalog(client, catalog.Config{Region: "us-ord"})
	if err := market.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.Offerings(market)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if len(families) != len(described) {
		t.Errorf("%d metrics are registered, %d described", len(families), len(described))
	}
	for i, family := range families {
		got := metrics.Description{Name: family.GetName(), Type: strings.ToLower(family.GetType().String()), Help: family.GetHelp()}
		for _, label := range family.GetMetric()[0].GetLabel() {
			got.Labels = append(got.Labels, label.GetName())
		}
		want := described[i]
		want.Labels = slices.Sorted(slices.Values(want.Labels))
		if got.Name != want.Name || got.Type != want.Type || got.Help != want.Help || !slices.Equal(got.Labels, want.Labels) {
			t.Errorf("registered %+v\ndescribed  %+v", got, want)
		}
		for _, label := range want.Labels {
			if metrics.Values(label) == nil && !slices.Contains([]string{"instance_type", "capacity_type", "zone", "nodepool"}, label) {
				t.Errorf("%s: the label %s has no closed set of values", want.Name, label)
			}
		}
	}
}
