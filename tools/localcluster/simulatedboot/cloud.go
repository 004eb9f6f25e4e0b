package simulatedboot

import (
	"context"
	"maps"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	nodeutils "sigs.k8s.io/karpenter/pkg/utils/node"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/process"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/simulatedlke"
)

const (
	nodePoll = 200 * time.Millisecond
	slowest  = 5 * time.Second
)

// networkPlugin is the CPU that a network plugin's pod requests in a real cluster. Here no plugin is installed, and the CPU is taken from
// the user's own nodes, so that a pod that requests a whole CPU does not fit there.
var networkPlugin = resource.MustParse("250m")

// registerOwn makes the Node of a Linode that was set up by hand.
func (r *Runner) registerOwn(ctx context.Context, e linodesim.Event) {
	r.until(ctx, "register", e, func(ctx context.Context) (bool, error) {
		e.K8sVersion = r.cfg.Version
		node := simulatedlke.Registered(e, r.cfg.KwokLabels)
		delete(node.Labels, simulatedlke.PoolIDLabel)
		simulatedlke.ServedBy(node, r.cfg.KubeletPort)
		cpu := node.Status.Allocatable[corev1.ResourceCPU]
		cpu.Sub(networkPlugin)
		node.Status.Allocatable[corev1.ResourceCPU] = cpu
		_, err := r.nodes.Create(ctx, node, metav1.CreateOptions{})
		return err == nil || apierrors.IsAlreadyExists(err), err
	})
}

// handOver stops the kubelet of a Node that is Ready, and lets kwok simulate the kubelet. Until the hand-over is done the Node gets no pod
// (see Holds), because kwok does not change pods that were bound before it simulated the Node. The hand-over is done when kwok changes the
// condition Ready from Unknown to True.
func (r *Runner) handOver(ctx context.Context, e linodesim.Event, kubelet *process.Process) {
	r.awaitReady(ctx, e)
	kubelet.Stop(context.WithoutCancel(ctx), kubeletEnd)
	r.until(ctx, "hand over", e, func(ctx context.Context) (bool, error) {
		if err := r.cfg.Leases.Delete(ctx, e.Name, metav1.DeleteOptions{}); client.IgnoreNotFound(err) != nil {
			return false, err
		}
		node, err := r.nodes.Get(ctx, e.Name, metav1.GetOptions{})
		if err != nil || ready(node) == nil {
			return false, client.IgnoreNotFound(err)
		}
		ready(node).Status, ready(node).Reason = corev1.ConditionUnknown, "HandedOver"
		node.Status.NodeInfo.BootID = string(uuid.NewUUID()) // the kubelet may end before it has reported the ID of this boot
		if node, err = r.nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{}); err != nil {
			return false, err
		}
		maps.Copy(node.Labels, r.cfg.KwokLabels)
		_, err = r.nodes.Update(ctx, node, metav1.UpdateOptions{})
		return err == nil, err
	})
	r.awaitReady(ctx, e)
	r.release(e.Name)
	r.until(ctx, "report the hand-over of", e, func(ctx context.Context) (bool, error) { // the manager looks at a Node when it changes
		_, err := r.nodes.Patch(ctx, e.Name, types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+handedOverNote+`":"true"}}}`),
			metav1.PatchOptions{})
		return err == nil || apierrors.IsNotFound(err), err
	})
}

const handedOverNote = "simulatedboot/handed-over"

// Holds reports whether a Node must not get pods yet, because its kubelet is being replaced.
func (r *Runner) Holds(node string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held[node]
}

func (r *Runner) hold(node string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held[node] = true
}

func (r *Runner) release(node string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.held, node)
}

func (r *Runner) awaitReady(ctx context.Context, e linodesim.Event) {
	r.until(ctx, "await Ready", e, func(ctx context.Context) (bool, error) {
		node, err := r.nodes.Get(ctx, e.Name, metav1.GetOptions{})
		if err != nil {
			return false, client.IgnoreNotFound(err)
		}
		return nodeutils.GetCondition(node, corev1.NodeReady).Status == corev1.ConditionTrue, nil
	})
}

// ready is the Node's condition Ready, nil if the Node has no such condition yet.
func ready(node *corev1.Node) *corev1.NodeCondition {
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady {
			return c
		}
	}
	return nil
}

// silence sets the Node of a deleted Linode to Unknown at once, and keeps it so until a client deletes the Node. The controller manager
// would wait longer before it reports a silent kubelet. silence does not change a Node of the same name that belongs to another Linode.
func (r *Runner) silence(ctx context.Context, e linodesim.Event) {
	r.until(ctx, "silence", e, func(ctx context.Context) (bool, error) {
		node, err := r.nodes.Get(ctx, e.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		if id := node.Spec.ProviderID; id != "" && id != "linode://"+strconv.Itoa(e.InstanceID) {
			return true, nil
		}
		for label := range r.cfg.KwokLabels { // kwok would report the Node as ready
			delete(node.Labels, label)
		}
		if node, err = r.nodes.Update(ctx, node, metav1.UpdateOptions{}); err != nil || ready(node) == nil ||
			ready(node).Status == corev1.ConditionUnknown {
			return false, client.IgnoreNotFound(err)
		}
		ready(node).Status, ready(node).Reason = corev1.ConditionUnknown, "NodeStatusUnknown"
		_, err = r.nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{})
		return false, client.IgnoreNotFound(err)
	})
}

// until repeats a step with growing pauses until the step is done or ctx ends. It repeats the step after an error, too.
func (r *Runner) until(ctx context.Context, what string, e linodesim.Event, step func(context.Context) (bool, error)) {
	pauses := wait.Backoff{Duration: nodePoll, Factor: 1.2, Steps: 1 << 10, Cap: slowest}
	_ = pauses.DelayFunc().Until(ctx, true, true, func(ctx context.Context) (bool, error) { // ends with ctx only
		done, err := step(ctx)
		if err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) {
			r.cfg.Log.Warn("repeated", "step", what, "label", e.Name, "error", err)
		}
		return done, nil
	})
}
