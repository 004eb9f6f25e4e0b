package e2e_test

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// begin names a file that is made when nothing else computes on the machine any more:
// `make test` runs other tests while the clusters of TestBurst come to rest.
var begin = flag.String("begin", "", "a `file`: TestBurst begins when it exists")

// TestBurst has the machine to itself, and one tier after the other: the bound for a hundred claims is a promise about the platform's
// time, which overloaded processors would break. The tiers wait for their turn together. The operator of the first tier has led for less
// than two minutes, in which lists may be older than its Lease.
func TestBurst(t *testing.T) {
	var turn sync.Mutex
	for _, tier := range []string{"standard", "enterprise"} {
		t.Run(tier, func(t *testing.T) {
			t.Parallel()
			e := start(t, "burst", tier, nil)
			alone(t)
			turn.Lock()
			defer turn.Unlock()
			e.scenario(t, "a hundred pods on a hundred hosts", onHosts(100))
		})
	}
	t.Run("instance", func(t *testing.T) {
		t.Parallel()
		e := start(t, "plain-burst", "standard", nil, plainLinodes(20))
		alone(t)
		turn.Lock()
		defer turn.Unlock()
		e.scenario(t, "a hundred pods on a hundred Linodes", hundredLinodes)
	})
}

// alone waits for the file that begin names.
func alone(t *testing.T) {
	t.Helper()
	if *begin == "" {
		return
	}
	NewWithT(t).Eventually(t.Context(),
		func() string { return *begin }).WithTimeout(time.Hour).WithPolling(interval).Should(BeAnExistingFile())
}

// onHosts: a spread over hosts with a skew of one, counted against the user's
// own host too, gives each of n pods its own node. That takes one instance for each NodeClaim, and 1.2 requests for each beyond the
// requests of a cluster at rest.
func onHosts(n int) func(*testing.T, *environment) {
	return func(t *testing.T, e *environment) {
		const app = "spread"
		e.nodePool(t, nodePoolSpec{})
		e.quiet(t)
		since, calls, began := e.now(), e.Sim.CallsWith(e.SimToken), time.Now()
		e.apply(t, deployment(app, n, fmt.Sprintf(`
      topologySpreadConstraints:
        - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: %s}}}`, app)))
		e.settled(t, app, n)
		e.matched(t, n)
		cost, routes := e.callsSince(calls)
		rest := atRest(began)
		t.Logf("%d requests for %d nodes: %s", cost, n, routes)
		if cost > n*12/10+rest {
			t.Errorf("%d requests were made for %d nodes, want at most 1.2 for each and %d", cost, n, rest)
		}
		if since.made() != n {
			t.Errorf("%d instances were made for %d NodeClaims", since.made(), n)
		}
		hosts := map[string]bool{}
		for _, pod := range e.pods(t.Context(), NewWithT(t), app) {
			hosts[pod.Spec.NodeName] = true
		}
		if len(hosts) != n {
			t.Errorf("%d pods are on %d hosts", n, len(hosts))
		}
	}
}

// quiet waits until the operator has read or changed no pool and no Linode for a while: it reads twice that each pool of an earlier
// scenario is gone, and a scenario that counts its own requests begins after that. Groups read plans and prices every few seconds.
func (e *environment) quiet(t *testing.T) {
	t.Helper()
	const still = 8 * time.Second
	requests := func() (n int) {
		for _, c := range e.Sim.CallsWith(e.SimToken) {
			if strings.Contains(c.Route, "/pools") || strings.HasPrefix(c.Route, "/linode/instances") {
				n += c.N
			}
		}
		return n
	}
	before, since := requests(), time.Now()
	NewWithT(t).Eventually(t.Context(), func(g Gomega) {
		if now := requests(); now != before {
			before, since = now, time.Now()
		}
		g.Expect(time.Since(since)).To(BeNumerically(">", still), "since the last request")
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
}

// callsSince returns the number of requests since an earlier count, and a text that counts them by route and status.
func (e *environment) callsSince(before []linodesim.CallCount) (cost int, routes string) {
	counts := map[string]int{}
	count := func(calls []linodesim.CallCount, sign int) {
		for _, c := range calls {
			counts[fmt.Sprintf("%s %s %d", c.Method, c.Route, c.Status)] += sign * c.N
		}
	}
	count(e.Sim.CallsWith(e.SimToken), 1)
	count(before, -1)
	var lines []string
	for _, route := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[route]; n != 0 {
			cost += n
			lines = append(lines, fmt.Sprintf("%d %s", n, route))
		}
	}
	return cost, strings.Join(lines, ", ")
}

// atRest is how many requests a cluster may cost anyway since a moment.
func atRest(since time.Time) int { return 10 * int(math.Ceil(time.Since(since).Minutes())) }
