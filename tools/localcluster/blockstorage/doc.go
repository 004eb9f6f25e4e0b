// Package blockstorage simulates Linode's block storage driver (linodebs.csi.linode.com) on the Kubernetes side, so that
// PersistentVolumeClaims are bound, attached and released as in an LKE cluster.
//
// It is called by package localcluster. Three of the driver's parts are simulated:
//
//   - the node plugin: a CSINode for each Node that registers, with the topology key topology.linode.com/region and the
//     number of volumes that the plan takes (see AttachLimit);
//   - the provisioner: a PersistentVolume for each claim of a StorageClass with this driver, at once or, with
//     WaitForFirstConsumer, once the scheduler has chosen a node. It has node affinity on the region. It goes with its
//     claim unless the class retains it;
//   - the attacher: VolumeAttachments are attached and detached, and, in instance mode, compared with the account once in a while: what a
//     reboot has detached is attached again (see resync).
//
// The rest (binding, attachment objects, protection) is done by the real kube-controller-manager and kube-scheduler.
//
// In instance mode the driver's controller is simulated as well: volumes are made, attached and detached in the Linode API, with linode_id
// and the limit of the plan's memory less the Linode's disks, as its internal/driver has it.
//
// Not simulated: in lke mode the volume in the Linode API; sizes, snapshots, resizing, and the mount: kwok starts a pod whether its
// volume is attached or not. Where a volume was attached and is not any more, its pods are not ready until it is again.
//
// Source of names and limits: the repository linode/linode-blockstorage-csi-driver, 2026.
package blockstorage
