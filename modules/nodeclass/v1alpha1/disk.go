package v1alpha1

import (
	"iter"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Disk is one disk of an instance.
type Disk struct {
	// Size of the disk, a quantity of bytes of at least 1Mi. Linode counts in MiB; the remainder is cut off.
	// Example: 20Gi.
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1048576 : (isQuantity(self) && quantity(self).compareTo(quantity('1Mi')) >= 0)",message="size must be a quantity of at least 1Mi, for example 20Gi"
	Size resource.Quantity `json:"size"`
	// Label is the disk's name, 1 to 48 characters. Default: the device's name, such as sdb.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=48
	// +optional
	Label string `json:"label,omitempty"`
	// Filesystem of the disk: raw, swap, ext3, ext4 or initrd. Default ext4. The root disk cannot be swap or
	// initrd.
	// +kubebuilder:validation:Enum={raw,swap,ext3,ext4,initrd}
	// +optional
	Filesystem string `json:"filesystem,omitempty"`
}

// DataDisks are the disks in addition to the root disk, by device. An instance has at most eight devices: the root disk
// is sda, so seven are left.
//
// +kubebuilder:validation:MinProperties=1
type DataDisks struct {
	// A further disk of the instance.
	// +optional
	SDB *Disk `json:"sdb,omitempty"`
	// A further disk of the instance.
	// +optional
	SDC *Disk `json:"sdc,omitempty"`
	// A further disk of the instance.
	// +optional
	SDD *Disk `json:"sdd,omitempty"`
	// A further disk of the instance.
	// +optional
	SDE *Disk `json:"sde,omitempty"`
	// A further disk of the instance.
	// +optional
	SDF *Disk `json:"sdf,omitempty"`
	// A further disk of the instance.
	// +optional
	SDG *Disk `json:"sdg,omitempty"`
	// A further disk of the instance.
	// +optional
	SDH *Disk `json:"sdh,omitempty"`
}

// MB returns the size in MiB, the unit of disks in the Linode API.
func (in *Disk) MB() int { return int(in.Size.Value() >> 20) }

// Devices yields the disks that are set, in the order of the names of their devices. A nil DataDisks has no disks.
func (in *DataDisks) Devices() iter.Seq2[string, *Disk] {
	return func(yield func(string, *Disk) bool) {
		if in == nil {
			return
		}
		for i, disk := range []*Disk{in.SDB, in.SDC, in.SDD, in.SDE, in.SDF, in.SDG, in.SDH} {
			if disk != nil && !yield("sd"+string(rune('b'+i)), disk) {
				return
			}
		}
	}
}

// All returns the disks that are set, in the order of their devices. A nil DataDisks has no disks.
func (in *DataDisks) All() (all []*Disk) {
	for _, disk := range in.Devices() {
		all = append(all, disk)
	}
	return all
}
