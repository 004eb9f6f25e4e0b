package world

import (
	"fmt"
	"slices"
	"time"
)

// States of a disk.
const (
	DiskReady    = "ready"
	DiskNotReady = "not ready"
)

// LinodeDisk is a disk of a Linode. Those of LKE workers are not modelled.
type LinodeDisk struct {
	ID, LinodeID     int
	Label            string
	Status           string
	Filesystem       string // ext4, swap, raw, ext3, initrd
	SizeMB           int
	Encryption       string
	Image            string // "" = none
	Created, Updated time.Time
}

// DiskSpec is a disk to be.
type DiskSpec struct {
	Label, Filesystem, Image string
	SizeMB                   int
	Access                   bool // a way to log in was given
}

// Disks lists a Linode's disks by ID.
func (w *World) Disks(linode int) ([]LinodeDisk, error) {
	defer w.lock()()
	if w.instances[linode] == nil {
		return nil, notFound()
	}
	return slices.Clone(w.assets.disks[linode]), nil
}

// LinodeDisk finds one.
func (w *World) LinodeDisk(linode, disk int) (LinodeDisk, error) {
	defer w.lock()()
	at := w.diskAt(linode, disk)
	if at < 0 {
		return LinodeDisk{}, notFound()
	}
	return w.assets.disks[linode][at], nil
}

func (w *World) diskAt(linode, disk int) int {
	return slices.IndexFunc(w.assets.disks[linode], func(d LinodeDisk) bool { return d.ID == disk })
}

// CreateDisk adds a disk to a Linode.
func (w *World) CreateDisk(by Actor, linode int, spec DiskSpec) (LinodeDisk, error) {
	defer w.lock()()
	i, ok := w.instances[linode]
	if !ok {
		return LinodeDisk{}, notFound()
	}
	if spec.Image != "" {
		if err := w.checkImage(spec.Image, spec.SizeMB, spec.Access); err != nil {
			return LinodeDisk{}, err
		}
	}
	if spec.SizeMB < 1 {
		return LinodeDisk{}, refuse("size", "Must be at least 1")
	}
	plan, _ := w.catalog.Type(i.Type)
	free := plan.DiskMB
	for _, d := range w.assets.disks[linode] {
		free -= d.SizeMB
	}
	if spec.SizeMB > free {
		return LinodeDisk{}, refuse("size", "Insufficient space for this disk: %d MB are free", free)
	}
	return w.addDisk(by, i, spec, w.profile.InstanceID.draw(w.side)), nil
}

func (w *World) addDisk(by Actor, i *Instance, spec DiskSpec, ready time.Duration) LinodeDisk {
	d := LinodeDisk{
		ID: w.sideID(&w.seq.disk), LinodeID: i.ID, Label: spec.Label, Status: DiskNotReady, Filesystem: spec.Filesystem, SizeMB: spec.SizeMB,
		Encryption: i.DiskEncryption, Image: spec.Image, Created: w.now, Updated: w.now,
	}
	if d.Filesystem == "" {
		d.Filesystem = "ext4"
	}
	if d.Label == "" {
		d.Label = fmt.Sprintf("disk%d", d.ID)
	}
	w.assets.disks[i.ID] = append(w.assets.disks[i.ID], d)
	w.note(by, AssetCreated, fmt.Sprintf("disk %d", d.ID), i.ID)
	linode, disk := i.ID, d.ID
	w.after(ready, func() {
		if at := w.diskAt(linode, disk); at >= 0 {
			w.assets.disks[linode][at].Status, w.assets.disks[linode][at].Updated = DiskReady, w.now
		}
	})
	if at := w.diskAt(linode, disk); at >= 0 { // without a delay it is ready already
		return w.assets.disks[linode][at]
	}
	return d
}

// DeleteDisk removes a disk of a Linode that is off.
func (w *World) DeleteDisk(by Actor, linode, disk int) error {
	defer w.lock()()
	at := w.diskAt(linode, disk)
	if at < 0 {
		return notFound()
	}
	if w.instances[linode].Status != StatusOffline {
		return busy()
	}
	w.assets.disks[linode] = slices.Delete(w.assets.disks[linode], at, at+1)
	for i := range w.assets.configs[linode] {
		w.assets.configs[linode][i] = w.assets.configs[linode][i].without(disk)
	}
	w.note(by, AssetDeleted, fmt.Sprintf("disk %d", disk), linode)
	return nil
}

// busy is what the API says while another job runs on a Linode.
func busy() *Refusal { return refuse("", "Linode busy.") }
