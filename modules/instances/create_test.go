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
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

func TestOneRequestMakesAnInstanceThatIsItsClaimants(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Realistic()})
		p := l.start(instances.Config{})
		want := spec("default-x7k2p", "5f6c")
		want.Tags, want.Kernel = []string{"team-a"}, "linode/grub2"
		i := p.create(t, want)
		if i.Name != "demo-default-x7k2p" || i.Claim != "default-x7k2p" || i.InstanceType != want.InstanceType || i.Region != "us-ord" {
			t.Errorf("instance %+v", i)
		}
		for _, tag := range []string{clusterTag, "karpenter.sh/nodeclaim=default-x7k2p", "team-a"} {
			if !slices.Contains(i.Tags, tag) {
				t.Errorf("tag %s is missing in %v", tag, i.Tags)
			}
		}
		if l.sent("POST") != 1 || l.sent("") != 2 {
			t.Errorf("requests %v, want one list and one POST", l.requests)
		}
		again := p.create(t, want)
		if again.InstanceID != i.InstanceID || l.created() != 1 {
			t.Errorf("called again: %d, first %d, %d made", again.InstanceID, i.InstanceID, l.created())
		}
		if err := p.Delete(t.Context(), i.InstanceID, want.Claimant); err != nil {
			t.Fatal(err)
		}
		wantKind(t, p.Delete(t.Context(), i.InstanceID, want.Claimant), claims.KindNotFound)
	})
}

func TestLostAnswerIsResolvedByItsLabel(t *testing.T) {
	for name, rule := range map[string]linodesim.Rule{
		"after the effect":  {Method: "POST", Route: instancesRoute, Times: 1, Drop: true, AfterEffect: true},
		"before the effect": {Method: "POST", Route: instancesRoute, Times: 1, Drop: true},
		"a 503 after it":    {Method: "POST", Route: instancesRoute, Times: 1, Answer: linodesim.Answer{Status: 503}, AfterEffect: true},
		"no answer":         {Method: "POST", Route: instancesRoute, Times: 1, Hang: true, AfterEffect: true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				l := newLab(t, linodesim.Config{Profile: linodesim.Realistic()})
				l.sim.Fail(rule)
				p := l.start(instances.Config{})
				i := p.create(t, spec("a", "1"))
				if l.created() != 1 || len(l.ours()) != 1 || l.ours()[0].ID != i.InstanceID {
					t.Errorf("%d made, there are %v, returned %d", l.created(), l.ours(), i.InstanceID)
				}
			})
		})
	}
}

// The list does not show the instance for two minutes; the API refuses its label.
func TestLaggingListsCostTimeAndNoSecondInstance(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Realistic()})
		first := l.start(instances.Config{})
		l.sim.Fail(linodesim.Rule{Kind: linodesim.Lists, View: linodesim.View{Stale: 110 * time.Second}})
		i := first.create(t, spec("a", "1"))
		first.kill()
		second := l.start(instances.Config{})
		began := time.Now()
		again := second.create(t, spec("a", "1"))
		if again.InstanceID != i.InstanceID || l.created() != 1 {
			t.Errorf("the next process got %d, the first %d; %d made", again.InstanceID, i.InstanceID, l.created())
		}
		if took := time.Since(began); took > 150*time.Second {
			t.Errorf("took %s", took)
		}
		list, err := second.List(t.Context())
		if err != nil || len(list) != 1 {
			t.Errorf("list %v, %v", list, err)
		}
	})
}

func TestALabelOfAStrangerIsAConflict(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
		id, err := l.sim.AddInstance(linodesim.InstanceSpec{Label: "demo-a", Type: "g6-nanode-1"})
		if err != nil {
			t.Fatal(err)
		}
		l.foreign = append(l.foreign, id)
		p := l.start(instances.Config{})
		for range 3 {
			_, err = p.Create(within(t, time.Minute), spec("a", "1"))
			wantKind(t, err, claims.KindConflict)
			if !strings.Contains(fmt.Sprint(err), fmt.Sprint(id)) || !strings.Contains(fmt.Sprint(err), "demo-a") {
				t.Errorf("the error does not name Linode and label: %v", err)
			}
		}
		if n := l.sent("POST"); n != 1 || l.sent("") != 4 {
			t.Errorf("requests %v for a label that is known to be taken, want two lists, one POST and one read", l.requests)
		}
		if err := l.sim.DeleteInstance(id); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second) // for which the answer is repeated without a request
		p.create(t, spec("a", "1"))
	})
}

func TestALaterClaimantOfTheNameWaitsForTheFirstOnesEnd(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
		p := l.start(instances.Config{})
		i := p.create(t, spec("a", "1"))
		_, err := p.Create(within(t, time.Minute), spec("a", "2"))
		wantKind(t, err, claims.KindConflict)
		wantKind(t, p.Delete(t.Context(), i.InstanceID, claims.Claimant{Name: "a", UID: "2"}), claims.KindConflict)
		if len(l.ours()) != 1 {
			t.Fatal("the first claimant's instance was removed")
		}
		if err := p.Delete(t.Context(), i.InstanceID, claims.Claimant{Name: "a", UID: "1"}); err != nil {
			t.Fatal(err)
		}
		if again := p.create(t, spec("a", "2")); again.InstanceID == i.InstanceID {
			t.Error("the removed instance was returned")
		}
	})
}

// A person renames the Linode, and the process ends: the tags show whose it is.
func TestARenamedInstanceIsFoundByItsTags(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
		p := l.start(instances.Config{})
		i := p.create(t, spec("a", "1"))
		l.rename(i.InstanceID, "another-name")
		if again := p.create(t, spec("a", "1")); again.InstanceID != i.InstanceID {
			t.Error("the same process made another")
		}
		p.kill()
		if again := l.start(instances.Config{}).create(t, spec("a", "1")); again.InstanceID != i.InstanceID || l.created() != 1 {
			t.Error("the next process made another")
		}
	})
}

func (l *lab) rename(id int, label string) {
	l.t.Helper()
	request, err := http.NewRequest(http.MethodPut, fmt.Sprintf("https://api.linode.com/v4beta/linode/instances/%d", id),
		strings.NewReader(`{"label":"`+label+`"}`))
	if err != nil {
		l.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+linodesim.DefaultToken)
	request.Header.Set("Content-Type", "application/json")
	answer, err := l.sim.Transport().RoundTrip(request)
	if err != nil || answer.StatusCode != http.StatusOK {
		l.t.Fatalf("rename: %v %v", answer, err)
	}
	_ = answer.Body.Close()
}

func TestACallEndsWithItsContext(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
		l.sim.Fail(linodesim.Rule{Hang: true})
		p := l.start(instances.Config{})
		began := time.Now()
		for _, call := range []func(context.Context) error{
			func(ctx context.Context) error { _, err := p.Create(ctx, spec("a", "1")); return err },
			func(ctx context.Context) error { _, err := p.List(ctx); return err },
			func(ctx context.Context) error { _, err := p.Get(ctx, 5); return err },
			func(ctx context.Context) error { return p.Delete(ctx, 5, claims.Claimant{}) },
		} {
			if err := call(within(t, 3*time.Second)); err == nil {
				t.Error("no error")
			}
		}
		if took := time.Since(began); took > 12*time.Second {
			t.Errorf("took %s", took)
		}
	})
}

// Another program on the same account sets its own tags. Both programs make an instance for a claimant of the same name, and a sweep of
// one program removes no instance of the other.
func TestKeysOfTagsSeparatePrograms(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
		operator := l.start(instances.Config{OrphanTTL: time.Second})
		keys := claims.Tags{ClaimKey: "build.example/job", Domain: "build.example.engine"}
		farm := l.start(instances.Config{LabelPrefix: "farm", Tags: keys})
		first, second := operator.create(t, spec("a", "1")), farm.create(t, spec("a", "1"))
		if first.InstanceID == second.InstanceID || second.Claim != "a" {
			t.Fatalf("got %+v and %+v", first, second)
		}
		want := []string{"build.example.engine/cluster=demo", "build.example/job=a", keys.UIDTag(keys.ID(spec("a", "1").Claimant))}
		if !slices.Equal(second.Tags, want) {
			t.Errorf("tags %q, want %q", second.Tags, want)
		}
		var removed []int
		for range 2 { // the first one records that the claimant is gone
			collected, err := operator.Collect(t.Context(), claims.Sweep{
				Alive: func(context.Context) ([]claims.Claimant, error) { return nil, nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, node := range collected.Removed {
				removed = append(removed, node.InstanceID)
			}
			time.Sleep(time.Minute)
		}
		if !slices.Equal(removed, []int{first.InstanceID}) {
			t.Errorf("the operator removed %v, want %d", removed, first.InstanceID)
		}
		if list, err := farm.List(t.Context()); err != nil || len(list) != 1 || list[0].InstanceID != second.InstanceID {
			t.Errorf("the other program has %+v, %v", list, err)
		}
	})
}
