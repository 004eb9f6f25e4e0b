// Package blockstorage simulates Linode's block storage driver (linodebs.csi.linode.com): its controller over the Linode API, and its
// part on the nodes, so that PersistentVolumeClaims are bound, attached and released as in an LKE cluster or in one that has the
// driver's chart.
//
// It is called by package localcluster, which runs kubernetes-csi's own attacher and provisioner beside it. Binding, attachment objects
// and protection are the work of the real kube-controller-manager and kube-scheduler. Simulated are:
//
//   - the controller: volumes are made, attached, detached, listed and removed in the Linode API, with linode_id and the limit of the
//     plan's memory less the Linode's disks. It is called over gRPC, and its errors have the driver's codes;
//   - the node plugin: a CSINode for each Node that registers, with the Linode's ID, the topology key topology.linode.com/region and the
//     number of volumes that the Linode takes (see AttachLimit);
//   - the kubelet of a pod whose volume a reboot has detached: the pod is not ready until the volume is attached again.
//
// Not simulated: snapshots, clones, resizing, tags, encryption, and the mount: kwok starts a pod whether its volume is attached or not.
//
// Source: the repository linode/linode-blockstorage-csi-driver, 2026, whose files the comments name.
//
// A volume is cut to whole GiB, of which there are at least 10. A request that waits for the account ends after five minutes. A volume
// that exists, is attached or is gone already is a success, as the driver has it. Run ends with ctx.
package blockstorage
