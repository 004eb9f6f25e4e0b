package garbagecollection

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/awslabs/operatorpkg/reconciler"
	"github.com/awslabs/operatorpkg/singleton"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	controllerruntime "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/karpenter/pkg/apis"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	nodeutils "sigs.k8s.io/karpenter/pkg/utils/node"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

const (
	// nodePause is the time between two looks at the cached Nodes, as in a cloud controller manager (nodeMonitorPeriod in
	// k8s.io/cloud-provider).
	nodePause = 5 * time.Second
	// lookPause is the time between two reads of one silent Node's Linode. Linode's cloud controller manager uses its list for the same
	// time (LINODE_INSTANCE_CACHE_TTL).
	lookPause = 15 * time.Second
	// longSilence is the silence after which a Node's Linode is read once in longPause only.
	longSilence, longPause = 10 * time.Minute, time.Minute
	// fewNodes is the largest number of Linodes that are read one by one, which counts against the API's larger rate limit. For more
	// Linodes a list is read first.
	fewNodes = 3
	// atOnce bounds the concurrent reads. They are concurrent because the proof that a Linode is gone takes seconds.
	atOnce = 20
)

// Linodes reads instances; every cloudprovider.Backend implements it. Get returns claims.KindNotFound only if the instance is proven gone.
type Linodes interface {
	Get(ctx context.Context, instanceID int) (cloudprovider.Node, error)
	List(ctx context.Context) ([]cloudprovider.Node, error)
}

// Nodes deletes the Nodes of NodeClaims whose Linode is proven gone. The chart's admission policy keeps the cloud controller manager from
// deleting these Nodes, because it counts a Linode as gone as soon as one read does not find it. A Node that is Ready stays.
type Nodes struct {
	kube    client.Client
	linodes Linodes
	looked  map[types.UID]time.Time // by the UID of a silent Node: the time of the last read of its Linode
}

// NewNodes returns a Nodes. kube may read from a cache.
func NewNodes(kube client.Client, linodes Linodes) *Nodes {
	return &Nodes{kube: kube, linodes: linodes, looked: map[types.UID]time.Time{}}
}

// Reconcile looks at the cached Nodes, and reads the Linodes of silent Nodes. It is called by one goroutine.
func (n *Nodes) Reconcile(ctx context.Context) (reconciler.Result, error) {
	due, err := n.due(ctx, time.Now())
	if err != nil {
		return reconciler.Result{}, err
	}
	if due, err = n.unlisted(ctx, due); err != nil {
		return reconciler.Result{}, ignoreEnd(ctx, err)
	}
	errs := make([]error, len(due))
	workqueue.ParallelizeUntil(ctx, atOnce, len(due), func(i int) { errs[i] = n.remove(ctx, due[i]) })
	return reconciler.Result{RequeueAfter: nodePause}, ignoreEnd(ctx, errors.Join(errs...))
}

// silentNode is a Node that may have lost its Linode.
type silentNode struct {
	*corev1.Node
	instanceID int
}

// due returns the silent Nodes whose Linode was not read lately, and records now as the time of the read.
func (n *Nodes) due(ctx context.Context, now time.Time) ([]silentNode, error) {
	all := &corev1.NodeList{}
	if err := n.kube.List(ctx, all, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	var due []silentNode
	looked := map[types.UID]time.Time{}
	for i := range all.Items {
		node := &all.Items[i]
		id, err := nodeclaim.InstanceID(node.Spec.ProviderID)
		ready := nodeutils.GetCondition(node, corev1.NodeReady)
		if err != nil || ready.Status == corev1.ConditionTrue || !node.DeletionTimestamp.IsZero() || !ofNodeClaim(node) {
			continue
		}
		last, seen := n.looked[node.UID]
		if looked[node.UID] = last; !seen || now.Sub(last) >= pauseAfter(now.Sub(ready.LastTransitionTime.Time)) {
			looked[node.UID] = now
			due = append(due, silentNode{node, id})
		}
	}
	n.looked = looked
	return due, nil
}

func pauseAfter(silence time.Duration) time.Duration {
	if silence >= longSilence {
		return longPause
	}
	return lookPause
}

// ofNodeClaim returns whether the chart's policy keeps a cloud controller manager from deleting the Node.
func ofNodeClaim(node *corev1.Node) bool {
	_, labeled := node.Labels[karpv1.NodePoolLabelKey]
	return labeled || slices.ContainsFunc(node.OwnerReferences, func(owner metav1.OwnerReference) bool {
		return owner.Kind == "NodeClaim" && strings.HasPrefix(owner.APIVersion, apis.Group+"/")
	})
}

// unlisted returns the Nodes whose Linode a list lacks. For up to fewNodes Nodes it reads no list and returns all of them, because remove
// reads the Linodes one by one.
func (n *Nodes) unlisted(ctx context.Context, nodes []silentNode) ([]silentNode, error) {
	if len(nodes) <= fewNodes {
		return nodes, nil
	}
	list, err := n.linodes.List(ctx)
	if err != nil {
		return nil, err
	}
	there := make(map[int]bool, len(list))
	for _, linode := range list {
		there[linode.InstanceID] = true
	}
	return slices.DeleteFunc(nodes, func(node silentNode) bool { return there[node.instanceID] }), nil
}

// remove deletes a Node if its Linode is proven gone. Core's finalizer then ends the NodeClaim without a drain.
func (n *Nodes) remove(ctx context.Context, node silentNode) error {
	_, err := n.linodes.Get(ctx, node.instanceID)
	switch claims.KindOf(err) {
	case claims.KindNotFound:
	case "", claims.KindConflict: // the Linode exists; with KindConflict it may belong to another cluster
		return nil
	default:
		return err
	}
	if err := n.kube.Delete(ctx, node.Node, client.Preconditions{UID: &node.UID}); err != nil {
		return client.IgnoreNotFound(err)
	}
	log.FromContext(ctx).Info("deleted a node whose Linode is gone", "Node", node.Name, "instance", node.instanceID)
	return nil
}

// ignoreEnd drops the error of a process that ends.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // that is what it is for
	}
	return err
}

// Register adds the controller to a manager.
func (n *Nodes) Register(_ context.Context, m manager.Manager) error {
	return controllerruntime.NewControllerManagedBy(m).
		Named("node.garbagecollection").
		WatchesRawSource(singleton.Source()).
		Complete(singleton.AsReconciler(n))
}
