// Package nodeclass keeps LinodeNodeClasses up to date: their status, their hash annotations, their finalizer.
//
// Guarantees:
//
//   - A class in use stays until its last NodeClaim is gone, and its event names the NodeClaims for which it waits.
//   - The status follows the spec and, on an interval, the Linode API. A class that is not ready is checked again after 30 seconds,
//     and then with growing pauses up to Config.Interval, 5 minutes.
//   - A hash of an older version is replaced on the class and on its NodeClaims. No node drifts because of this, even if the process is
//     killed between two of the writes.
//   - Each change of the class's status publishes one event. A reconcile without a change publishes no event, and neither does a restart,
//     because the stored status shows which facts were reported. An event is lost if the process is killed after the write of the status
//     and before the event.
//
// Package status of module nodeclass decides whether a class is ready, by the mode of the cluster. Karpenter core makes no nodes for
// NodePools whose class is not ready. Package cmd/controller registers it; it runs on the leader only.
//
// The Lookup reads the objects that a class names. Its answers are at most four minutes old (mode.AnswerTTL), and for a class that is not
// Ready at most 20 seconds old (Lookup.Young). It remembers a missing object and an error for 20 seconds. Reconciles that need the same
// object at the same time share one request.
//
// An annotation of the class has its present and past tags, 200 at most, the newest last. If another client has changed the class since the
// read, the next reconcile repeats the write.
package nodeclass

import (
	"context"
	"fmt"
	"time"

	operatorstatus "github.com/awslabs/operatorpkg/status"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"
	nodeclaimutils "sigs.k8s.io/karpenter/pkg/utils/nodeclaim"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// Config configures a Controller.
type Config struct {
	// Cluster returns the known facts about the cluster. Required. It must not read the Linode API every time.
	Cluster func(context.Context) status.Cluster
	// Lookup reads the objects that a class names; nil skips these checks. It must not read the Linode API every time.
	Lookup status.Lookup
	// Recheck is Lookup with younger answers, for a class that is not ready: the object for which it waits may exist by now. nil = Lookup.
	Recheck status.Lookup
	// Reader reads NodeClaims from the API server and not from a cache, before a class may go: a NodeClaim that the cache does not have
	// yet may use the class. Required.
	Reader client.Reader
	// Interval between checks of a class that does not change; 0 = 5 min.
	Interval time.Duration
}

// retryInterval is the first pause of a class that is not ready, or whose check failed with an error of the Linode API.
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
	if cfg.Recheck == nil {
		cfg.Recheck = cfg.Lookup
	}
	return &Controller{kube: kube, recorder: recorder, cfg: cfg}
}

// Reconcile brings one class up to date.
func (c *Controller) Reconcile(ctx context.Context, nodeClass *v1alpha1.LinodeNodeClass) (reconcile.Result, error) {
	if !nodeClass.DeletionTimestamp.IsZero() {
		return c.finalize(ctx, nodeClass)
	}
	cluster := c.cfg.Cluster(ctx)
	if err := c.annotate(ctx, nodeClass, cluster.Mode); err != nil {
		return controllers.Requeue(err)
	}
	evaluated := status.Evaluate(ctx, nodeClass, cluster, c.lookup(nodeClass))
	before := nodeClass.DeepCopy()
	if status.Apply(nodeClass, evaluated) {
		if err := c.kube.Status().Patch(ctx, nodeClass, controllers.Lock(before)); err != nil {
			return controllers.Requeue(err)
		}
		c.publish(before, nodeClass)
	}
	// The conditions show failed checks. No error is returned, because the backoff after an error would send more requests.
	return reconcile.Result{RequeueAfter: c.pause(nodeClass, evaluated)}, nil
}

func (c *Controller) lookup(nodeClass *v1alpha1.LinodeNodeClass) status.Lookup {
	if nodeClass.StatusConditions(operatorstatus.WithObservedOnly()).Get(operatorstatus.ConditionReady).IsFalse() {
		return c.cfg.Recheck
	}
	return c.cfg.Lookup
}

// pause returns the time until the next check of a class. A user corrects a class that is not ready within minutes or within days. So the
// pause is as long as the class has not been ready, between 30 seconds and Config.Interval.
func (c *Controller) pause(nodeClass *v1alpha1.LinodeNodeClass, evaluated status.Result) time.Duration {
	if evaluated.Ready() && evaluated.Err == nil {
		return c.cfg.Interval
	}
	notReadyFor := time.Since(nodeClass.StatusConditions().Root().LastTransitionTime.Time)
	return min(max(retryInterval, notReadyFor), c.cfg.Interval)
}

// annotate sets the finalizer and the hash.
func (c *Controller) annotate(ctx context.Context, nodeClass *v1alpha1.LinodeNodeClass, mode v1alpha1.Mode) error {
	hash := nodeClass.Hash(mode)
	// The NodeClaims get the present version before the class: while the versions differ, no NodeClaim counts as drifted.
	if err := c.migrateNodeClaims(ctx, nodeClass, hash); err != nil {
		return err
	}
	stored := nodeClass.DeepCopy()
	controllerutil.AddFinalizer(nodeClass, v1alpha1.Finalizer)
	metav1.SetMetaDataAnnotation(&nodeClass.ObjectMeta, v1alpha1.AnnotationHash, hash)
	metav1.SetMetaDataAnnotation(&nodeClass.ObjectMeta, v1alpha1.AnnotationHashVersion, v1alpha1.HashVersion)
	RecordHistory(nodeClass)
	if equality.Semantic.DeepEqual(stored, nodeClass) {
		return nil
	}
	return c.kube.Patch(ctx, nodeClass, controllers.Lock(stored))
}

// migrateNodeClaims gives the class's NodeClaims the hash of the present version. It does so at every reconcile, because a replica of an
// older release may finish a launch late. A hash of another version cannot be compared, so the node counts as up to date and gets the
// class's hash. A NodeClaim with the condition Drifted keeps its old hash, which differs from the class's hash, so it stays drifted.
func (c *Controller) migrateNodeClaims(ctx context.Context, nodeClass *v1alpha1.LinodeNodeClass, hash string) error {
	nodeClaims, err := c.nodeClaims(ctx, nodeClass)
	if err != nil {
		return err
	}
	for i := range nodeClaims {
		if upToDate(&nodeClaims[i]) {
			continue
		}
		stored, nodeClaim := &nodeClaims[i], nodeClaims[i].DeepCopy()
		metav1.SetMetaDataAnnotation(&nodeClaim.ObjectMeta, v1alpha1.AnnotationHashVersion, v1alpha1.HashVersion)
		if nodeClaim.StatusConditions(operatorstatus.WithObservedOnly()).Get(karpv1.ConditionTypeDrifted) == nil {
			nodeClaim.Annotations[v1alpha1.AnnotationHash] = hash
		}
		if err := c.kube.Patch(ctx, nodeClaim, client.MergeFrom(stored)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("updating the hash of NodeClaim %s: %w", nodeClaim.Name, err)
		}
	}
	return nil
}

// upToDate returns whether a NodeClaim's hash has the present version, or whether the NodeClaim gets its hash with its launch.
func upToDate(nodeClaim *karpv1.NodeClaim) bool {
	version, hashed := nodeClaim.Annotations[v1alpha1.AnnotationHashVersion]
	_, ok := nodeClaim.Annotations[v1alpha1.AnnotationHash]
	return version == v1alpha1.HashVersion || !hashed && !ok && nodeClaim.Status.ProviderID == ""
}

// finalize keeps the class until no NodeClaim uses it.
func (c *Controller) finalize(ctx context.Context, nodeClass *v1alpha1.LinodeNodeClass) (reconcile.Result, error) {
	if !controllerutil.ContainsFinalizer(nodeClass, v1alpha1.Finalizer) {
		return reconcile.Result{}, nil
	}
	names, err := c.users(ctx, nodeClass)
	if err != nil {
		return reconcile.Result{}, err
	}
	if len(names) > 0 {
		before := nodeClass.DeepCopy()
		if status.ApplyWaiting(nodeClass, names) {
			if err := c.kube.Status().Patch(ctx, nodeClass, controllers.Lock(before)); err != nil {
				return controllers.Requeue(err)
			}
			c.publish(before, nodeClass)
		}
		return reconcile.Result{RequeueAfter: c.cfg.Interval}, nil // the deletion of a NodeClaim starts a reconcile at once
	}
	stored := nodeClass.DeepCopy()
	controllerutil.RemoveFinalizer(nodeClass, v1alpha1.Finalizer)
	err = c.kube.Patch(ctx, nodeClass, controllers.Lock(stored))
	return controllers.Requeue(err)
}

// nodeClaims returns the NodeClaims of the class. It does not copy them out of the cache, because each reconcile may read a thousand of
// them. The caller must not change them.
func (c *Controller) nodeClaims(ctx context.Context, nodeClass *v1alpha1.LinodeNodeClass) ([]karpv1.NodeClaim, error) {
	list := &karpv1.NodeClaimList{}
	err := c.kube.List(ctx, list, nodeclaimutils.ForNodeClass(nodeClass), client.UnsafeDisableDeepCopy)
	return list.Items, err
}

// users returns the names of the NodeClaims that use the class. If the cache has no such NodeClaim, it reads all NodeClaims from the API
// server, which has no index on the class.
func (c *Controller) users(ctx context.Context, nodeClass *v1alpha1.LinodeNodeClass) ([]string, error) {
	nodeClaims, err := c.nodeClaims(ctx, nodeClass)
	if err != nil {
		return nil, err
	}
	if len(nodeClaims) == 0 {
		list := &karpv1.NodeClaimList{}
		if err := c.cfg.Reader.List(ctx, list); err != nil {
			return nil, fmt.Errorf("listing NodeClaims: %w", err)
		}
		nodeClaims = list.Items
	}
	var names []string
	for i := range nodeClaims {
		if ref := nodeClaims[i].Spec.NodeClassRef; nodeclaim.Ours(ref) && ref.Name == nodeClass.Name {
			names = append(names, nodeClaims[i].Name)
		}
	}
	return names, nil
}

// Register adds the controller to a manager.
func (c *Controller) Register(_ context.Context, m manager.Manager) error {
	changes := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}) // no writes of the status
	return controllers.For(m, "linodenodeclass", &v1alpha1.LinodeNodeClass{}, 10, changes).
		Watches(&karpv1.NodeClaim{}, handler.Funcs{DeleteFunc: deleted}).
		Complete(reconcile.AsReconciler(m.GetClient(), c))
}
