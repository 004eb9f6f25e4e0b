package blockstorage

import (
	"context"

	storagev1 "k8s.io/api/storage/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// attacherFinalizer keeps an attachment until the volume is detached.
const attacherFinalizer = "external-attacher/linodebs-csi-linode-com"

// attacher attaches and detaches at once.
type attacher struct{ client client.Client }

func (a attacher) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	attachment := &storagev1.VolumeAttachment{}
	if exists, err := found(ctx, a.client, request, attachment); !exists || attachment.Spec.Attacher != Driver {
		return reconcile.Result{}, err
	}
	before := attachment.DeepCopy()
	if attachment.DeletionTimestamp != nil {
		if !controllerutil.RemoveFinalizer(attachment, attacherFinalizer) {
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, client.IgnoreNotFound(a.client.Patch(ctx, attachment, client.MergeFrom(before)))
	}
	if controllerutil.AddFinalizer(attachment, attacherFinalizer) {
		return reconcile.Result{}, client.IgnoreNotFound(a.client.Patch(ctx, attachment, client.MergeFrom(before)))
	}
	if attachment.Status.Attached {
		return reconcile.Result{}, nil
	}
	attachment.Status.Attached = true
	return reconcile.Result{}, client.IgnoreNotFound(a.client.Status().Patch(ctx, attachment, client.MergeFrom(before)))
}
