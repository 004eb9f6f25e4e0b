package linodesim_test

import (
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

func TestRateLimits(t *testing.T) {
	for _, c := range []struct {
		name, path string
		limit      int
		cfg        linodesim.Config
	}{
		{name: "images", path: "/v4beta/images", limit: 20},
		{name: "collections", path: "/v4beta/linode/instances", limit: 200},
		{name: "everything else", path: "/v4beta/lke/clusters/1", limit: 1600},
		{name: "a bare list is no collection", path: "/v4/regions/us-ord/availability", limit: 1600},
		{name: "chosen", path: "/v4beta/linode/instances", limit: 3, cfg: linodesim.Config{
			RateLimits: map[string]linodesim.RateLimit{"collections": {Requests: 3, Window: time.Minute}}}},
		{name: "off", path: "/v4beta/linode/instances", cfg: linodesim.Config{NoRateLimits: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.cfg.Profile = linodesim.Instant()
				_, api := newSim(t, c.cfg)
				start := time.Now()
				for n := range 1700 {
					got := api.do("GET", c.path, "")
					if c.limit == 0 {
						if got.status == 429 || got.header.Get("X-RateLimit-Limit") != "" {
							t.Fatalf("request %d: %d with limit %q", n+1, got.status, got.header.Get("X-RateLimit-Limit"))
						}
						continue
					}
					checkLimit(t, got, n, c.limit, start)
				}
				if c.limit == 0 {
					return
				}
				time.Sleep(59 * time.Second)
				if got := api.do("GET", c.path, ""); got.status != 429 || got.header.Get("Retry-After") != "1" {
					t.Errorf("at the end of the window: %d, Retry-After %q", got.status, got.header.Get("Retry-After"))
				}
				time.Sleep(time.Second)
				if got := api.do("GET", c.path, ""); got.status == 429 {
					t.Error("still refused in the next window")
				}
			})
		})
	}
}

func checkLimit(t *testing.T, got reply, n, limit int, start time.Time) {
	t.Helper()
	want := map[string]string{
		"X-RateLimit-Limit": strconv.Itoa(limit), "X-RateLimit-Remaining": strconv.Itoa(max(0, limit-n-1)),
		"X-RateLimit-Reset": strconv.FormatInt(start.Add(time.Minute).Unix(), 10),
	}
	if n >= limit {
		want["Retry-After"] = "60"
		if _, reason := got.reason(); got.status != 429 || reason != "Too many requests" {
			t.Fatalf("request %d: %d %q, want 429", n+1, got.status, reason)
		}
	} else if got.status == 429 {
		t.Fatalf("request %d is refused, limit %d", n+1, limit)
	}
	for name, value := range want {
		if got.header.Get(name) != value {
			t.Fatalf("request %d: %s is %q, want %q", n+1, name, got.header.Get(name), value)
		}
	}
}

func TestRateLimitsArePerTokenAndClass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{
			Profile: linodesim.Instant(), Tokens: map[string][]string{"a": {"*"}, "b": {"*"}},
			RateLimits: map[string]linodesim.RateLimit{"collections": {Requests: 1, Window: time.Minute}},
		})
		for i, c := range []struct {
			token, path string
			status      int
		}{
			{"a", "/v4/lke/clusters", 200}, {"a", "/v4/linode/instances", 429}, {"b", "/v4/lke/clusters", 200},
			{"a", "/v4/profile", 200}, {"", "/v4/regions", 200}, {"", "/v4/linode/types", 429}, {"", "/v4/profile", 401},
		} {
			api.token = c.token
			if got := api.do("GET", c.path, ""); got.status != c.status {
				t.Errorf("request %d, token %q, %s: %d, want %d", i+1, c.token, c.path, got.status, c.status)
			}
		}
		var meters []string
		for _, m := range sim.Meters() {
			meters = append(meters, fmt.Sprintf("%s %s %d/%d -%d", m.Caller, m.Class, m.Used, m.Limit.Requests, m.Refused))
		}
		want := "[(without token) collections 1/1 -1 user1 collections 1/1 -1 user1 general 1/1600 -0 user2 collections 1/1 -0]"
		if fmt.Sprint(meters) != want {
			t.Errorf("meters %v, want %s", meters, want)
		}
	})
}

func TestCallsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{})
		sim.Fail(linodesim.Rule{Method: "DELETE", Drop: true})
		for _, p := range []string{"/v4beta/lke/clusters", "/v4/lke/clusters", "/v4/lke/clusters/1", "/v4/nothing?x=1", "/v4/nothing?x=1"} {
			api.do("GET", p, "")
		}
		if _, err := api.try(t.Context(), "DELETE", "/v4/lke/clusters/1/nodes/1-a", ""); err == nil {
			t.Error("the dropped call has an answer")
		}
		want := []linodesim.CallCount{
			{Method: "GET", Route: "(unknown)", Status: 404, N: 2},
			{Method: "GET", Route: "/lke/clusters", Status: 200, Class: "collections", N: 2},
			{Method: "GET", Route: "/lke/clusters/{clusterId}", Status: 404, Class: "general", N: 1},
			{Method: "DELETE", Route: "/lke/clusters/{clusterId}/nodes/{nodeId}", Status: 0, Class: "general", N: 1},
		}
		if got := sim.Calls(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("calls %v, want %v", got, want)
		}
		if got := sim.Unknown(); fmt.Sprint(got) != "[GET /v4/nothing?x=1]" {
			t.Errorf("unknown %v", got)
		}
		recent := sim.RecentCalls()
		if len(recent) != 6 || recent[2].User != "user1" || recent[2].Took != 5*time.Millisecond || recent[2].RequestID == "" {
			t.Errorf("recent calls %+v", recent)
		}
	})
}

// TestCreateLimit: 20 Linodes in 15 s, which other requests neither use up nor
// are held up by.
func TestCreateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{Profile: linodesim.Instant()})
		const body = `{"type":"g6-nanode-1","region":"us-ord"}`
		for n := range 25 {
			got := api.do("POST", "/v4beta/linode/instances", body)
			if want := map[bool]int{true: 200, false: 429}[n < 20]; got.status != want || got.header.Get("X-RateLimit-Limit") != "20" {
				t.Fatalf("Linode %d: %d with limit %q, want %d", n+1, got.status, got.header.Get("X-RateLimit-Limit"), want)
			}
			if n >= 20 && got.header.Get("Retry-After") != "15" {
				t.Errorf("Retry-After %q", got.header.Get("Retry-After"))
			}
		}
		mustDo(t, api, "GET", "/v4beta/linode/instances", "")
		time.Sleep(15 * time.Second)
		mustDo(t, api, "POST", "/v4beta/linode/instances", body)
		if n := len(sim.Snapshot().Instances); n != 21 {
			t.Errorf("%d Linodes, want 21", n)
		}
	})
}
