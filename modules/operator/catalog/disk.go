package catalog

import "github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"

// minRootDisk is the smallest root disk in MiB that the Linode API takes.
const minRootDisk = 8192

// RootDisk returns the size in MiB of the disk that a node's pods share, and whether all disks of the class fit on the plan's disk. A
// root disk for which the class sets no size gets the space that data disks and swap leave. A nil class has one disk.
func RootDisk(p Plan, class *v1alpha1.LinodeNodeClassSpec) (size int, fits bool) {
	if class == nil {
		return p.Disk, true
	}
	rest := p.Disk - class.SwapMB()
	for _, disk := range class.DataDisks.All() {
		rest -= disk.MB()
	}
	size = rest
	if class.OSDisk != nil {
		size = class.OSDisk.MB()
	}
	return size, size >= minRootDisk && size <= rest
}
