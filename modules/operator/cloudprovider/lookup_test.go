package cloudprovider_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	core "sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/lke"
)

func claimed(id int, name string, change ...func(*lkepool.Node)) lkepool.Node {
	n := lkepool.Node{PoolID: 7, NodeID: fmt.Sprintf("7-%d", id), Node: claims.Node{InstanceID: id, InstanceType: "g6-standard-2",
		Region: "us-ord", Claim: claims.Tags{}.Value(name), Created: time.Unix(1700000000, 0), Tags: []string{"karpenter.sh/nodepool=default"}}}
	for _, f := range change {
		f(&n)
	}
	return n
}

func TestDelete(t *testing.T) {
	long := strings.Repeat("long-", 12) + "x7k2p"
	tests := []struct {
		name     string
		claim    string
		id       string
		nodes    []lkepool.Node
		released []int
		notFound bool
	}{
		{"by provider ID", "a", "linode://5", nil, []int{5}, false},
		{"no provider ID, an instance with its tag", "a", "", []lkepool.Node{claimed(5, "a"), claimed(6, "b")}, []int{5}, false},
		{"no provider ID, a shortened name", long, "", []lkepool.Node{claimed(5, long)}, []int{5}, false},
		{"no provider ID, a name that is part of another", "a", "", []lkepool.Node{claimed(5, "ab"), claimed(6, "ba")}, nil, true},
		{"no provider ID, two instances with its tag", "a", "", []lkepool.Node{claimed(5, "a"), claimed(6, "a")}, []int{5, 6}, false},
		{"no provider ID, nothing", "a", "", nil, nil, true},
		{"an ID of another provider", "a", "aws:///us-east-1a/i-0123", nil, nil, true},
		{"an ID of another provider, an instance with its tag", "a", "aws:///us-east-1a/i-0123", []lkepool.Node{claimed(5, "a")}, []int{5},
			false},
		{"an ID made to look like another's", "a", "linode://+5", []lkepool.Node{claimed(5, "victim")}, nil, true},
		{"an ID with zeros before it", "a", "linode://005", []lkepool.Node{claimed(5, "victim")}, nil, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pools := &scripted{t: t, list: func() ([]lkepool.Node, error) { return tt.nodes, nil }}
			claim := nodeClaim(func(c *karpv1.NodeClaim) { c.Name, c.Status.ProviderID = tt.claim, tt.id })
			err := provider(t, "standard", pools, readyClass()).Delete(t.Context(), claim)
			if core.IsNodeClaimNotFoundError(err) != tt.notFound || (err != nil) != tt.notFound {
				t.Errorf("got %v", err)
			}
			if !slices.Equal(pools.released, tt.released) {
				t.Errorf("released %v, want %v", pools.released, tt.released)
			}
		})
	}
}

func TestListAndGet(t *testing.T) {
	deleting := claimed(6, "b", func(n *lkepool.Node) { n.Health = claims.Deleting })
	unknownPlan := claimed(7, "c", func(n *lkepool.Node) { n.InstanceType = "g5-gone-1" })
	nodes := []lkepool.Node{claimed(5, "a"), deleting, unknownPlan}
	pools := &scripted{t: t,
		list: func() ([]lkepool.Node, error) { return nodes, nil },
		get:  func(int) (lkepool.Node, error) { return nodes[0], nil },
	}
	p := provider(t, "standard", pools, readyClass())
	list, err := p.List(t.Context())
	if err != nil || len(list) != 3 {
		t.Fatalf("got %d, %v", len(list), err)
	}
	for i, want := range []struct {
		id, name, plan string
		deleting       bool
	}{{"linode://5", "a", "g6-standard-2", false}, {"linode://6", "b", "g6-standard-2", true}, {"linode://7", "c", "g5-gone-1", false}} {
		got := list[i]
		if got.Status.ProviderID != want.id || got.Name != want.name || got.Labels[corev1.LabelInstanceTypeStable] != want.plan ||
			got.DeletionTimestamp.IsZero() == want.deleting || got.Labels[karpv1.NodePoolLabelKey] != "default" {
			t.Errorf("got %+v, want %+v", got.ObjectMeta, want)
		}
	}
	one, err := p.Get(t.Context(), "linode://5")
	if err != nil || one.Status.ProviderID != "linode://5" || one.Status.Capacity.Cpu().Value() != 2 {
		t.Errorf("got %+v, %v", one, err)
	}
}

// A node drifts when its pool's labels, taints, firewall or version differ from its NodeClaim and class,
// and when LKE recycled its instance or the instance is switched off. An answer without a value is no difference.
func TestDriftOfPoolsAndInstances(t *testing.T) {
	firewall := 99
	class := readyClass(func(c *v1alpha1.LinodeNodeClass) {
		c.Spec.FirewallID = &firewall
		c.Status.KubernetesVersion = "v1.33.6+lke7"
	})
	claim := nodeClaim(func(c *karpv1.NodeClaim) {
		c.Labels["team"] = "a"
		c.Status.ProviderID = "linode://5"
		c.Spec.Taints = []corev1.Taint{
			{Key: "dedicated", Value: "db", Effect: corev1.TaintEffectNoSchedule},
			{Key: "alone", Effect: corev1.TaintEffectNoExecute},
		}
		c.Annotations = map[string]string{
			v1alpha1.AnnotationHash: class.Hash(v1alpha1.ModeLKE), v1alpha1.AnnotationHashVersion: v1alpha1.HashVersion,
		}
	})
	made := func(change ...func(*lkepool.Node)) lkepool.Node {
		return claimed(5, claim.Name, append([]func(*lkepool.Node){func(n *lkepool.Node) {
			n.Labels = map[string]string{"team": "a"}
			n.Taints = []lkepool.Taint{{Key: "alone", Effect: "NoExecute"}, {Key: "dedicated", Value: "db", Effect: "NoSchedule"}}
			n.FirewallID, n.KubernetesVersion = 99, "v1.33.6+lke7"
		}}, change...)...)
	}
	annotated := func(key, value string) *karpv1.NodeClaim {
		changed := claim.DeepCopy()
		changed.Annotations[key] = value
		return changed
	}
	tests := []struct {
		name  string
		claim *karpv1.NodeClaim
		node  lkepool.Node
		want  core.DriftReason
	}{
		{"as made, taints in another order", claim, made(), ""},
		{"class changed", annotated(v1alpha1.AnnotationHash, "1"), made(), cloudprovider.DriftNodeClass},
		{"hash of another version", func() *karpv1.NodeClaim {
			changed := annotated(v1alpha1.AnnotationHash, "1")
			changed.Annotations[v1alpha1.AnnotationHashVersion] = "v0"
			return changed
		}(), made(), ""},
		{"labels", claim, made(func(n *lkepool.Node) { n.Labels = map[string]string{"team": "b"} }), lke.DriftPoolLabels},
		{"a label by hand", claim, made(func(n *lkepool.Node) { n.Labels["by"] = "hand" }), ""},
		{"a taint by hand", claim, made(func(n *lkepool.Node) {
			n.Taints = append(n.Taints, lkepool.Taint{Key: "by", Value: "hand", Effect: "NoSchedule"})
		}), ""},
		{"an answer without labels", claim, made(func(n *lkepool.Node) { n.Labels = nil }), ""},
		{"an answer without taints", claim, made(func(n *lkepool.Node) { n.Taints = nil }), ""},
		{"an answer without version", claim, made(func(n *lkepool.Node) { n.KubernetesVersion = "" }), ""},
		{"an answer without firewall", claim, made(func(n *lkepool.Node) { n.FirewallID = 0 }), ""},
		{"an instance whose pool is not known", claim, made(func(n *lkepool.Node) { n.PoolID, n.Template = 0, lkepool.Template{} }), ""},
		{"taints", claim, made(func(n *lkepool.Node) { n.Taints = n.Taints[:1] }), lke.DriftPoolTaints},
		{"the taint of a setting that is off now", claim, made(func(n *lkepool.Node) {
			n.Taints = append(n.Taints, lkepool.Taint{Key: karpv1.UnregisteredTaintKey, Effect: "NoExecute"})
		}), ""},
		{"firewall", claim, made(func(n *lkepool.Node) { n.FirewallID = 98 }), cloudprovider.DriftFirewall},
		{"version", claim, made(func(n *lkepool.Node) { n.KubernetesVersion = "v1.32.9+lke5" }), cloudprovider.DriftKubernetesVersion},
		{"recycled by LKE", claim, made(func(n *lkepool.Node) { n.Health = claims.Detached }), cloudprovider.DriftInstanceGone},
		{"switched off", claim, made(func(n *lkepool.Node) { n.Health = claims.Stopped }), cloudprovider.DriftInstanceStopped},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pools := &scripted{t: t,
				list: func() ([]lkepool.Node, error) { return []lkepool.Node{tt.node}, nil },
				get:  func(int) (lkepool.Node, error) { return tt.node, nil },
			}
			got, err := provider(t, "enterprise", pools, class, nodePool(map[string]string{"team": "a"})).IsDrifted(t.Context(), tt.claim)
			if err != nil || got != tt.want {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

// Drift does not cost one read for each node: 300 checks within a minute share one list, also a list that fails.
func TestDriftReadsOneListForAll(t *testing.T) {
	for name, fails := range map[string]error{"the API answers": nil, "the API is down": failing(claims.KindUnavailable, "")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var nodes []lkepool.Node
				for id := 1; id <= 300; id++ {
					nodes = append(nodes, claimed(id, fmt.Sprint("claim-", id)))
				}
				pools := &scripted{t: t, list: func() ([]lkepool.Node, error) {
					time.Sleep(time.Second) // virtual: all call while the list is being read
					return nodes, fails
				}}
				p := provider(t, "standard", pools, readyClass(), nodePool(nil))
				var group sync.WaitGroup
				for id := 1; id <= 300; id++ {
					group.Go(func() {
						claim := nodeClaim(func(c *karpv1.NodeClaim) { c.Status.ProviderID = fmt.Sprint("linode://", id) })
						if reason, err := p.IsDrifted(t.Context(), claim); reason != "" || !errors.Is(err, fails) {
							t.Errorf("%d: %q, %v", id, reason, err)
						}
					})
				}
				group.Wait()
				if pools.lists != 1 {
					t.Errorf("read %d lists, want 1", pools.lists)
				}
			})
		})
	}
}

// Core checks the drift of a new NodeClaim at every step it takes. A node that was claimed after the list was read is
// known from its claim, until a list that is younger does not have it.
func TestDriftOfANewNodeReadsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gets := 0
		pools := &scripted{t: t, claim: grant,
			list: func() ([]lkepool.Node, error) { return nil, nil },
			get: func(int) (lkepool.Node, error) {
				gets++
				return lkepool.Node{}, failing(claims.KindNotFound, "")
			}}
		p := provider(t, "standard", pools, readyClass(), nodePool(nil))
		if _, err := p.List(t.Context()); err != nil {
			t.Fatal(err)
		}
		claim := nodeClaim()
		created, err := p.Create(t.Context(), claim)
		if err != nil {
			t.Fatal(err)
		}
		claim.Status.ProviderID = created.Status.ProviderID
		for range 5 {
			if reason, err := p.IsDrifted(t.Context(), claim); reason != "" || err != nil {
				t.Errorf("%q, %v", reason, err)
			}
		}
		if pools.lists != 1 || gets != 0 {
			t.Errorf("%d lists and %d single nodes were read, want the first list alone", pools.lists, gets)
		}
		time.Sleep(2 * time.Minute)
		if _, err := p.IsDrifted(t.Context(), claim); !core.IsNodeClaimNotFoundError(err) || pools.lists != 2 || gets != 1 {
			t.Errorf("a node that a younger list lacks: %v, after %d lists and %d single reads", err, pools.lists, gets)
		}
	})
}

// Who reads the list for all leaves: the others are not told that it cannot be read.
func TestTheReaderOfTheListLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pools := &leavable{scripted{t: t, list: func() ([]lkepool.Node, error) { return []lkepool.Node{claimed(5, "a")}, nil }}}
		p := provider(t, "standard", pools, readyClass(), nodePool(nil))
		claim := nodeClaim(func(c *karpv1.NodeClaim) { c.Status.ProviderID = "linode://5" })
		leaving, leave := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := p.IsDrifted(leaving, claim); !errors.Is(err, context.Canceled) {
				t.Errorf("who left got %v", err)
			}
		})
		synctest.Wait()
		group.Go(func() {
			if _, err := p.IsDrifted(t.Context(), claim); err != nil {
				t.Errorf("who stayed got %v", err)
			}
		})
		synctest.Wait()
		leave()
		group.Wait()
	})
}

// leavable waits a second before it lists, or until the context ends.
type leavable struct{ scripted }

func (l *leavable) List(ctx context.Context) ([]lkepool.Node, error) {
	select {
	case <-time.After(time.Second):
		return l.scripted.List(ctx)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func TestDriftOfAnInstanceThatIsGone(t *testing.T) {
	pools := &scripted{t: t,
		list: func() ([]lkepool.Node, error) { return nil, nil },
		get:  func(int) (lkepool.Node, error) { return lkepool.Node{}, failing(claims.KindNotFound, "") },
	}
	claim := nodeClaim(func(c *karpv1.NodeClaim) { c.Status.ProviderID = "linode://5" })
	_, err := provider(t, "standard", pools, readyClass(), nodePool(nil)).IsDrifted(t.Context(), claim)
	if !core.IsNodeClaimNotFoundError(err) {
		t.Errorf("got %v", err)
	}
}
