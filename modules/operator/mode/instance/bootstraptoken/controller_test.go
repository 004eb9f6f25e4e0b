package bootstraptoken

import (
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

func claim(change ...func(*karpv1.NodeClaim)) *karpv1.NodeClaim {
	c := &karpv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "default-a", UID: "uid-a"},
		Spec:       karpv1.NodeClaimSpec{NodeClassRef: &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind, Name: "default"}},
	}
	for _, f := range change {
		f(c)
	}
	return c
}

func registered(c *karpv1.NodeClaim) { c.StatusConditions().SetTrue(karpv1.ConditionTypeRegistered) }

func registeredLongAgo(c *karpv1.NodeClaim) {
	c.StatusConditions(status.WithClock(clocktesting.NewFakeClock(time.Now().Add(-time.Hour)))).SetTrue(karpv1.ConditionTypeRegistered)
}

func deleted(c *karpv1.NodeClaim) { c.DeletionTimestamp = &metav1.Time{Time: time.Now()} }

func foreign(c *karpv1.NodeClaim) { c.Spec.NodeClassRef.Kind = "EC2NodeClass" }

// A token is removed when its node no longer needs it. After a restart it is removed, too, if that moment was not long ago.
func TestTokenIsTakenBackOnce(t *testing.T) {
	create := func(c *karpv1.NodeClaim) func(queue) {
		return func(q queue) {
			events().Create(t.Context(), event.TypedCreateEvent[client.Object]{Object: c}, q)
		}
	}
	update := func(before, after *karpv1.NodeClaim) func(queue) {
		return func(q queue) {
			events().Update(t.Context(), event.TypedUpdateEvent[client.Object]{ObjectOld: before, ObjectNew: after}, q)
		}
	}
	remove := func(c *karpv1.NodeClaim) func(queue) {
		return func(q queue) {
			events().Delete(t.Context(), event.TypedDeleteEvent[client.Object]{Object: c}, q)
		}
	}
	for _, test := range []struct {
		name   string
		happen func(queue)
		want   int
	}{
		{"a new NodeClaim", create(claim()), 0},
		{"registered before the start", create(claim(registered)), 1},
		{"registered long before the start", create(claim(registeredLongAgo)), 0},
		{"it registers", update(claim(), claim(registered)), 1},
		{"it is registered and changes", update(claim(registered), claim(registered)), 0},
		{"it is being deleted", update(claim(), claim(deleted)), 1},
		{"it is gone", remove(claim()), 1},
		{"another provider's registers", update(claim(foreign), claim(foreign, registered)), 0},
		{"another provider's is gone", remove(claim(foreign)), 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[types.UID]())
			defer q.ShutDown()
			test.happen(q)
			if got := q.Len(); got != test.want {
				t.Errorf("%d tokens are taken back, expected %d", got, test.want)
			}
		})
	}
}
