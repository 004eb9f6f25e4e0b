// Package blockstorage simulates Linode's block storage driver (linodebs.csi.linode.com): its controller over the Linode API, and its
// part on the nodes, so that PersistentVolumeClaims are bound, attached and released as in an LKE cluster or in a cluster with the
// driver's chart.
//
// It is called by package localcluster, which also runs kubernetes-csi's own attacher and provisioner. Binding, attachment objects and
// protection are the work of the real kube-controller-manager and kube-scheduler. Simulated are:
//
//   - the controller: volumes are made, attached, detached, listed and removed in the Linode API, with linode_id and within AttachLimit.
//     The provisioner and the attacher call it over gRPC;
//   - the node plugin: it registers the driver in the CSINode of a Node, once the Node has the label topology.linode.com/region, which the
//     simulations of LKE and of the cloud controller manager set. NodeID is the decimal ID of the Linode, from the provider ID
//     linode://ID. The allocatable count is AttachLimit with at least one disk, and does not change later;
//   - the kubelet of a pod whose volume a reboot has detached. The attacher calls ListVolumes from time to time. ListVolumes finds
//     such a volume, and sets the pods on the node that use it to not ready, with the reason VolumeNotAttached. The attacher attaches the
//     volume again, and the next ListVolumes sets the pods to ready, with one more restart.
//
// Not simulated: snapshots, clones, resizing, tags, encryption, and the mount. kwok starts a pod even if its volume is not attached.
//
// Source: the repository linode/linode-blockstorage-csi-driver, 2026, whose files the comments name.
//
// The size of a volume is cut to whole GiB, and is at least 10 GiB. The label of a volume is its name, cut to 32 characters, and
// CreateVolume finds an existing volume by this label.
//
// # Errors
//
// As in the driver, a request succeeds if the volume exists with the wanted size, is attached to the wanted Linode, or is gone already.
// Errors have the driver's codes:
//
//	AlreadyExists        CreateVolume: the volume exists with another size
//	FailedPrecondition   ControllerPublishVolume: another Linode has the volume; DeleteVolume: a Linode has the volume
//	ResourceExhausted    ControllerPublishVolume: the Linode has no room for another volume (AttachLimit)
//	NotFound             ControllerPublishVolume: the volume or the Linode does not exist
//	Unavailable          ControllerPublishVolume: the API refuses, because the volume has been attached since it was read
//	InvalidArgument      no name, or an access mode that is not for a writer on a single node
//	Internal             every other error of the API, and a volume that does not reach its state within five minutes
//
// The package keeps nothing: after a crash, the provisioner and the attacher repeat their requests, and a request finds what an earlier
// request has done.
package blockstorage
