package instances_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/linodeapi"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

const disksRoute = "/linode/instances/{linodeId}/disks"

// late answers one request with 504 and carries it out after a while.
func late(method, route string, after time.Duration) linodesim.Rule {
	return linodesim.Rule{Method: method, Route: route, Times: 1, View: linodesim.View{Late: after}}
}

func notFound() linodesim.Answer {
	return linodesim.Answer{Status: http.StatusNotFound, Reason: "Not found"}
}

// most returns the highest number of the cluster's instances in a time.
func (l *lab) most(during time.Duration) int {
	most := 0
	for end := time.Now().Add(during); time.Now().Before(end); time.Sleep(time.Second) {
		most = max(most, len(l.ours()))
	}
	return most
}

// Three creations are answered 504 and land 45 s later; the claimants of two of them
// do not come back.
func TestCreationsWithoutAnAnswerCountForTheCeiling(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
		p := l.start(instances.Config{Ceilings: claims.Ceilings{MaxNodes: 3}})
		p.Begin(claims.Ended)
		time.Sleep(2*time.Minute + 10*time.Second)
		for range 3 {
			l.sim.Fail(late("POST", instancesRoute, 45*time.Second))
		}
		burst(t, 3, func(n int) { _, _ = p.Create(within(t, 500*time.Millisecond), spec(fmt.Sprintf("a-%d", n), "1")) })
		go burst(t, 5, func(n int) { _, _ = p.Create(within(t, time.Minute), spec(fmt.Sprintf("b-%d", n), "1")) })
		if most := l.most(8 * time.Minute); most > 3 {
			t.Errorf("%d instances, with 3 allowed", most)
		}
	})
}

// The process before made three, and lists are 33 s old.
func TestANewLeaderCountsWhatListsDoNotShowYet(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
		first := l.start(instances.Config{})
		l.sim.Fail(linodesim.Rule{Kind: linodesim.Lists, View: linodesim.View{Stale: 33 * time.Second}})
		time.Sleep(time.Minute)
		for n := range 3 {
			first.create(t, spec(fmt.Sprintf("a-%d", n), "1"))
		}
		first.kill()
		next := l.start(instances.Config{Ceilings: claims.Ceilings{MaxNodes: 3}})
		ctx := within(t, 10*time.Minute)
		_, err := next.Create(ctx, spec("b", "1"))
		wantKind(t, err, claims.KindQuotaExceeded)
		if len(l.ours()) != 3 {
			t.Errorf("%d instances, with 3 allowed", len(l.ours()))
		}
	})
}

// For half a minute all direct reads answer 404, and lists are right.
func TestAGroupOfWrong404sProvesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
		p := l.start(instances.Config{})
		i := p.create(t, spec("a", "1"))
		time.Sleep(5 * time.Minute)
		rule := l.sim.Fail(linodesim.Rule{Method: "GET", Route: instanceRoute, Answer: notFound()})
		time.AfterFunc(30*time.Second, func() { l.sim.Heal(rule) })
		if got, err := p.Get(t.Context(), i.InstanceID); err != nil || got.InstanceID != i.InstanceID {
			t.Errorf("get: %+v, %v", got, err)
		}
		rule = l.sim.Fail(linodesim.Rule{Method: "GET", Route: instanceRoute, Answer: notFound()})
		time.AfterFunc(30*time.Second, func() { l.sim.Heal(rule) })
		if again := p.create(t, spec("a", "1")); again.InstanceID != i.InstanceID || l.created() != 1 {
			t.Errorf("got %d, first %d, %d made", again.InstanceID, i.InstanceID, l.created())
		}
	})
}

// A read waits 15 s for a 429, inside the client, and is answered 404; another one
// follows at once.
func TestA404CountsFromItsAnswerNotFromItsFirstAttempt(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
		p := l.start(instances.Config{})
		i := p.create(t, spec("a", "1"))
		time.Sleep(5 * time.Minute)
		l.sim.Fail(linodesim.Rule{Method: "GET", Route: instanceRoute, Times: 1,
			Answer: linodesim.Answer{Status: http.StatusTooManyRequests, RetryAfter: 15 * time.Second}})
		l.sim.Fail(linodesim.Rule{Method: "GET", Route: instanceRoute, Times: 2, Answer: notFound()})
		before := l.sent("GET")
		if got, err := p.Get(t.Context(), i.InstanceID); err != nil || got.InstanceID != i.InstanceID {
			t.Errorf("%+v, %v", got, err)
		}
		if n := l.sent("GET") - before; n < 4 {
			t.Errorf("%d reads", n)
		}
	})
}

// The request of the first disk lands 20 s after its 504, when nothing else is under way.
func TestADiskThatIsMadeLateIsMadeOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Realistic()})
		p := l.start(instances.Config{})
		l.sim.Fail(late("POST", disksRoute, 20*time.Second))
		i := p.createAgain(t, withDisks(), 6*time.Minute)
		time.Sleep(time.Minute)
		l.checkBuilt(i.InstanceID)
	})
}

// createAgain calls until it gets the instance, as a controller does.
func (p *process) createAgain(t *testing.T, s instances.Spec, most time.Duration) instances.Instance {
	t.Helper()
	for end := time.Now().Add(most); ; time.Sleep(2 * time.Second) {
		i, err := p.Create(within(t, 30*time.Second), s)
		if err == nil {
			return i
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// A person removes tags before the disks are made: all of them, or the mark alone.
func TestAnInstanceWithoutItsMarkIsFinishedAllTheSame(t *testing.T) {
	for name, left := range map[string][]string{
		"no tags": nil, "all but the mark": {clusterTag, "karpenter.sh/nodeclaim=a"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				l := newLab(t, linodesim.Config{Profile: linodesim.Realistic()})
				p := l.start(instances.Config{})
				_, err := p.Create(within(t, 10*time.Second), withDisks())
				wantKind(t, err, claims.KindProvisioning)
				if err := l.sim.EditInstanceTags(l.ours()[0].ID, left); err != nil {
					t.Fatal(err)
				}
				i := p.createAgain(t, withDisks(), 10*time.Minute)
				l.checkBuilt(i.InstanceID)
			})
		})
	}
}

func TestTagsThatLandLateUndoNoLaterOnes(t *testing.T) {
	for name, restarted := range map[string]bool{"one process": false, "the process before": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
				p := l.start(instances.Config{})
				s := spec("a", "1")
				i := p.create(t, s)
				time.Sleep(time.Minute)
				l.sim.Fail(late("PUT", instanceRoute, 45*time.Second))
				err := p.SetTags(t.Context(), i.InstanceID, s.Claimant, nil, []string{"first-tag"})
				wantKind(t, err, claims.KindUnavailable)
				if restarted {
					p.kill()
					p = l.start(instances.Config{})
				}
				for _, tag := range []string{"second-tag", "third-tag"} {
					for p.SetTags(within(t, 20*time.Second), i.InstanceID, s.Claimant, nil, []string{tag}) != nil {
						time.Sleep(time.Second)
					}
				}
				time.Sleep(3 * time.Minute)
				for _, tag := range []string{"second-tag", "third-tag", clusterTag} {
					if tags := l.ours()[0].Tags; !slices.Contains(tags, tag) {
						t.Errorf("%s is missing in %v", tag, tags)
					}
				}
			})
		})
	}
}

// The removal of an instance that was not finished is answered 504 and lands late: the
// claimant gets another one.
func TestAnInstanceWhoseRemovalMayLandIsNotReturned(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
		boots := l.sim.Fail(linodesim.Rule{Method: "POST", Route: "/linode/instances/{linodeId}/boot", Answer: linodesim.Answer{Status: 500}})
		p := l.start(instances.Config{FinishTimeout: time.Minute})
		deletes := l.sim.Fail(linodesim.Rule{Method: "DELETE", View: linodesim.View{Late: 50 * time.Second}})
		for l.sim.Hits(deletes) == 0 {
			_, _ = p.Create(within(t, 20*time.Second), withDisks())
			time.Sleep(2 * time.Second)
		}
		first := l.ours()[0].ID
		if err := l.sim.EditInstanceTags(first, []string{clusterTag, "karpenter.sh/nodeclaim=a"}); err != nil { // a person removes the mark
			t.Fatal(err)
		}
		l.sim.Heal(boots)
		l.sim.Heal(deletes)
		i := p.createAgain(t, withDisks(), 10*time.Minute)
		if i.InstanceID == first {
			t.Error("the instance whose removal was sent is returned")
		}
		time.Sleep(3 * time.Minute)
		l.checkBuilt(i.InstanceID)
	})
}

// slowToEnd answers a list that is cancelled a second later.
type slowToEnd struct{ instances.Backend }

func (s slowToEnd) Tagged(ctx context.Context, tag string) ([]instances.Instance, error) {
	all, err := s.Backend.Tagged(ctx, tag)
	if ctx.Err() != nil {
		time.Sleep(time.Second)
	}
	return all, err
}

// The only caller leaves while a list is read, and another one comes before that has
// ended.
func TestAListThatEndedWithItsCallerAnswersNoOther(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
		client, err := linode.New(linode.Config{Token: linode.StaticToken(linodesim.DefaultToken), Transport: l.sim.Transport()})
		if err != nil {
			t.Fatal(err)
		}
		backend, err := linodeapi.New(client)
		if err != nil {
			t.Fatal(err)
		}
		manager, err := instances.New(slowToEnd{backend}, instances.Config{Cluster: "demo", Records: &claims.RecordMap{}})
		if err != nil {
			t.Fatal(err)
		}
		rule := l.sim.Fail(linodesim.Rule{Kind: linodesim.Lists, Hang: true})
		if _, err := manager.List(within(t, time.Second)); err == nil {
			t.Fatal("the list does not hang")
		}
		l.sim.Heal(rule)
		if _, err := manager.List(within(t, time.Minute)); err != nil {
			t.Errorf("the other caller gets %v", err)
		}
	})
}

// 64 requests hang, and a removal waits behind them: its reading is too old by then.
func TestAWriteThatWaitedIsDecidedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
		p := l.start(instances.Config{})
		i := p.create(t, spec("a", "1"))
		time.Sleep(time.Minute)
		read := l.sim.Fail(linodesim.Rule{Method: "GET", Route: instanceRoute, Nth: 1, Delay: time.Second})
		hang := l.sim.Fail(linodesim.Rule{Method: "GET", Route: instanceRoute, Hang: true,
			Match: func(r *http.Request) bool { return !strings.HasSuffix(r.URL.Path, fmt.Sprint("/", i.InstanceID)) }})
		done := make(chan error, 1)
		go func() { done <- p.Delete(t.Context(), i.InstanceID, spec("a", "1").Claimant) }()
		for l.sim.Hits(read) == 0 {
			time.Sleep(10 * time.Millisecond)
		}
		go burst(t, 70, func(n int) { _, _ = p.Get(within(t, 40*time.Second), 5000+n) })
		before := l.sent("DELETE")
		time.Sleep(20 * time.Second)
		if n := l.sent("DELETE") - before; n != 0 {
			t.Fatalf("%d removals had a slot", n)
		}
		if err := l.sim.EditInstanceTags(i.InstanceID, []string{clusterTag, "karpenter.sh/nodeclaim=b"}); err != nil {
			t.Fatal(err)
		}
		l.sim.Heal(hang)
		wantKind(t, <-done, claims.KindConflict)
		if len(l.ours()) != 1 {
			t.Error("it was removed on a reading of 20 s before")
		}
	})
}
