package blockstorage

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

// resync finds volumes that are not attached although their VolumeAttachments are: the driver attaches with persist_across_boots false
// (internal/driver/controllerserver_helper.go, attachVolume), and the platform detaches at a boot. The external-attacher lists the volumes
// once in a while and attaches such a one again (kubernetes-csi/external-attacher, pkg/controller/csi_handler.go, ReconcileVA), because the
// driver reports where each is attached (internal/driver/capabilities.go, LIST_VOLUMES_PUBLISHED_NODES).
//
// Its pods wait meanwhile: after a boot a kubelet starts them only when the node plugin finds the device (internal/driver/
// nodeserver_helpers.go). kwok knows nothing of that, so that their status is written here.
type resync struct {
	client  client.Client
	account account
	lost    *lost
	period  time.Duration
	log     *slog.Logger
}

// lost has the names of attachments that the account does not have.
type lost struct {
	again chan event.GenericEvent // lets the attacher look at one again

	mu    sync.Mutex
	names map[string]bool
}

func (l *lost) has(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.names[name]
}

func (l *lost) remove(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.names, name)
}

// add marks an attachment and has it looked at again.
func (l *lost) add(ctx context.Context, attachment *storagev1.VolumeAttachment) {
	l.mu.Lock()
	if l.names == nil {
		l.names = map[string]bool{}
	}
	l.names[attachment.Name] = true
	l.mu.Unlock()
	select {
	case l.again <- event.GenericEvent{Object: attachment}:
	case <-ctx.Done():
	}
}

// Start implements manager.Runnable.
func (r resync) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := r.compare(ctx); err != nil && ctx.Err() == nil {
			r.log.Warn("attachments are not compared with the account", "error", err)
		}
	}, r.period)
	return nil
}

// compare looks at all attachments once.
func (r resync) compare(ctx context.Context) error {
	attachments := &storagev1.VolumeAttachmentList{}
	if err := r.client.List(ctx, attachments); err != nil {
		return err
	}
	ours := slices.DeleteFunc(attachments.Items, func(a storagev1.VolumeAttachment) bool {
		return a.Spec.Attacher != Driver || !a.Status.Attached || a.DeletionTimestamp != nil
	})
	if len(ours) == 0 {
		return nil
	}
	attached, err := r.account.attached(ctx)
	if err != nil {
		return err
	}
	for i := range ours {
		if err := r.look(ctx, &ours[i], attached); err != nil {
			r.log.Warn("an attachment is not compared with the account", "attachment", ours[i].Name, "error", err)
		}
	}
	return nil
}

func (r resync) look(ctx context.Context, attachment *storagev1.VolumeAttachment, attached map[int]int) error {
	pv, err := volumeOf(ctx, r.client, attachment)
	if err != nil {
		return err
	}
	node := &corev1.Node{}
	if err := r.client.Get(ctx, client.ObjectKey{Name: attachment.Spec.NodeName}, node); err != nil {
		return err
	}
	id, err := idOf(pv.Spec.CSI.VolumeHandle)
	if err != nil {
		return err
	}
	linode, err := linodeOf(node)
	if err != nil {
		return err
	}
	is := attached[id] == linode
	if !is {
		r.log.Info("a volume is not attached any more", "volume", id, "linode", linode)
		r.lost.add(ctx, attachment)
	}
	return r.pods(ctx, node.Name, pv.Spec.ClaimRef, is)
}

// pods lets the pods of a claim on a node be ready or not.
func (r resync) pods(ctx context.Context, node string, claim *corev1.ObjectReference, attached bool) error {
	pods := &corev1.PodList{}
	if err := r.client.List(ctx, pods, client.InNamespace(claim.Namespace)); err != nil {
		return err
	}
	for _, pod := range pods.Items {
		uses := slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
			return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim.Name
		})
		if pod.Spec.NodeName != node || !uses || pod.DeletionTimestamp != nil {
			continue
		}
		before := pod.DeepCopy()
		if !started(&pod.Status, attached, metav1.Now()) {
			continue
		}
		if err := r.client.Status().Patch(ctx, &pod, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// reasonDetached is that of conditions of a pod which waits for a volume that was attached before.
const reasonDetached = "VolumeNotAttached"

// started changes the status of a running pod whose volume has gone, and that of one whose volume is there again. It returns false where
// there is nothing to change.
func started(status *corev1.PodStatus, attached bool, now metav1.Time) bool {
	changed := false
	for i := range status.Conditions {
		c := &status.Conditions[i]
		if c.Type != corev1.PodReady && c.Type != corev1.ContainersReady {
			continue
		}
		switch {
		case !attached && c.Status == corev1.ConditionTrue:
			c.Status, c.Reason, c.LastTransitionTime, changed = corev1.ConditionFalse, reasonDetached, now, true
		case attached && c.Reason == reasonDetached:
			c.Status, c.Reason, c.LastTransitionTime, changed = corev1.ConditionTrue, "", now, true
		}
	}
	if !changed {
		return false
	}
	for i := range status.ContainerStatuses {
		c := &status.ContainerStatuses[i]
		c.Ready, c.Started = attached, &attached
		c.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}
		if attached {
			c.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}
			c.RestartCount++
		}
	}
	return true
}
