package cloudprovider_test

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	core "sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// An instance that another NodeClaim's status names is not launched a second time, whatever the engine returns: the launch is a Conflict,
// which core repeats and reports, and the NodeClaim gets no provider ID.
func TestAnInstanceOfAnotherNodeClaimIsAConflict(t *testing.T) {
	claim := numbered(1)
	for name, test := range map[string]struct {
		holder  claims.Claimant
		known   bool
		refused bool
	}{
		"another NodeClaim has it":                   {claims.Claimant{Name: "victim", UID: "9"}, true, true},
		"an earlier NodeClaim of the same name":      {claims.Claimant{Name: claim.Name, UID: "9"}, true, true},
		"the NodeClaim itself, after a lost answer":  {nodeclaim.Claimant(claim), true, false},
		"no NodeClaim has it, as after every launch": {claims.Claimant{}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(readyClass(), nodePool(nil)).Build()
			p := cloudprovider.New(kube, over(&scripted{t: t, claim: grant}), market(t), cloudprovider.Config{
				Region: "us-ord", Holder: func(int) (claims.Claimant, bool) { return test.holder, test.known },
			})
			created, err := p.Create(t.Context(), claim)
			if !test.refused {
				if err != nil || created.Status.ProviderID != "linode://4711" {
					t.Errorf("got %v, %v", created, err)
				}
				return
			}
			var createErr *core.CreateError
			if !errors.As(err, &createErr) || createErr.ConditionReason != "Conflict" || !strings.Contains(createErr.ConditionMessage, "4711") ||
				created != nil {
				t.Errorf("got %v, %v", created, err)
			}
		})
	}
}

// A NodeClaim without provider ID ends although an instance carries its name, if that instance is another's: it is not released.
func TestTheEndOfANodeClaimLeavesANamesakesInstance(t *testing.T) {
	claim := numbered(1)
	p := provider(t, "standard", &scripted{
		t: t, list: func() ([]lkepool.Node, error) {
			return []lkepool.Node{{Node: claims.Node{InstanceID: 7, Claim: claims.Tags{}.Value(claim.Name)}}}, nil
		},
		release: func(int) error { return failing(claims.KindConflict, "") },
	}, readyClass(), nodePool(nil))
	if err := p.Delete(t.Context(), claim); !core.IsNodeClaimNotFoundError(err) {
		t.Errorf("got %v", err)
	}
}
