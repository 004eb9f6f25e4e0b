package clusterapi

import (
	"testing"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi"
)

// A kubelet chooses the provider ID of its Node, and Cluster API then takes that Node for the Machine's: the name decides.
func TestANodeIsTheMachinesOnlyUnderTheNameOfItsLinodeMachine(t *testing.T) {
	victim := clusterapi.Machine{Name: "general-b", NodeName: "linode-b", ProviderID: "linode://2",
		Claim: claims.Claimant{Name: "b", UID: "u"}}
	o := newObjects(t, of("general", "g6-standard-2"))
	o.world.Machines = []clusterapi.Machine{victim}
	for name, b := range map[string]*Backend{
		"from memory": {engine: &machines{}, view: seen(t, o)},
		"read for it": {engine: &machines{world: o.world}, view: seen(t, newObjects(t, of("general", "g6-standard-2")))},
	} {
		claim := &karpv1.NodeClaim{}
		claim.Status.ProviderID = victim.ProviderID
		for node, want := range map[string]bool{"linode-b": true, "linode-a": false, "general-b": false, "": false} {
			if own, wanted, err := b.Naming(t.Context(), claim, node); own != want || wanted != "linode-b" || err != nil {
				t.Errorf("%s: Node %q is its own: %v, %q, %v", name, node, own, wanted, err)
			}
		}
		claim.Status.ProviderID = "linode://9"
		if own, _, err := b.Naming(t.Context(), claim, "linode-a"); own || err == nil {
			t.Errorf("%s: a Node of an unknown Linode is registered: %v", name, err)
		}
	}
	if got := victim.Node().Name; got != "linode-b" {
		t.Errorf("the node of the Machine is named %s", got)
	}
}
