// Package learnedcapacity replaces the catalog's estimates of the capacity and the reservations of nodes by the figures that nodes show.
//
// Controller looks at each Node that Karpenter has initialized. It passes the figures of the newest living nodes of a plan to the
// catalog. In instance mode, it groups the nodes of a plan by the settings of their class that change the size of nodes. The report of a
// single kubelet changes nothing. Example: three nodes of a plan show 7000, 7010 and 6500 MiB; the catalog plans with 7000. The catalog
// ignores impossible figures. If a node cannot hold the pods for which it was made, Controller reports the node as soon as it is
// registered: core plans with the figures of a node that is not initialized, too, and would buy the same plan again. Memory keeps the
// figures in a ConfigMap, for a restarted process and for the replica that takes over.
//
// The chart makes the ConfigMap empty and never changes its data. Every replica reads it. Only the leader writes it, only when a figure
// is new, and never over a change of another client. To let the operator learn a plan anew, delete the plan's key; every replica notices
// within Memory.Interval. Without the ConfigMap, or without the right to use it, the operator works, but a restart loses the figures. One
// line in the log reports this.
//
// Keys are instance types, with a hash of the class's settings if these change the size of nodes. Values are resource lists in JSON,
// {"memory":"4022024Ki","ephemeral-storage":"82470344Ki"}, with reservations under reserved-cpu, reserved-memory and
// reserved-ephemeral-storage. An annotation names the nodes behind each value. A value that cannot be read counts as missing.
//
// Memory reads every five minutes on every replica. A figure that leaves less for pods counts at once. A figure that leaves more counts
// only if the difference is at least 1%. If writes keep failing because of another client, Memory writes again with the next figure.
package learnedcapacity

import (
	"context"
	"fmt"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// Controller takes the figures of each initialized node.
type Controller struct {
	kube   client.Reader
	market *catalog.Catalog
	memory *Memory

	tooSmall  func(context.Context, *karpv1.NodeClaim, *corev1.Node)
	witnesses witnesses
}

// NewController returns a Controller. kube may read from a cache. Without a memory, which may be nil, a restart loses the figures.
// tooSmall, which may be nil, is called for a node that cannot hold the pods for which its NodeClaim was made.
func NewController(kube client.Reader, market *catalog.Catalog, memory *Memory,
	tooSmall func(context.Context, *karpv1.NodeClaim, *corev1.Node)) *Controller {
	return &Controller{kube: kube, market: market, memory: memory, tooSmall: tooSmall}
}

// Reconcile looks at the Node of one NodeClaim. It takes the instance type from the NodeClaim, where the provider has set it, because a
// kubelet can change the labels of its Node.
func (c *Controller) Reconcile(ctx context.Context, nodeClaim *karpv1.NodeClaim) (reconcile.Result, error) {
	instanceType := nodeClaim.Labels[corev1.LabelInstanceTypeStable]
	if !registered(nodeClaim) || instanceType == "" {
		return reconcile.Result{}, nil
	}
	node := &corev1.Node{}
	if err := c.kube.Get(ctx, types.NamespacedName{Name: nodeClaim.Status.NodeName}, node); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if node.Spec.ProviderID != nodeClaim.Status.ProviderID || !node.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil
	}
	if len(node.Status.Allocatable) > 0 {
		c.report(ctx, nodeClaim, node)
	}
	if !initialized(nodeClaim) {
		return reconcile.Result{}, nil
	}
	key, known, err := c.key(ctx, nodeClaim, instanceType)
	if err != nil || !known {
		return reconcile.Result{}, err
	}
	learned, from := c.witnesses.hear(key, witness{node.Name, node.CreationTimestamp.Time, Shown(node.Status)},
		func(name string) bool { return c.alive(ctx, name) })
	if c.market.Learn(map[string]catalog.Figures{key: learned}) {
		log.FromContext(ctx).Info("learned the size of nodes of an instance type",
			"instance-type", instanceType, "nodes", from, "figures", learned)
	}
	if c.memory == nil {
		return reconcile.Result{}, nil
	}
	c.memory.note(key, from)
	if err := c.memory.Save(ctx); err != nil {
		return reconcile.Result{}, fmt.Errorf("remembering the capacity of instance types: %w", err)
	}
	return reconcile.Result{}, nil
}

// report calls tooSmall if the node cannot hold the pods for which it was made. Until a node is initialized, core takes a resource that the
// node does not show from the NodeClaim, and so does report. Example: a GPU, before its device plugin runs.
func (c *Controller) report(ctx context.Context, nodeClaim *karpv1.NodeClaim, node *corev1.Node) {
	holds := node.DeepCopy()
	for name, expected := range nodeClaim.Status.Allocatable {
		if shown := holds.Status.Allocatable[name]; !initialized(nodeClaim) && shown.IsZero() {
			holds.Status.Allocatable[name] = expected
		}
	}
	if c.tooSmall != nil && !resources.Fits(nodeClaim.Spec.Resources.Requests, holds.Status.Allocatable) {
		c.tooSmall(ctx, nodeClaim, holds)
	}
}

// key returns the catalog's key for the figures of a node. It returns false if the node's class is gone or has changed since the node was
// made: then the settings of the node are not known.
func (c *Controller) key(ctx context.Context, nodeClaim *karpv1.NodeClaim, instanceType string) (key string, known bool, err error) {
	mode := c.market.Mode()
	if mode != v1alpha1.ModeInstance {
		return instanceType, true, nil
	}
	class := &v1alpha1.LinodeNodeClass{}
	if err := c.kube.Get(ctx, types.NamespacedName{Name: nodeClaim.Spec.NodeClassRef.Name}, class); err != nil {
		return "", false, client.IgnoreNotFound(err)
	}
	made := nodeClaim.Annotations
	if made[v1alpha1.AnnotationHash] != class.Hash(mode) || made[v1alpha1.AnnotationHashVersion] != v1alpha1.HashVersion {
		return "", false, nil
	}
	return c.market.LearnedBy(instanceType, &class.Spec), true, nil
}

// alive returns whether a Node exists and is not being deleted.
func (c *Controller) alive(ctx context.Context, name string) bool {
	node := &corev1.Node{}
	err := c.kube.Get(ctx, types.NamespacedName{Name: name}, node)
	return err == nil && node.DeletionTimestamp.IsZero()
}

// registered returns whether the NodeClaim belongs to this provider and its node is registered.
func registered(nodeClaim *karpv1.NodeClaim) bool {
	return nodeclaim.Ours(nodeClaim.Spec.NodeClassRef) &&
		nodeClaim.DeletionTimestamp.IsZero() && nodeClaim.Status.NodeName != "" && nodeClaim.Status.ProviderID != "" &&
		is(nodeClaim, karpv1.ConditionTypeRegistered)
}

func initialized(nodeClaim *karpv1.NodeClaim) bool {
	return is(nodeClaim, karpv1.ConditionTypeInitialized)
}

func is(nodeClaim *karpv1.NodeClaim, condition string) bool {
	return nodeClaim.StatusConditions(status.WithObservedOnly()).IsTrue(condition)
}

// Register adds the controller to a manager.
func (c *Controller) Register(_ context.Context, m manager.Manager) error {
	return controllers.For(m, "node.learnedcapacity", &karpv1.NodeClaim{}, 1,
		controllers.When(registered)).Complete(reconcile.AsReconciler(m.GetClient(), c))
}
