package catalog

import "github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"

// volumeDriver is the CSI driver of Linode's block storage.
const volumeDriver = "linodebs.csi.linode.com"

// The driver allows one attachment for each GiB of memory, within these bounds. The Linode's own disks count as attachments.
const minAttachments, maxAttachments = 8, 64

// volumeLimits returns how many volumes a node of the plan takes. The driver publishes the same number once the node runs.
func volumeLimits(p Plan, disks int) map[string]int {
	return map[string]int{volumeDriver: max(min(max(p.Memory/1024, minAttachments), maxAttachments)-disks, 0)}
}

// Disks returns how many disks a node of a class has: the root disk, swap and data disks. A nil class has one disk.
func Disks(class *v1alpha1.LinodeNodeClassSpec) int {
	if class == nil {
		return 1
	}
	disks := 1 + len(class.DataDisks.All())
	if class.SwapMB() > 0 {
		disks++
	}
	return disks
}
