package upkeep_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/linodeapi"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/upkeep"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// In instance mode, too, a tag of the class that a user takes off comes back, with the next list that cannot lag.
func TestTagsOfAPlainLinodeThatWereTakenOffComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, err := linodesim.New(linodesim.Config{ValidateAnswers: true, Profile: linodesim.Instant()})
		if err != nil {
			t.Fatal(err)
		}
		api, err := linode.New(linode.Config{Token: linode.StaticToken(linodesim.DefaultToken), Transport: sim.Transport()})
		if err != nil {
			t.Fatal(err)
		}
		platform, err := linodeapi.New(api)
		if err != nil {
			t.Fatal(err)
		}
		manager, err := instances.New(platform, instances.Config{Records: &claims.RecordMap{}, Cluster: "own", ClusterUID: "cluster-uid"})
		if err != nil {
			t.Fatal(err)
		}
		manager.Begin(claims.Ended)
		class := &v1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "plain"}}
		class.Spec.Tags = []string{"team=a", "cost=1"}
		class.StatusConditionsFor(v1alpha1.ModeInstance).SetTrue(v1alpha1.ConditionValidationSucceeded)
		claim := &karpv1.NodeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: "plain-1", UID: "uid-1",
				Annotations: map[string]string{v1alpha1.AnnotationLastAppliedUserTags: `["cost=1","team=a"]`}},
			Spec: karpv1.NodeClaimSpec{NodeClassRef: &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind, Name: class.Name}},
		}
		made, err := manager.Create(t.Context(), instances.Spec{
			Claimant: nodeclaim.Claimant(claim), InstanceType: "g6-nanode-1", Region: "us-ord", Image: "linode/debian12",
			Tags: class.Spec.Tags,
		})
		if err != nil {
			t.Fatal(err)
		}
		claim.Status.ProviderID = nodeclaim.ProviderID(made.InstanceID)
		backend, listed := instance.NewBackend(instance.Config{Engine: manager}), inventory{}
		c := upkeep.NewController(fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(class, claim).Build(), backend, listed, nil)

		time.Sleep(time.Hour)
		left := slices.DeleteFunc(slices.Clone(made.Tags), func(tag string) bool { return tag == "team=a" })
		if err := sim.EditInstanceTags(made.InstanceID, append(left, "by=user")); err != nil {
			t.Fatal(err)
		}
		nodes, err := backend.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		listed[made.InstanceID] = nodes[0].Tags
		if result, err := c.Reconcile(t.Context(), claim); err != nil || result.RequeueAfter == 0 {
			t.Errorf("%+v, %v", result, err)
		}
		for _, tag := range append(made.Tags, "by=user") {
			if is := sim.Snapshot().Instances[0].Tags; !slices.Contains(is, tag) {
				t.Errorf("%s is not among the tags %q", tag, is)
			}
		}
	})
}
