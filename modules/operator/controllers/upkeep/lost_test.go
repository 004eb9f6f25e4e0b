package upkeep_test

import (
	"slices"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/allocator"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/upkeep"
)

// inventory is the last list of a process.
type inventory map[int][]string

func (i inventory) Tags(id int) ([]string, bool) {
	tags, known := i[id]
	return tags, known
}

// list does what core's sweep does on its interval.
func (i inventory) list(t *testing.T, pools *allocator.Allocator) {
	t.Helper()
	nodes, err := pools.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes {
		i[node.InstanceID] = node.Tags
	}
}

// A tag of the class that a user takes off comes back with the next list, whether one is taken off or all are, on both tiers. Nothing
// is called while nothing is missing, and what keeps disappearing costs requests once in a while.
func TestTagsOfTheClassThatWereTakenOffComeBack(t *testing.T) {
	for _, tier := range []string{linodesim.Standard, linodesim.Enterprise} {
		for name, kept := range map[string]func(string) bool{
			"one": func(tag string) bool { return tag != "team=a" },
			"all": func(string) bool { return false },
		} {
			t.Run(tier+" "+name, func(t *testing.T) {
				w := newWorld(t, tier, "team=a", "cost=1")
				w.applied(t, `["cost=1","team=a"]`)
				pools, listed := w.pools(t), inventory{}
				c := upkeep.NewController(kube, pools, listed, nil)
				steps := func(what string, requests int) {
					t.Helper()
					before := w.calls("")
					for range 5 {
						if pause, err := w.reconcile(t, c); err != nil || pause == 0 {
							t.Fatalf("%s: again after %s, %v", what, pause, err)
						}
					}
					if n := w.calls("") - before; n > requests {
						t.Errorf("%s: %d requests, expected at most %d", what, n, requests)
					}
				}
				steps("nothing is listed yet", 0)
				listed.list(t, pools)
				steps("nothing is missing", 0)

				strip := func() {
					t.Helper()
					left := slices.DeleteFunc(w.tags(), func(tag string) bool { return !kept(tag) })
					if err := w.sim.EditInstanceTags(w.node.InstanceID, append(left, "by=user")); err != nil {
						t.Fatal(err)
					}
				}
				strip()
				listed.list(t, pools)
				steps("a tag is missing", 3)
				for _, tag := range []string{"team=a", "cost=1", "by=user", "karpenter.sh/nodeclaim=" + w.claim.Name} {
					if !slices.Contains(w.tags(), tag) {
						t.Errorf("%s is not among the tags %q", tag, w.tags())
					}
				}
				if note := w.claim.Annotations[v1alpha1.AnnotationLastAppliedUserTags]; note != `["cost=1","team=a"]` {
					t.Errorf("the annotation is %s", note)
				}
				strip()
				listed[w.node.InstanceID] = w.tags()
				steps("it is missing again at once", 0)
			})
		}
	}
}
