package lke_test

import (
	"context"
	"errors"
	"testing"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	engine "github.com/karpenter-linode/karpenter-linode/modules/lkepool/lke"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/lke"
)

// labels are Linodes by ID.
type labels struct {
	lke.Pools
	names map[int]string
	reads int
}

func (l *labels) Get(_ context.Context, id int) (lkepool.Node, error) {
	l.reads++
	name, known := l.names[id]
	if !known {
		return lkepool.Node{}, errors.New("the API does not answer")
	}
	return lkepool.Node{Node: claims.Node{InstanceID: id, Name: name}}, nil
}

func (l *labels) List(context.Context) (all []lkepool.Node, err error) {
	for id, name := range l.names {
		all = append(all, lkepool.Node{Node: claims.Node{InstanceID: id, Name: name}})
	}
	return all, nil
}

// A kubelet chooses the provider ID of its Node. But the Node's name is the name of the kubelet's own Linode.
func TestANodeIsTheNodeClaimsOnlyUnderTheLabelOfItsLinode(t *testing.T) {
	for tier, want := range map[string]map[string]bool{
		engine.Standard: {"lke1-1-b": true, "lke1-1-a": false, "by-another-rule": false},
		// How the Enterprise tier names nodes is not known: only the name of another Linode proves something.
		engine.Enterprise: {"lke1-1-b": true, "lke1-1-a": false, "by-another-rule": true},
	} {
		pools := &labels{names: map[int]string{1: "lke1-1-a", 2: "lke1-1-b"}}
		cluster := lke.Cluster{}
		cluster.Tier = tier
		inventory := cloudprovider.NewInventory()
		b := lke.NewBackend(lke.Config{Cluster: cluster, Pools: pools, Inventory: inventory})
		claim := &karpv1.NodeClaim{}
		claim.Status.ProviderID = "linode://2"
		if own, name, err := b.Naming(t.Context(), claim, "lke1-1-b"); !own || name != "lke1-1-b" || err != nil || pools.reads != 1 {
			t.Errorf("%s: its own Node before anything was read: %v, %q, %v, %d reads", tier, own, name, err, pools.reads)
		}
		all, err := b.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, node := range all {
			inventory.Note(node)
		}
		for node, want := range want {
			if own, name, err := b.Naming(t.Context(), claim, node); own != want || name != "lke1-1-b" || err != nil {
				t.Errorf("%s: Node %s is its own: %v, %q, %v", tier, node, own, name, err)
			}
		}
		if pools.reads != 1 {
			t.Errorf("%s: %d reads", tier, pools.reads)
		}
		claim.Status.ProviderID = "linode://9"
		if own, _, err := b.Naming(t.Context(), claim, "lke1-1-a"); own || err == nil {
			t.Errorf("%s: while the API does not answer: %v, %v", tier, own, err)
		}
	}
}
