// Package blockstorage simulates Linode's block storage driver (linodebs.csi.linode.com): its controller over the Linode API, and its
// part on the nodes, so that PersistentVolumeClaims are bound, attached and released as in an LKE cluster or in a cluster with the
// driver's chart.
//
// It is called by package localcluster, which also runs kubernetes-csi's own attacher and provisioner. Binding, attachment objects and
// protection are the work of the real kube-controller-manager and kube-scheduler. Simulated are:
//
//   - the controller: volumes are made, attached, detached, listed and removed in the Linode API, with linode_id and the limit of the
//     plan's memory less the Linode's disks. It is called over gRPC, and its errors have the driver's codes;
//   - the node plugin: a CSINode for each Node that registers, with the Linode's ID, the topology key topology.linode.com/region and the
//     number of volumes that the Linode takes (see AttachLimit);
//   - the kubelet of a pod whose volume a reboot has detached: the pod is not ready until the volume is attached again.
//
// Not simulated: snapshots, clones, resizing, tags, encryption, and the mount. kwok starts a pod even if its volume is not attached.
//
// Source: the repository linode/linode-blockstorage-csi-driver, 2026, whose files the comments name.
//
// The size of a volume is cut to whole GiB, and is at least 10 GiB. A request that waits for the account ends after five minutes. As in
// the driver, a request succeeds if the volume exists, is attached or is gone already. Run ends with ctx.
package blockstorage
