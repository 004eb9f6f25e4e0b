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

// kubernetesName are the characters of a Kubernetes object name.
const kubernetesName = "abcdefghijklmnopqrstuvwxyz0123456789-."

// The claim value of a name that is longer than a tag is no object's name, so no
// object can be given a name that owns it.
func TestShortenedNameIsNoObjectName(t *testing.T) {
	for n := 1; n <= 253; n++ {
		name := strings.Repeat("production-frontend-pool-", 11)[:n]
		value := (claims.Tags{}).Value(name)
		valid := strings.Trim(value, kubernetesName) == ""
		if valid != (value == name) {
			t.Errorf("a name of %d characters has claim value %q", n, value)
		}
		if n > 27 && !slices.Contains([]byte(value), '_') {
			t.Errorf("claim value %q has no character that names cannot have", value)
		}
	}
}

// An object that is named like the shortened name of another one gets a node of
// its own, and the victim's is not released for it.
func TestNameLikeAShortenedNameGetsItsOwnNode(t *testing.T) {
	onBothTiers(t, linodesim.Config{}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		victim := claims.Claimant{Name: "production-frontend-pool-x7k2p", UID: "1"}
		node := claimFor(t, p, victim)
		for _, name := range []string{(claims.Tags{}).Value(victim.Name), strings.ReplaceAll((claims.Tags{}).Value(victim.Name), "_", "-")} {
			attacker := claims.Claimant{Name: name, UID: "2"}
			if got := claimFor(t, p, attacker); got.InstanceID == node.InstanceID {
				t.Errorf("%s was given %d of %s", name, got.InstanceID, victim.Name)
			}
			if err := p.Release(t.Context(), node.InstanceID, attacker); claims.KindOf(err) != claims.KindConflict {
				t.Errorf("%s released %d: %v", name, node.InstanceID, err)
			}
		}
		stillHas(t, l, victim, node)
	})
}

// A claim is given back to the claimant that has its UID, not to one that has
// its name later, whether this process or an earlier one wrote it.
func TestClaimOfAnotherUIDIsNotGivenBack(t *testing.T) {
	onBothTiers(t, linodesim.Config{}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		first := claims.Claimant{Name: "default-x7k2p", UID: "1"}
		node := claimFor(t, p, first)
		second := first
		second.UID = "2"
		if got := claimFor(t, p, second); got.InstanceID == node.InstanceID {
			t.Errorf("%d was given to another UID", got.InstanceID)
		}
		p.kill()
		p = l.start(lkepool.Config{})
		third := first
		third.UID = "3"
		if got := claimFor(t, p, third); got.InstanceID == node.InstanceID {
			t.Errorf("%d was given to another UID by another process", got.InstanceID)
		}
		if got := claimFor(t, p, first); got.InstanceID != node.InstanceID {
			t.Errorf("%s had %d and got %d", first.Name, node.InstanceID, got.InstanceID)
		}
		stillHas(t, l, first, node)
	})
}

// Release and SetTags refuse a claimant that is not the one of the claim, and
// one that is, by its name alone, when the UID is another's.
func TestReleaseAndSetTagsRefuseAnotherClaimant(t *testing.T) {
	owner := claims.Claimant{Name: "owner", UID: "1"}
	for name, intruder := range map[string]claims.Claimant{
		"another name":                  {Name: "intruder", UID: "2"},
		"another name with its UID":     {Name: "intruder", UID: "1"},
		"its name with another UID":     {Name: "owner", UID: "2"},
		"a prefix of its name":          {Name: "own", UID: "1"},
		"its name and more":             {Name: "owner-2", UID: "1"},
		"a UID and no name":             {UID: "1"},
		"another name and no UID":       {Name: "intruder"},
		"the hash of its UID as a name": {Name: "6b86b273ff34fce1"},
	} {
		t.Run(name, func(t *testing.T) {
			onBothTiers(t, linodesim.Config{}, func(t *testing.T, l *lab) {
				p := l.start(lkepool.Config{})
				node := claimFor(t, p, owner)
				for range 2 {
					if err := p.Release(t.Context(), node.InstanceID, intruder); claims.KindOf(err) != claims.KindConflict {
						t.Errorf("release: %v", err)
					}
					if err := p.SetTags(t.Context(), node.InstanceID, intruder, nil, []string{"team=b"}); claims.KindOf(err) != claims.KindConflict {
						t.Errorf("set tags: %v", err)
					}
					time.Sleep(time.Minute)
					p = l.start(lkepool.Config{}) // nor does a process that has seen nothing
				}
				stillHas(t, l, owner, node)
			})
		})
	}
}

// An instance that carries the claim of one claimant and is on record for
// another is handed to neither a third one nor released for it.
func TestInstanceOnRecordIsNotHandedOut(t *testing.T) {
	onBothTiers(t, linodesim.Config{}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		owner := claims.Claimant{Name: "owner", UID: "1"}
		node := claimFor(t, p, owner)
		p.kill()
		bare := slices.DeleteFunc(slices.Clone(node.Tags), func(tag string) bool { return strings.HasPrefix(tag, claimTag) })
		if err := l.sim.EditInstanceTags(node.InstanceID, bare); err != nil {
			t.Fatal(err)
		}
		p = l.start(lkepool.Config{Records: claims.Holder(func(id int) (claims.Claimant, bool) { return owner, id == node.InstanceID })})
		if got := claimFor(t, p, claims.Claimant{Name: "late", UID: "2"}); got.InstanceID == node.InstanceID {
			t.Errorf("%d is %s's on record, and was handed out", got.InstanceID, owner.Name)
		}
		time.Sleep(10 * time.Minute)
		if collected, err := p.Collect(t.Context(), claims.Sweep{Alive: aliveOf("late")}); err != nil || len(collected.Removed) != 0 {
			t.Errorf("collected %+v, %v", collected, err)
		}
		stillHas(t, l, owner, node) // the claim was written again
	})
}

func claimFor(t *testing.T, p *process, who claims.Claimant) lkepool.Node {
	t.Helper()
	node, err := p.Claim(within(t, time.Minute), lkepool.Request{Claimant: who, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	return node
}

// stillHas checks that the node exists with the claimant's claim and no
// intruder's tag.
func stillHas(t *testing.T, l *lab, who claims.Claimant, node lkepool.Node) {
	t.Helper()
	for _, instance := range l.instances() {
		if instance.ID == node.InstanceID {
			if claimIn(instance.Tags) != (claims.Tags{}).Value(who.Name) || slices.Contains(instance.Tags, "team=b") {
				t.Errorf("%d has %v", instance.ID, instance.Tags)
			}
			return
		}
	}
	t.Errorf("%d of %s is gone", node.InstanceID, who.Name)
}
