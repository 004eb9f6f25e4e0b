package instances_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

func TestOneWrong404ProvesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
		p := l.start(instances.Config{})
		i := p.create(t, spec("a", "1"))
		time.Sleep(time.Minute)
		l.sim.Fail(linodesim.Rule{Method: "GET", Route: instanceRoute, Answer: linodesim.Answer{Status: 404, Reason: "Not found"}, Times: 1})
		if got, err := p.Get(t.Context(), i.InstanceID); err != nil || got.InstanceID != i.InstanceID {
			t.Errorf("%+v, %v", got, err)
		}
		l.sim.Fail(linodesim.Rule{Method: "GET", Route: instanceRoute, Answer: linodesim.Answer{Status: 404, Reason: "Not found"}, Times: 1})
		if again := p.create(t, spec("a", "1")); again.InstanceID != i.InstanceID || l.created() != 1 {
			t.Errorf("got %d, first %d", again.InstanceID, i.InstanceID)
		}
		l.sim.Fail(linodesim.Rule{Method: "GET", Route: instanceRoute, Answer: linodesim.Answer{Status: 404, Reason: "Not found"}, Times: 1})
		l.sim.Fail(linodesim.Rule{Method: "DELETE", Route: instanceRoute, Answer: linodesim.Answer{Status: 404, Reason: "Not found"}, Times: 1})
		if err := p.Delete(t.Context(), i.InstanceID, spec("a", "1").Claimant); err != nil || len(l.ours()) != 0 {
			t.Errorf("delete: %v, %d there", err, len(l.ours()))
		}
	})
}

func TestWhatIsGoneIsProvenAndMadeAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
		p := l.start(instances.Config{})
		i := p.create(t, spec("a", "1"))
		time.Sleep(10 * time.Second)
		if err := l.sim.DeleteInstance(i.InstanceID); err != nil {
			t.Fatal(err)
		}
		_, err := p.Get(within(t, time.Second), i.InstanceID)
		wantKind(t, err, claims.KindUnavailable)
		_, err = p.Get(t.Context(), i.InstanceID)
		wantKind(t, err, claims.KindNotFound)
		wantKind(t, p.Delete(t.Context(), i.InstanceID, claims.Claimant{}), claims.KindNotFound)
		if again := p.create(t, spec("a", "1")); again.InstanceID == i.InstanceID {
			t.Error("the instance that is gone was returned")
		}
	})
}

func TestWhatIsNotOursIsLeftAlone(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
		p := l.start(instances.Config{OrphanTTL: time.Second})
		for _, id := range l.foreign {
			_, err := p.Get(t.Context(), id)
			wantKind(t, err, claims.KindConflict)
			wantKind(t, p.Delete(t.Context(), id, claims.Claimant{}), claims.KindConflict)
			wantKind(t, p.SetTags(t.Context(), id, claims.Claimant{}, nil, []string{"mine"}), claims.KindConflict)
		}
		for range 3 {
			collected, err := p.Collect(t.Context(), nothingAlive())
			if err != nil || len(collected.Removed) != 0 {
				t.Errorf("collected %v, %v", collected, err)
			}
			if len(collected.Unclaimed) != 1 || collected.Unclaimed[0].Name != "cluster-alone" {
				t.Errorf("reported as unclaimed: %+v", collected.Unclaimed)
			}
			time.Sleep(time.Minute)
		}
		if list, err := p.List(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("list %v, %v", list, err)
		}
	})
}

// Two clusters of one name share the account: their UIDs distinguish them.
func TestClustersOfOneNameAreToldApartByUID(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
		one := l.start(instances.Config{ClusterUID: "one", OrphanTTL: time.Second})
		two := l.start(instances.Config{ClusterUID: "two", OrphanTTL: time.Second})
		i := one.create(t, spec("a", "1"))
		for range 2 {
			if collected, err := two.Collect(t.Context(), nothingAlive()); err != nil || len(collected.Removed) != 0 {
				t.Errorf("%v, %v", collected, err)
			}
			time.Sleep(time.Minute)
		}
		_, err := two.Get(t.Context(), i.InstanceID)
		wantKind(t, err, claims.KindConflict)
		_, err = two.Create(within(t, time.Minute), spec("a", "1"))
		wantKind(t, err, claims.KindConflict)
	})
}

func TestTagsOfAnotherClaimantAreAConflict(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
		p := l.start(instances.Config{})
		i := p.create(t, spec("a", "1"))
		time.Sleep(10 * time.Second)
		if _, err := p.Get(t.Context(), i.InstanceID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if err := l.sim.EditInstanceTags(i.InstanceID, []string{clusterTag, "karpenter.sh/nodeclaim=b"}); err != nil {
			t.Fatal(err)
		}
		wantKind(t, p.Delete(t.Context(), i.InstanceID, claims.Claimant{Name: "a", UID: "1"}), claims.KindConflict)
		wantKind(t, p.Delete(t.Context(), i.InstanceID, claims.Claimant{Name: "b"}), claims.KindConflict)
		if len(l.ours()) != 1 {
			t.Error("removed")
		}
	})
}

func TestSetTagsKeepsTheClaim(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
		p := l.start(instances.Config{})
		s := spec("a", "1")
		s.Tags = []string{"old-tag", "kept-tag"}
		i := p.create(t, s)
		for range 2 {
			if err := p.SetTags(t.Context(), i.InstanceID, s.Claimant, []string{"old-tag"}, []string{"new-tag"}); err != nil {
				t.Fatal(err)
			}
		}
		tags := l.ours()[0].Tags
		for _, tag := range []string{clusterTag, "karpenter.sh/nodeclaim=a", "kept-tag", "new-tag"} {
			if !slices.Contains(tags, tag) {
				t.Errorf("%s is missing in %v", tag, tags)
			}
		}
		if slices.Contains(tags, "old-tag") || l.sent("PUT") != 1 {
			t.Errorf("tags %v, %d PUTs", tags, l.sent("PUT"))
		}
		wantKind(t, p.SetTags(t.Context(), i.InstanceID, s.Claimant, []string{clusterTag}, nil), claims.KindInvalid)
		wantKind(t, p.SetTags(t.Context(), i.InstanceID, claims.Claimant{Name: "b"}, nil, []string{"more"}), claims.KindConflict)
	})
}

func TestARemovalWithoutEffectIsSentAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
		p := l.start(instances.Config{})
		i := p.create(t, spec("a", "1"))
		l.sim.Fail(linodesim.Rule{Method: "DELETE", Route: instanceRoute, View: linodesim.View{NoEffect: true}, Times: 1})
		by := spec("a", "1").Claimant
		for began := time.Now(); len(l.ours()) > 0; time.Sleep(5 * time.Second) {
			if err := p.Delete(t.Context(), i.InstanceID, by); err != nil {
				t.Fatal(err)
			}
			if time.Since(began) > 90*time.Second {
				t.Fatal("it is still there")
			}
		}
		if n := l.sent("DELETE"); n != 2 {
			t.Errorf("%d DELETEs, want 2", n)
		}
	})
}

func TestAListThatLacksAnInstanceHidesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
		p := l.start(instances.Config{})
		for n := range 5 {
			p.create(t, spec(fmt.Sprintf("a-%d", n), "1"))
		}
		time.Sleep(5 * time.Minute)
		l.sim.Fail(linodesim.Rule{Method: "GET", Route: instancesRoute, View: linodesim.View{Missing: 3}})
		for range 3 {
			if list, err := p.List(t.Context()); err != nil || len(list) != 5 {
				t.Errorf("%d listed, %v", len(list), err)
			}
			time.Sleep(3 * time.Minute)
		}
	})
}

// A hundred claimants, all faults of the hostile profile, callers that come back, a process that dies in the middle: at the end each
// claimant has one instance.
func TestAHostilePlatformGivesEachClaimantOneInstance(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Hostile(), Seed: 7})
		p := l.start(instances.Config{})
		const n = 40
		deadline := time.Now().Add(time.Minute / 2)
		burst(t, n, func(n int) {
			for {
				_, err := p.Create(within(t, 10*time.Second), spec(fmt.Sprintf("a-%d", n), "1"))
				if err == nil || time.Now().After(deadline) {
					return
				}
				time.Sleep(2 * time.Second)
			}
		})
		p.kill()
		next := l.start(instances.Config{})
		burst(t, n, func(n int) {
			for {
				if _, err := next.Create(within(t, 30*time.Second), spec(fmt.Sprintf("a-%d", n), "1")); err == nil {
					return
				}
				time.Sleep(2 * time.Second)
			}
		})
		if l.created() != n || len(l.ours()) != n {
			t.Errorf("%d made, %d there", l.created(), len(l.ours()))
		}
	})
}
