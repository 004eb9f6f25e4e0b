// Package pricelabel keeps the label eks-node-viewer/instance-price on each node of Karpenter: its price in USD per hour, which the
// program eks-node-viewer shows.
//
// It is opt-in, because the label belongs to another program. A node of Karpenter is a Node with the label karpenter.sh/nodepool. Existing
// nodes get the label too. The controller looks at each node after each of its events and again after an interval. So the label follows
// the region's price, and the controller replaces a value that a user wrote. A node with an unknown plan, and a node that is being
// deleted, keep their label. Prices are Linode's: a NodeOverlay changes the price with which Karpenter plans, not the price of the node.
//
// Package cmd/controller registers it; it runs on the leader only, makes no request to the Linode API, and needs the right to patch Nodes.
package pricelabel

import (
	"context"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers"
)

// Label is the label from which eks-node-viewer reads the price of a node.
const Label = "eks-node-viewer/instance-price"

// Catalog has the prices; *catalog.Catalog implements it.
type Catalog interface {
	HourlyUSD(plan string) (usd float64, known bool)
}

// Controller labels nodes.
type Controller struct {
	kube     client.Client
	catalog  Catalog
	interval time.Duration
}

// NewController returns a Controller that looks at each node again after interval, because prices change.
func NewController(kube client.Client, catalog Catalog, interval time.Duration) *Controller {
	return &Controller{kube: kube, catalog: catalog, interval: interval}
}

// Reconcile labels one node.
func (c *Controller) Reconcile(ctx context.Context, node *corev1.Node) (reconcile.Result, error) {
	again := reconcile.Result{RequeueAfter: c.interval}
	usd, known := c.catalog.HourlyUSD(node.Labels[corev1.LabelInstanceTypeStable])
	price := strconv.FormatFloat(usd, 'f', -1, 64)
	if !known || node.Labels[Label] == price || !node.DeletionTimestamp.IsZero() {
		return again, nil
	}
	stored := node.DeepCopy()
	node.Labels[Label] = price
	return again, client.IgnoreNotFound(c.kube.Patch(ctx, node, client.MergeFrom(stored)))
}

// Register adds the controller to a manager.
func (c *Controller) Register(_ context.Context, m manager.Manager) error {
	karpenters := controllers.When(func(node *corev1.Node) bool { return node.Labels[karpv1.NodePoolLabelKey] != "" })
	return controllers.For(m, "node.pricelabel", &corev1.Node{}, 1, karpenters).Complete(reconcile.AsReconciler(m.GetClient(), c))
}
