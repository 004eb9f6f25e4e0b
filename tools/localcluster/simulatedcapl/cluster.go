package simulatedcapl

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// clusters sets LinodeClusters that have an endpoint to ready.
type clusters struct{ kube client.Client }

func (r *clusters) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	c := object(infrastructure, "LinodeCluster")
	if err := r.kube.Get(ctx, request.NamespacedName, c); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	cluster, err := owner(ctx, r.kube, c, "Cluster")
	if err != nil || cluster == nil || text(c, "spec", "controlPlaneEndpoint", "host") == "" {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	before := c.DeepCopy()
	_ = unstructured.SetNestedField(c.Object, true, "status", "ready")
	setCondition(c, metav1.Condition{Type: readyCondition, Status: metav1.ConditionTrue, Reason: "LoadBalancerReady"})
	if equality.Semantic.DeepEqual(before, c) {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{}, client.IgnoreNotFound(r.kube.Status().Patch(ctx, c, client.MergeFrom(before)))
}
