// Package nodeclass keeps LinodeNodeClasses up to date: their status, their hash annotations, their finalizer.
//
// It guarantees that a class in use stays until its last NodeClaim is gone, that the status follows the spec
// and, on an interval, the Linode API, that a hash of an older version is replaced on the class and on its
// NodeClaims without a node being replaced, and that there is one event per change of readiness, none per
// reconcile. What makes a class ready is decided by package status of module nodeclass; Karpenter core keeps
// NodePools whose class is not ready from making nodes.
//
// The Linode API is not read at every event: what is read comes through Config.Cluster and Config.Lookup,
// which remember answers. Registered by cmd/controller; it runs on the leader only.
package nodeclass

import (
	"context"
	"fmt"
	"time"

	"github.com/awslabs/operatorpkg/reasonable"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	controllerruntime "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/injection"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// Config configures a Controller.
type Config struct {
	// Cluster returns what is known of the cluster now. Required. It must not read the Linode API every time.
	Cluster func(context.Context) status.Cluster
	// Lookup reads what a class names; nil skips these checks. It must not read the Linode API every time.
	Lookup status.Lookup
	// Interval between checks of a class that does not change; 0 = 5 min.
	Interval time.Duration
}

// A check that the Linode API did not answer is repeated after this time.
const retryInterval = 30 * time.Second

// Controller reconciles LinodeNodeClasses.
type Controller struct {
	kube     client.Client
	recorder events.Recorder
	cfg      Config
}

// NewController returns a Controller. The cache behind kube must have core's index on the NodeClass reference of
// NodeClaims.
func NewController(kube client.Client, recorder events.Recorder, cfg Config) *Controller {
	if cfg.Interval <= 0 {
		cfg.Interval = 5 * time.Minute
	}
	return &Controller{kube: kube, recorder: recorder, cfg: cfg}
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "linodenodeclass" }

// Reconcile brings one class up to date.
func (c *Controller) Reconcile(ctx context.Context, nodeClass *v1alpha1.LinodeNodeClass) (reconcile.Result, error) {
	ctx = injection.WithControllerName(ctx, c.Name())
	if !nodeClass.DeletionTimestamp.IsZero() {
		return c.finalize(ctx, nodeClass)
	}
	if err := c.annotate(ctx, nodeClass); err != nil {
		return ignoreRaces(err)
	}
	evaluated := status.Evaluate(ctx, nodeClass, c.cfg.Cluster(ctx), c.cfg.Lookup)
	before := nodeClass.DeepCopy()
	if status.Apply(nodeClass, evaluated) {
		// The lock refuses a write over a newer list of conditions.
		if err := c.kube.Status().Patch(ctx, nodeClass, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			return ignoreRaces(err)
		}
		c.publishReadiness(before, nodeClass)
	}
	if evaluated.Err != nil {
		// What could not be found out is in the conditions; core's backoff would ask the API more often.
		return reconcile.Result{RequeueAfter: retryInterval}, nil //nolint:nilerr // see above
	}
	return reconcile.Result{RequeueAfter: c.cfg.Interval}, nil
}

// annotate sets the finalizer and the hash.
func (c *Controller) annotate(ctx context.Context, nodeClass *v1alpha1.LinodeNodeClass) error {
	if version := nodeClass.Annotations[v1alpha1.AnnotationHashVersion]; version != "" && version != v1alpha1.HashVersion {
		// NodeClaims first: were the class's version changed and the process killed, nobody would come back.
		if err := c.migrateNodeClaims(ctx, nodeClass); err != nil {
			return err
		}
	}
	stored := nodeClass.DeepCopy()
	controllerutil.AddFinalizer(nodeClass, v1alpha1.Finalizer)
	if nodeClass.Annotations == nil {
		nodeClass.Annotations = map[string]string{}
	}
	nodeClass.Annotations[v1alpha1.AnnotationHash] = nodeClass.Hash(v1alpha1.ModeLKE)
	nodeClass.Annotations[v1alpha1.AnnotationHashVersion] = v1alpha1.HashVersion
	if equality.Semantic.DeepEqual(stored, nodeClass) {
		return nil
	}
	// A merge patch replaces the list of finalizers; the lock refuses it when somebody else has changed it.
	return c.kube.Patch(ctx, nodeClass, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{}))
}

// migrateNodeClaims gives the class's NodeClaims the hash of the present version. A hash of another version cannot
// be compared, so the node counts as up to date, except where it has been found drifted already: then the old
// hash, which will differ, stays.
func (c *Controller) migrateNodeClaims(ctx context.Context, nodeClass *v1alpha1.LinodeNodeClass) error {
	nodeClaims, err := c.nodeClaims(ctx, nodeClass)
	if err != nil {
		return err
	}
	for i := range nodeClaims {
		nodeClaim := &nodeClaims[i]
		if nodeClaim.Annotations[v1alpha1.AnnotationHashVersion] == v1alpha1.HashVersion {
			continue
		}
		stored := nodeClaim.DeepCopy()
		if nodeClaim.Annotations == nil {
			nodeClaim.Annotations = map[string]string{}
		}
		nodeClaim.Annotations[v1alpha1.AnnotationHashVersion] = v1alpha1.HashVersion
		if nodeClaim.StatusConditions().Get(karpv1.ConditionTypeDrifted) == nil {
			nodeClaim.Annotations[v1alpha1.AnnotationHash] = nodeClass.Hash(v1alpha1.ModeLKE)
		}
		if err := c.kube.Patch(ctx, nodeClaim, client.MergeFrom(stored)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("updating the hash of NodeClaim %s: %w", nodeClaim.Name, err)
		}
	}
	return nil
}

// finalize keeps the class until no NodeClaim uses it.
func (c *Controller) finalize(ctx context.Context, nodeClass *v1alpha1.LinodeNodeClass) (reconcile.Result, error) {
	if !controllerutil.ContainsFinalizer(nodeClass, v1alpha1.Finalizer) {
		return reconcile.Result{}, nil
	}
	nodeClaims, err := c.nodeClaims(ctx, nodeClass)
	if err != nil {
		return reconcile.Result{}, err
	}
	if len(nodeClaims) > 0 {
		c.publishWaiting(nodeClass, nodeClaims)
		return reconcile.Result{RequeueAfter: c.cfg.Interval}, nil // the deletion of a NodeClaim comes back at once
	}
	stored := nodeClass.DeepCopy()
	controllerutil.RemoveFinalizer(nodeClass, v1alpha1.Finalizer)
	err = c.kube.Patch(ctx, nodeClass, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{}))
	return ignoreRaces(err)
}

func (c *Controller) nodeClaims(ctx context.Context, nodeClass *v1alpha1.LinodeNodeClass) ([]karpv1.NodeClaim, error) {
	list := &karpv1.NodeClaimList{}
	if err := c.kube.List(ctx, list, client.MatchingFields{
		"spec.nodeClassRef.group": v1alpha1.Group,
		"spec.nodeClassRef.kind":  v1alpha1.Kind,
		"spec.nodeClassRef.name":  nodeClass.Name,
	}); err != nil {
		return nil, fmt.Errorf("listing the NodeClaims of LinodeNodeClass %s: %w", nodeClass.Name, err)
	}
	return list.Items, nil
}

// ignoreRaces: an object that has gone needs nothing; one that somebody else has changed is looked at again.
func ignoreRaces(err error) (reconcile.Result, error) {
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: time.Second}, nil
	}
	return reconcile.Result{}, client.IgnoreNotFound(err)
}

// Register adds the controller to a manager.
func (c *Controller) Register(_ context.Context, m manager.Manager) error {
	return controllerruntime.NewControllerManagedBy(m).
		Named(c.Name()).
		For(&v1alpha1.LinodeNodeClass{}, builder.WithPredicates(
			// Own writes of the status are no reason to look again.
			predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Watches(&karpv1.NodeClaim{}, classOfNodeClaim(), builder.WithPredicates(deletions())).
		WithOptions(controller.Options{RateLimiter: reasonable.RateLimiter(), MaxConcurrentReconciles: 10}).
		Complete(reconcile.AsReconciler(m.GetClient(), c))
}
