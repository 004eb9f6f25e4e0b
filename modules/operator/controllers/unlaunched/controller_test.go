package unlaunched_test

import (
	"context"
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	_ "github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1" // NodeClaims in the scheme
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/unlaunched"
)

type names []string

func (n *names) ReleaseClaimOf(_ context.Context, name string) error {
	*n = append(*n, name)
	return nil
}

func TestTheInstanceOfANodeClaimThatIsGoneGoesAtOnce(t *testing.T) {
	exists := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "made-again"}}
	kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(exists).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, next client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			if key.Name == "unreadable" {
				return errors.New("the API server is away")
			}
			return next.Get(ctx, key, o, options...)
		},
	}).Build()
	released := &names{}
	c := unlaunched.NewController(kube, released)
	for name, fails := range map[string]bool{"gone": false, "made-again": false, "unreadable": true} {
		if _, err := c.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}); (err != nil) != fails {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(*released) != 1 || (*released)[0] != "gone" {
		t.Errorf("released %v", *released)
	}
}
