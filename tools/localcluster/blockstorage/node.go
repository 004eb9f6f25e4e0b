package blockstorage

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/simulatedlke"
)

const (
	fewestDevices = 8  // of a Linode with less than 16 GB of memory
	mostDevices   = 64 // of any
	disks         = 1  // of an LKE node itself
	gib           = 1 << 30
)

// AttachLimit is how many volumes a node takes: a device for each GiB of memory, at least 8 and at most 64, of which the
// node's own disk takes one.
func AttachLimit(planMemory int64) int32 {
	return int32(min(max(planMemory/gib, fewestDevices), mostDevices) - disks) //nolint:gosec // between 7 and 63
}

// nodePlugin registers the driver on each node, as the kubelet does when the node's plugin runs.
type nodePlugin struct{ client client.Client }

func (p nodePlugin) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	node := &corev1.Node{}
	if exists, err := found(ctx, p.client, request, node); !exists || node.Labels[TopologyKey] == "" {
		return reconcile.Result{}, err // without the label the cloud controller manager has not initialised it
	}
	registered := &storagev1.CSINode{}
	exists, err := found(ctx, p.client, request, registered)
	if err != nil || slices.ContainsFunc(registered.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == Driver }) {
		return reconcile.Result{}, err
	}
	limit := AttachLimit(simulatedlke.PlanMemory(*node.Status.Capacity.Memory()))
	driver := storagev1.CSINodeDriver{
		Name: Driver, NodeID: node.Spec.ProviderID, TopologyKeys: []string{TopologyKey},
		Allocatable: &storagev1.VolumeNodeResources{Count: &limit},
	}
	if exists { // a real kubelet has made it, without drivers
		registered.Spec.Drivers = append(registered.Spec.Drivers, driver)
		return reconcile.Result{}, p.client.Update(ctx, registered)
	}
	return reconcile.Result{}, p.client.Create(ctx, &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID},
		}},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{driver}},
	})
}
