package nodeclaim_test

import (
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// recorded is a NodeClaim whose status names an instance, 0 for none.
func recorded(name string, instanceID int) *karpv1.NodeClaim {
	nodeClaim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-of-" + name)}}
	if instanceID != 0 {
		nodeClaim.Status.ProviderID = nodeclaim.ProviderID(instanceID)
	}
	return nodeClaim
}

// stored is a store of NodeClaims with core's index.
func stored(nodeClaims ...client.Object) client.Client {
	return fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(nodeClaims...).
		WithIndex(&karpv1.NodeClaim{}, "status.providerID", func(o client.Object) []string {
			return []string{o.(*karpv1.NodeClaim).Status.ProviderID} //nolint:forcetypeassert // of the index
		}).Build()
}

// The leader before recorded a's instance right before it was killed, and this replica's cache does not have that yet.
func TestRecordsAreCompleteWhenAReplicaBeginsToLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var holders nodeclaim.Holders
		holders.Use(stored(recorded("a", 0), recorded("b", 2)))
		if _, held := holders.Holder(1); held {
			t.Error("the cache has it: this shows nothing")
		}
		server := stored(recorded("a", 1), recorded("b", 2), recorded("waits", 0), recorded("c", 3), recorded("d", 3))
		if err := holders.Read(t.Context(), server); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[int]string{1: "a", 2: "b", 3: "", 4: ""} {
			who, held := holders.Holder(id)
			if held != (want != "") || who.Name != want || held && who.UID != "uid-of-"+want {
				t.Errorf("instance %d: %+v, %t; want %q", id, who, held, want)
			}
		}
		time.Sleep(2 * time.Minute) // the cache cannot lack it any more, so a is gone
		if who, held := holders.Holder(1); held {
			t.Errorf("instance 1 is still %s's", who.Name)
		}
	})
}

func TestTheCacheOutranksTheFirstList(t *testing.T) {
	var holders nodeclaim.Holders
	holders.Use(stored(recorded("later", 1)))
	if err := holders.Read(t.Context(), stored(recorded("earlier", 1))); err != nil {
		t.Fatal(err)
	}
	if who, _ := holders.Holder(1); who != (claims.Claimant{Name: "later", UID: "uid-of-later"}) {
		t.Errorf("instance 1 is %+v's", who)
	}
}
