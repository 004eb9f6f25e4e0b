package blockstorage

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/linodehttp"
)

// attacherFinalizer keeps an attachment until the volume is detached.
const attacherFinalizer = "external-attacher/linodebs-csi-linode-com"

// attacher attaches and detaches, at once where volumes are objects of Kubernetes alone.
type attacher struct {
	client  client.Client
	account *account
	lost    *lost
}

func (a attacher) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	attachment := &storagev1.VolumeAttachment{}
	if exists, err := found(ctx, a.client, request, attachment); !exists || attachment.Spec.Attacher != Driver {
		return reconcile.Result{}, err
	}
	before := attachment.DeepCopy()
	if attachment.DeletionTimestamp != nil {
		if err := a.moved(ctx, attachment, account.detach); err != nil {
			return reconcile.Result{}, err
		}
		if !controllerutil.RemoveFinalizer(attachment, attacherFinalizer) {
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, client.IgnoreNotFound(a.client.Patch(ctx, attachment, client.MergeFrom(before)))
	}
	if controllerutil.AddFinalizer(attachment, attacherFinalizer) {
		return reconcile.Result{}, client.IgnoreNotFound(a.client.Patch(ctx, attachment, client.MergeFrom(before)))
	}
	if attachment.Status.Attached && !a.lost.has(attachment.Name) {
		return reconcile.Result{}, nil
	}
	if err := a.moved(ctx, attachment, account.attach); err != nil {
		return reconcile.Result{}, err
	}
	a.lost.remove(attachment.Name)
	if attachment.Status.Attached {
		return reconcile.Result{}, nil
	}
	attachment.Status.Attached = true
	return reconcile.Result{}, client.IgnoreNotFound(a.client.Status().Patch(ctx, attachment, client.MergeFrom(before)))
}

// moved attaches or detaches the volume in the account. The node's ID is that of its CSINode, which a deleted node has taken with it: its
// volume is detached from any Linode then.
func (a attacher) moved(ctx context.Context, attachment *storagev1.VolumeAttachment,
	move func(account, context.Context, int, int) error) error {
	if a.account == nil {
		return nil
	}
	pv, err := volumeOf(ctx, a.client, attachment)
	if err != nil {
		return err
	}
	id, err := idOf(pv.Spec.CSI.VolumeHandle)
	if err != nil {
		return err
	}
	node := &corev1.Node{}
	err = a.client.Get(ctx, client.ObjectKey{Name: attachment.Spec.NodeName}, node)
	if apierrors.IsNotFound(err) {
		v, err := a.account.volume(ctx, id)
		if err != nil || v.LinodeID == nil {
			return ignoreGone(err)
		}
		return move(*a.account, ctx, id, *v.LinodeID)
	}
	if err != nil {
		return err
	}
	linode, err := linodeOf(node)
	if err != nil {
		return err
	}
	return move(*a.account, ctx, id, linode)
}

// volumeOf reads the PersistentVolume of an attachment.
func volumeOf(ctx context.Context, c client.Client, attachment *storagev1.VolumeAttachment) (*corev1.PersistentVolume, error) {
	pv := &corev1.PersistentVolume{}
	return pv, c.Get(ctx, client.ObjectKey{Name: ptr.Deref(attachment.Spec.Source.PersistentVolumeName, "")}, pv)
}

func ignoreGone(err error) error {
	if linodehttp.IsNotFound(err) {
		return nil
	}
	return err
}
