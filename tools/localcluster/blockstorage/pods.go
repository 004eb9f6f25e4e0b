package blockstorage

import (
	"context"
	"log/slog"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// pods changes the status of pods whose volume is detached, although its VolumeAttachment still has the status attached. A reboot causes
// this: the driver attaches with persist_across_boots false (internal/driver/controllerserver_helper.go, attachVolume), and the platform
// detaches such volumes at a boot.
//
// In a real cluster these pods wait: after a boot a kubelet starts them only when the node plugin finds the device
// (internal/driver/nodeserver_helpers.go). kwok does not simulate this wait.
type pods struct {
	client client.Client
	log    *slog.Logger
}

// attachments lists the volumes that the attacher has attached. A caller lists the account's volumes after this call: then that list is new
// enough to show every volume of the attachments as attached, unless the platform has detached it.
func (p pods) attachments(ctx context.Context) ([]storagev1.VolumeAttachment, error) {
	list := &storagev1.VolumeAttachmentList{}
	err := p.client.List(ctx, list)
	return slices.DeleteFunc(list.Items, func(a storagev1.VolumeAttachment) bool {
		return a.Spec.Attacher != Driver || !a.Status.Attached || a.DeletionTimestamp != nil
	}), err
}

// compare sets the pods of attached volumes to ready, and the pods of detached volumes to not ready.
func (p pods) compare(ctx context.Context, attachments []storagev1.VolumeAttachment, volumes []api.Volume) {
	attached := map[int]int{}
	for _, v := range volumes {
		attached[v.ID] = ptr.Deref(v.LinodeID, 0)
	}
	for i := range attachments {
		if err := p.look(ctx, &attachments[i], attached); err != nil {
			p.log.Warn("an attachment is not compared with the account", "attachment", attachments[i].Name, "error", err)
		}
	}
}

func (p pods) look(ctx context.Context, attachment *storagev1.VolumeAttachment, attached map[int]int) error {
	pv, node := &corev1.PersistentVolume{}, &corev1.Node{}
	if err := p.client.Get(ctx, client.ObjectKey{Name: ptr.Deref(attachment.Spec.Source.PersistentVolumeName, "")}, pv); err != nil {
		return err
	}
	if err := p.client.Get(ctx, client.ObjectKey{Name: attachment.Spec.NodeName}, node); err != nil {
		return err
	}
	linode, err := linodeOf(node)
	if err != nil {
		return err
	}
	id := idOf(pv.Spec.CSI.VolumeHandle)
	is := attached[id] == linode
	if !is {
		p.log.Info("a volume is not attached any more", "volume", id, "linode", linode)
	}
	return p.let(ctx, node.Name, pv.Spec.ClaimRef, is)
}

// let sets the pods of a claim on a node to ready if the volume is attached, and else to not ready.
func (p pods) let(ctx context.Context, node string, claim *corev1.ObjectReference, attached bool) error {
	all := &corev1.PodList{}
	if err := p.client.List(ctx, all, client.InNamespace(claim.Namespace)); err != nil {
		return err
	}
	for _, pod := range all.Items {
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
		if err := p.client.Status().Patch(ctx, &pod, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// reasonDetached is the reason in conditions of a pod that waits for a volume which was attached before.
const reasonDetached = "VolumeNotAttached"

// started changes the status of a running pod whose volume was detached, or is attached again. It returns false if the status does not
// change.
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
