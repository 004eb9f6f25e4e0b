package allocator_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

const uidTag = "karpenter.k8s.linode/claim-uid="

// withoutUID takes the UID out of a claim, as claims of earlier versions are.
func withoutUID(t *testing.T, l *lab, node lkepool.Node) {
	t.Helper()
	tags := slices.DeleteFunc(slices.Clone(node.Tags), func(tag string) bool { return strings.HasPrefix(tag, uidTag) })
	if len(tags) == len(node.Tags) {
		t.Fatalf("%v has no UID", node.Tags)
	}
	if err := l.sim.EditInstanceTags(node.InstanceID, tags); err != nil {
		t.Fatal(err)
	}
}

// A claim by name alone, under another key, is not given to a claimant of that name
// that has a UID: it may be another's, who exists.
func TestClaimByNameAloneUnderAnotherKeyIsAConflict(t *testing.T) {
	victim, intruder := claims.Claimant{Name: "production", UID: "1"}, claims.Claimant{Name: "production", UID: "2"}
	for name, holder := range map[string]func(id int) func(int) (claims.Claimant, bool){
		"nothing on record": func(int) func(int) (claims.Claimant, bool) { return nil },
		"on record for its owner": func(id int) func(int) (claims.Claimant, bool) {
			return func(other int) (claims.Claimant, bool) { return victim, other == id }
		},
	} {
		t.Run(name, func(t *testing.T) {
			onBothTiers(t, linodesim.Config{}, func(t *testing.T, l *lab) {
				p := l.start(lkepool.Config{})
				node := claimFor(t, p, victim)
				p.kill()
				withoutUID(t, l, node)
				p = l.start(lkepool.Config{Records: claims.Holder(holder(node.InstanceID))})
				other := key
				other.NodePool = "intruders"
				got, err := p.Claim(within(t, time.Minute), lkepool.Request{Claimant: intruder, Key: other})
				if err == nil && got.InstanceID == node.InstanceID || err != nil && claims.KindOf(err) != claims.KindConflict {
					t.Errorf("got instance %d, %v", got.InstanceID, err)
				}
				if name == "nothing on record" && err == nil {
					t.Error("a claim whose owner is not known is no conflict")
				}
				if name != "nothing on record" {
					if err := p.Release(t.Context(), node.InstanceID, intruder); claims.KindOf(err) != claims.KindConflict {
						t.Errorf("release: %v", err)
					}
				}
				stillHas(t, l, victim, node)
				// Its own claimant claims under its own key, as always.
				if again, err := p.Claim(within(t, time.Minute), lkepool.Request{Claimant: victim, Key: key}); err != nil ||
					again.InstanceID != node.InstanceID {
					t.Errorf("%s had %d and got %d, %v", victim.Name, node.InstanceID, again.InstanceID, err)
				}
			})
		})
	}
}

// The caller's own records settle whose claim by name alone it is, also where a
// restart has changed the choice of type.
func TestClaimByNameAloneIsGivenBackToItsHolder(t *testing.T) {
	onBothTiers(t, linodesim.Config{}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		owner := claims.Claimant{Name: "owner", UID: "1"}
		node := claimFor(t, p, owner)
		p.kill()
		withoutUID(t, l, node)
		p = l.start(lkepool.Config{Records: claims.Holder(func(id int) (claims.Claimant, bool) { return owner, id == node.InstanceID })})
		other := key
		other.InstanceType = "g6-standard-4"
		got, err := p.Claim(within(t, time.Minute), lkepool.Request{Claimant: owner, Key: other})
		if err != nil || got.InstanceID != node.InstanceID {
			t.Errorf("had %d and got %d, %v", node.InstanceID, got.InstanceID, err)
		}
	})
}
