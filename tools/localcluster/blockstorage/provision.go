package blockstorage

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Annotations between the controller manager, the scheduler and a provisioner.
const (
	provisionerNote = "volume.kubernetes.io/storage-provisioner" // on a claim: who is to provision it
	selectedNote    = "volume.kubernetes.io/selected-node"       // on a claim: where its pod is to run
	provisionedNote = "pv.kubernetes.io/provisioned-by"          // on a volume
)

// provisioner makes the volume of a claim that the controller manager gives to this driver.
type provisioner struct {
	client  client.Client
	account *account
}

func (p provisioner) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	claim := &corev1.PersistentVolumeClaim{}
	exists, err := found(ctx, p.client, request, claim)
	if !exists || claim.Annotations[provisionerNote] != Driver || claim.Spec.VolumeName != "" || claim.DeletionTimestamp != nil {
		return reconcile.Result{}, err
	}
	class := &storagev1.StorageClass{}
	if err := p.client.Get(ctx, types.NamespacedName{Name: *claim.Spec.StorageClassName}, class); err != nil {
		return reconcile.Result{}, err
	}
	region, err := p.region(ctx, claim, class)
	if region == "" || err != nil {
		return reconcile.Result{}, err
	}
	pv := volume(claim, class, region)
	if p.account != nil {
		size := claim.Spec.Resources.Requests[corev1.ResourceStorage]
		made, err := p.account.create(ctx, pv.Name, region, int((size.Value()+gib-1)/gib))
		if err != nil {
			return reconcile.Result{}, err
		}
		pv.Spec.CSI.VolumeHandle = handle(made)
	}
	return reconcile.Result{}, client.IgnoreAlreadyExists(p.client.Create(ctx, pv))
}

// region is where the volume is to be: the chosen node's; that of any node where the class binds at once. It is empty
// while a node is still to be chosen. A chosen node without the driver's label is an error, which is tried again with growing pauses, as
// in kubernetes-csi/external-provisioner, pkg/controller/topology.go: the label may be newer than this process's reading of the node.
func (p provisioner) region(ctx context.Context, claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass) (string, error) {
	waits := class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
	chosen := claim.Annotations[selectedNote]
	if waits && chosen == "" {
		return "", nil
	}
	nodes := &corev1.NodeList{}
	if err := p.client.List(ctx, nodes, client.HasLabels{TopologyKey}); err != nil {
		return "", err
	}
	if !waits {
		chosen = ""
	}
	return regionOf(nodes.Items, chosen, class)
}

// regionOf returns the region of the chosen node, or of any that the class allows if none is chosen.
func regionOf(nodes []corev1.Node, chosen string, class *storagev1.StorageClass) (string, error) {
	for _, node := range nodes {
		if region := node.Labels[TopologyKey]; region != "" && (chosen == "" || node.Name == chosen) && allowed(class, node.Labels) {
			return region, nil
		}
	}
	return "", fmt.Errorf("no node has the label %s yet where the volume is to be (selected: %q)", TopologyKey, chosen)
}

func allowed(class *storagev1.StorageClass, labels map[string]string) bool {
	return len(class.AllowedTopologies) == 0 || slices.ContainsFunc(class.AllowedTopologies, func(term corev1.TopologySelectorTerm) bool {
		return !slices.ContainsFunc(term.MatchLabelExpressions, func(r corev1.TopologySelectorLabelRequirement) bool {
			return !slices.Contains(r.Values, labels[r.Key])
		})
	})
}

func volume(claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, region string) *corev1.PersistentVolume {
	name := "pvc-" + string(claim.UID)
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{provisionedNote: Driver}},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes: claim.Spec.AccessModes, VolumeMode: claim.Spec.VolumeMode, StorageClassName: class.Name,
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage]},
			PersistentVolumeReclaimPolicy: *class.ReclaimPolicy,
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: Driver, VolumeHandle: name, FSType: "ext4"},
			},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: TopologyKey, Operator: corev1.NodeSelectorOpIn, Values: []string{region}},
				},
			}}}},
		},
	}
}

// remover deletes a volume whose claim is gone, unless its class retains it.
type remover struct {
	client  client.Client
	account *account
}

func (r remover) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	pv := &corev1.PersistentVolume{}
	exists, err := found(ctx, r.client, request, pv)
	if !exists || pv.Annotations[provisionedNote] != Driver || pv.DeletionTimestamp != nil ||
		pv.Status.Phase != corev1.VolumeReleased || pv.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete {
		return reconcile.Result{}, err
	}
	attachments := &storagev1.VolumeAttachmentList{}
	if err := r.client.List(ctx, attachments); err != nil {
		return reconcile.Result{}, err
	}
	if err := unattached(attachments.Items, pv.Name); err != nil {
		return reconcile.Result{}, err
	}
	if r.account != nil {
		id, err := idOf(pv.Spec.CSI.VolumeHandle)
		if err == nil {
			err = r.account.remove(ctx, id)
		}
		if err != nil {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{}, client.IgnoreNotFound(r.client.Delete(ctx, pv))
}

// unattached returns an error while a volume has an attachment, which names the volume and could not be ended without it, as in
// canDeleteVolume of kubernetes-csi/external-provisioner, pkg/controller/controller.go.
func unattached(attachments []storagev1.VolumeAttachment, volume string) error {
	for _, a := range attachments {
		if ptr.Deref(a.Spec.Source.PersistentVolumeName, "") == volume {
			return fmt.Errorf("volume %s is still attached to node %s", volume, a.Spec.NodeName)
		}
	}
	return nil
}
