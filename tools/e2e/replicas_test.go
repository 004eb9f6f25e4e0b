package e2e_test

import (
	"context"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
)

func TestReplicasStandard(t *testing.T)   { replicas(t, "standard") }
func TestReplicasEnterprise(t *testing.T) { replicas(t, "enterprise") }

// replicas runs two replicas of the operator: the leader works, and the follower waits and takes over when the leader dies or freezes.
// Plans are read every 5 seconds instead of 5 minutes, so that the test sees the follower's reads.
func replicas(t *testing.T, tier string) {
	t.Parallel()
	e := start(t, "replicas", tier, map[string]any{"controller": map[string]any{"env": []any{
		map[string]any{"name": "INSTANCE_TYPE_REFRESH_INTERVAL", "value": "5s"},
	}}}, func(o *localcluster.Options) { o.Replicas = 2 })
	e.scenario(t, "one works and one waits", oneWorksOneWaits)
	e.scenario(t, "the leader is killed in a scale-up of twenty", leaderKilled)
	e.scenario(t, "the leader stands still and wakes after another finished its work", leaderPaused(false))
	e.scenario(t, "the leader stands still and wakes in the middle of another's work", leaderPaused(true))
}

// crowd is the size of the scale-ups; inTheMiddle is how many of them are claimed when
// something happens to the leader.
const crowd, inTheMiddle = 20, 10

// oneWorksOneWaits scales up and checks the requests of the waiting replica to
// the Linode API: plans and availability again and again, nothing else twice, and
// nothing that changes anything.
func oneWorksOneWaits(t *testing.T, e *environment) {
	_, waits := e.leaderAndOther(t)
	before := e.requests(t, waits)
	e.crowd(t, "shared", crowd)
	e.settled(t, "shared", crowd)
	e.oneToOne(t)
	g, ctx := NewWithT(t), t.Context()
	g.Eventually(ctx, func() int { return e.requests(t, waits)["GET /linode/types"] }).
		WithTimeout(patience).WithPolling(interval).Should(BeNumerically(">=", before["GET /linode/types"]+2), "the waiting replica reads plans")
	for request, n := range e.requests(t, waits) {
		if again := n - before[request]; again > 0 &&
			!slices.Contains([]string{"GET /linode/types", "GET /regions/{regionId}/availability"}, request) {
			t.Errorf("the replica that waits sent %s %d times meanwhile", request, again)
		}
		if !strings.HasPrefix(request, "GET ") {
			t.Errorf("the replica that waits sent %s %d times", request, n)
		}
	}
	if leader, _ := e.leaderAndOther(t); leader == waits {
		t.Error("the leader changed, although nothing happened to it")
	}
}

// leaderKilled kills the leader with SIGKILL while half of the claims are written:
// the other one finishes, without an additional instance.
func leaderKilled(t *testing.T, e *environment) {
	leader, other := e.leaderAndOther(t)
	since := e.now()
	heal := e.afterClaims(inTheMiddle, linodesim.Rule{Hang: true}) // they are never carried out
	e.crowd(t, "twenty", crowd)
	since.awaitClaimed(t, inTheMiddle)
	leader.Kill()
	heal()
	e.takesOver(t, other)
	e.settled(t, "twenty", crowd)
	since.exactly(t, crowd)
	NewWithT(t).Expect(leader.Start(t.Context())).To(Succeed())
}

// leaderPaused freezes the leader (SIGSTOP) while half of the claims are written and
// the others are being tried again, and lets it go on when another leads: it must write none of its claims any more, because the
// instances may belong to other claims by now. It exits, and the test starts it again as its Deployment would.
func leaderPaused(middle bool) func(*testing.T, *environment) {
	return func(t *testing.T, e *environment) {
		leader, other := e.leaderAndOther(t)
		since := e.now()
		// the client tries again
		heal := e.afterClaims(inTheMiddle, linodesim.Rule{Answer: linodesim.Answer{Status: http.StatusInternalServerError}})
		e.crowd(t, "twenty", crowd)
		since.awaitClaimed(t, inTheMiddle)
		leader.Pause()
		heal()
		// The new leader's first write is held back, so that both are at work.
		var writes atomic.Int32
		if middle {
			slow := e.Sim.Fail(linodesim.Rule{Delay: time.Second, Match: func(r *http.Request) bool {
				return r.Method != http.MethodGet && writes.Add(1) > 0
			}})
			defer e.Sim.Heal(slow)
		}
		g, ctx := NewWithT(t), t.Context()
		e.takesOver(t, other)
		if middle {
			g.Eventually(ctx, writes.Load).WithTimeout(patience).WithPolling(interval / 25).Should(BeNumerically(">", 0))
		} else {
			e.settled(t, "twenty", crowd)
		}
		wakesAndEnds(t, leader)
		e.settled(t, "twenty", crowd)
		since.exactly(t, crowd)
	}
}

// wakesAndEnds lets a leader go on that was frozen.
func wakesAndEnds(t *testing.T, leader *localcluster.Operator) {
	t.Helper()
	ended := leader.Exited()
	leader.Resume()
	NewWithT(t).Eventually(t.Context(), ended).WithTimeout(patience).Should(BeClosed(), "the former leader ends")
}

// crowd makes n pods that need a host each.
func (e *environment) crowd(t *testing.T, app string, n int) {
	t.Helper()
	e.apply(t, "linodenodeclass.yaml")
	e.apply(t, nodePool("default", "", ""))
	e.apply(t, deployment(app, n, apart(app)))
}

// afterClaims lets the first n claims pass and applies the rule to the others,
// until the function that it returns is called. A claim is a write of tags, or in
// instance mode the creation of a Linode.
func (e *environment) afterClaims(n int32, rule linodesim.Rule) (heal func()) {
	var claims atomic.Int32
	rule.Method, rule.Route = http.MethodPut, "/linode/instances/{linodeId}"
	if e.plain {
		rule.Method, rule.Route = http.MethodPost, "/linode/instances"
	}
	rule.Match = func(*http.Request) bool { return claims.Add(1) > n }
	id := e.Sim.Fail(rule)
	return func() { e.Sim.Heal(id) }
}

func (h history) awaitClaimed(t *testing.T, n int) {
	t.Helper()
	NewWithT(t).Eventually(t.Context(), func() int { return len(h.claimsByInstance()) }).
		WithTimeout(patience).WithPolling(interval/25).Should(Equal(n), "instances claimed")
}

// claimsByInstance lists all claims that were ever written on each instance. A plain
// Linode has its NodeClaim's label from its creation on.
func (h history) claimsByInstance() map[int][]string {
	claims := map[int][]string{}
	if h.e.plain {
		for _, entry := range h.of(linodesim.InstanceCreated) {
			claims[entry.InstanceID] = append(claims[entry.InstanceID], entry.After)
		}
	}
	for _, entry := range h.of(linodesim.InstanceTagged) {
		for tag := range strings.SplitSeq(entry.After, ",") {
			if claim, is := strings.CutPrefix(tag, "karpenter.sh/nodeclaim="); is && !slices.Contains(claims[entry.InstanceID], claim) {
				claims[entry.InstanceID] = append(claims[entry.InstanceID], claim)
			}
		}
	}
	return claims
}

// exactly checks that n instances were made in all, one for each NodeClaim, that none
// was removed or ever handed to a second one, and that no NodeClaim was ever given two.
func (h history) exactly(t *testing.T, n int) {
	t.Helper()
	for _, entry := range h.of(linodesim.InstanceGone) {
		t.Errorf("instance %d was removed: %+v", entry.InstanceID, entry)
	}
	if got := h.e.oneToOne(t); got != n || h.made() != n {
		t.Errorf("%d NodeClaims and %d instances made, want %d of each", got, h.made(), n)
	}
	instanceOf := map[string]int{}
	for instance, claims := range h.claimsByInstance() {
		if len(claims) > 1 {
			t.Errorf("instance %d was handed to %v", instance, claims)
		}
		for _, claim := range claims {
			if first, twice := instanceOf[claim]; twice {
				t.Errorf("NodeClaim %s got the instances %d and %d", claim, first, instance)
			}
			instanceOf[claim] = instance
		}
	}
	if len(instanceOf) != n {
		t.Errorf("%d NodeClaims got an instance, want %d", len(instanceOf), n)
	}
}

// leaderAndOther waits until one replica leads and all answer.
func (e *environment) leaderAndOther(t *testing.T) (leader, other *localcluster.Operator) {
	t.Helper()
	ctx := t.Context()
	NewWithT(t).Eventually(ctx, func(g Gomega) {
		var err error
		leader, err = e.Leader(ctx)
		g.Expect(err).NotTo(HaveOccurred())
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	at := slices.IndexFunc(e.Operators, func(o *localcluster.Operator) bool { return o != leader })
	return leader, e.Operators[at]
}

// takesOver waits until a replica leads.
func (e *environment) takesOver(t *testing.T, replica *localcluster.Operator) {
	t.Helper()
	ctx := t.Context()
	NewWithT(t).Eventually(ctx, func(g Gomega) {
		leader, err := e.Leader(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(leader).To(BeIdenticalTo(replica))
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
}

// requests counts a replica's requests to the Linode API, by method and route.
func (e *environment) requests(t *testing.T, replica *localcluster.Operator) map[string]int {
	t.Helper()
	families, err := replica.Metrics(t.Context())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	counts := map[string]int{}
	for _, metric := range families["karpenter_linode_api_requests_total"].GetMetric() {
		labels := map[string]string{}
		for _, label := range metric.GetLabel() {
			labels[label.GetName()] = label.GetValue()
		}
		counts[labels["method"]+" "+labels["route"]] += int(metric.GetCounter().GetValue())
	}
	return counts
}

// reelected starts a replica again that has ended because it lost its Lease, as its Deployment would. On a busy machine a leader may lose
// its Lease without a fault of the test, and without a replica the suite would wait for ever.
func reelected(ctx context.Context, replica *localcluster.Operator) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for seen := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		pid := replica.PID()
		if pid == seen || replica.Running() {
			continue
		}
		seen = pid
		log, err := os.ReadFile(replica.LogPath())
		if err == nil && lostLease(string(log)) {
			_ = replica.Start(ctx) // the suite reports one that does not become ready
		}
	}
}

// lostLease reports whether a replica's log ends because it lost its Lease. Goroutines that stop may log a little more after the line with
// the reason.
func lostLease(log string) bool {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	return slices.ContainsFunc(lines[max(0, len(lines)-5):], func(line string) bool {
		reason, plain := strings.CutPrefix(line, "karpenter-linode: ")
		return plain && (strings.Contains(reason, "leader election lost") || strings.Contains(reason, "leadership lost"))
	})
}

func TestAReplicaThatLostItsLeaseIsKnown(t *testing.T) {
	const lost = "karpenter-linode: the controllers ended: leadership lost: the Lease is held by another replica\n"
	for log, want := range map[string]bool{
		"{}\n" + lost: true, lost + `{"message":"Stopping and waiting for caches"}`: true, "": false,
		lost + strings.Repeat("{}\n", 5): false, "karpenter-linode: LINODE_TOKEN is not set\n": false,
	} {
		if got := lostLease(log); got != want {
			t.Errorf("%q: %t", log, got)
		}
	}
}
