package blockstorage

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	fewestDevices = 8  // for each Linode, however little memory it has
	mostDevices   = 64 // for each Linode, however much memory it has
	// ownDisks is the least number of disks that a plugin finds on its node. The plugin counts the disks that QEMU shows
	// (internal/driver/limits.go), while the API lists no disks of LKE's nodes.
	ownDisks = 1
	gib      = 1 << 30
)

// AttachLimit is the number of volumes that a node takes. A node has one device for each GiB of memory (planMemory, in bytes), but at
// least 8 and at most 64 devices. The node's own disks take devices, too; the other devices are for volumes (internal/driver/limits.go).
// Examples, with 1 disk: 4 GiB give 7, 16 GiB give 15, and 128 GiB give 63.
func AttachLimit(planMemory int64, disks int) int32 {
	return int32(min(max(planMemory/gib, fewestDevices), mostDevices) - int64(disks)) //nolint:gosec // at most 64
}

// nodePlugin registers the driver on each node, as the kubelet does when the node's plugin runs.
type nodePlugin struct {
	client  client.Client
	account account
}

func (p nodePlugin) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	node := &corev1.Node{}
	if exists, err := found(ctx, p.client, request, node); !exists || node.Labels[TopologyKey] == "" {
		return reconcile.Result{}, err // without the label, the cloud controller manager has not initialized the node yet
	}
	registered := &storagev1.CSINode{}
	exists, err := found(ctx, p.client, request, registered)
	if err != nil || slices.ContainsFunc(registered.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == Driver }) {
		return reconcile.Result{}, err
	}
	driver, err := p.driver(ctx, node)
	if err != nil {
		return reconcile.Result{}, err
	}
	if exists { // a real kubelet has created the CSINode, without drivers
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

// driver returns the report of the plugin on a node: the Linode's ID, and how many volumes the Linode takes.
func (p nodePlugin) driver(ctx context.Context, node *corev1.Node) (storagev1.CSINodeDriver, error) {
	id, err := linodeOf(node)
	if err != nil {
		return storagev1.CSINodeDriver{}, err
	}
	limit, err := p.account.limit(ctx, id, ownDisks)
	return storagev1.CSINodeDriver{
		Name: Driver, NodeID: strconv.Itoa(id), TopologyKeys: []string{TopologyKey}, Allocatable: &storagev1.VolumeNodeResources{Count: &limit},
	}, err
}

func linodeOf(node *corev1.Node) (int, error) {
	id, err := strconv.Atoi(strings.TrimPrefix(node.Spec.ProviderID, "linode://"))
	if err != nil {
		return 0, fmt.Errorf("node %s has the provider ID %q", node.Name, node.Spec.ProviderID)
	}
	return id, nil
}
