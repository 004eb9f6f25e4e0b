package world

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"
)

// disk is a disk of a Linode. Disks of LKE workers are not modelled.
type disk struct {
	api.InstanceDisk
	image string // "" = none
}

// ListInstanceDisks lists a Linode's disks by ID.
func (w Disks) ListInstanceDisks(linodeID int) ([]api.InstanceDisk, error) {
	_, err := lookup(w.instances, linodeID)
	return each(w.assets.disks[linodeID], func(d disk) api.InstanceDisk { return d.InstanceDisk }), err
}

// GetInstanceDisk finds one.
func (w Disks) GetInstanceDisk(linodeID, diskID int) (api.InstanceDisk, error) {
	d, err := w.disk(linodeID, diskID)
	if err != nil {
		return api.InstanceDisk{}, err
	}
	return d.InstanceDisk, nil
}

func (w Disks) disk(linode, id int) (*disk, error) {
	at := slices.IndexFunc(w.assets.disks[linode], func(d disk) bool { return d.ID == id })
	if at < 0 {
		return nil, NotFound()
	}
	return &w.assets.disks[linode][at], nil
}

// diskUse returns the sizes of the disk with a Linode's image and of its swap.
func (a *assets) diskUse(linode int) (root, swap int) {
	for _, d := range a.disks[linode] {
		switch {
		case d.Filesystem == "swap":
			swap += d.Size
		case d.image != "":
			root = d.Size
		}
	}
	return root, swap
}

func (w Disks) hasDisk(linode, id int) bool {
	_, err := w.disk(linode, id)
	return err == nil
}

// CreateInstanceDisk adds a disk to a Linode.
func (w Disks) CreateInstanceDisk(linodeID int, b *api.InstanceDiskCreate) (api.InstanceDisk, error) {
	i, err := lookup(w.instances, linodeID)
	if err != nil {
		return api.InstanceDisk{}, err
	}
	var bad reasons
	checkPassword(&bad, b.RootPass)
	if err := bad.err(); err != nil {
		return api.InstanceDisk{}, err
	}
	if w.making(linodeID) || w.Linodes().settling(i) {
		return api.InstanceDisk{}, busy()
	}
	access := b.RootPass != nil || len(deref(b.AuthorizedKeys)) > 0 || len(deref(b.AuthorizedUsers)) > 0
	if err := w.Images().checkImage(deref(b.Image), b.Size, access); err != nil {
		return api.InstanceDisk{}, err
	}
	if b.Size < 1 {
		return api.InstanceDisk{}, Refuse("size", "Must be at least 1")
	}
	plan, _ := w.catalog.Type(i.Type)
	free := plan.Disk
	for _, d := range w.assets.disks[linodeID] {
		free -= d.Size
	}
	if b.Size > free {
		return api.InstanceDisk{}, Refuse("size", "Insufficient space for this disk: %d MB are free", free)
	}
	made := disk{image: deref(b.Image)}
	made.Label, made.Size, made.Filesystem = deref(b.Label), b.Size, api.InstanceDiskFilesystem(deref(b.Filesystem))
	ready := w.delays.Job.draw(w.draws.side)
	d := w.addDisk(i, made, ready)
	job := w.begin(w.User, "disk_create", onLinode(i), withDisk(linodeID, d), 0, ready)
	w.after(ready, func() { w.finish(job) })
	return d, nil
}

// making reports whether a disk of the Linode is not ready yet.
func (w Disks) making(linode int) bool {
	return slices.ContainsFunc(w.assets.disks[linode], func(d disk) bool { return d.Status == api.InstanceDiskStatusNotReady })
}

// addDisk completes a disk that has a size, and makes it ready after a while.
func (w Disks) addDisk(i *Instance, d disk, ready time.Duration) api.InstanceDisk {
	d.ID = w.sideID(&w.seq.disk)
	d.Label, d.Filesystem = cmp.Or(d.Label, fmt.Sprintf("disk%d", d.ID)), cmp.Or(d.Filesystem, "ext4")
	d.Status, d.DiskEncryption = api.InstanceDiskStatusNotReady, new(api.DiskEncryption(i.DiskEncryption))
	d.Created, d.Updated = w.stamp(), w.stamp()
	w.assets.disks[i.ID] = append(w.assets.disks[i.ID], d)
	w.note(account.AssetCreated, fmt.Sprintf("disk %d", d.ID), i.ID)
	w.after(ready, func() {
		if made, err := w.disk(i.ID, d.ID); err == nil {
			made.Status, made.Updated = api.InstanceDiskStatusReady, w.stamp()
		}
	})
	made, _ := w.disk(i.ID, d.ID) // without a delay it is ready already
	return made.InstanceDisk
}

// DeleteInstanceDisk removes a disk of a Linode that is off.
func (w Disks) DeleteInstanceDisk(linodeID, diskID int) error {
	if _, err := w.disk(linodeID, diskID); err != nil {
		return err
	}
	if w.instances[linodeID].Status != account.StatusOffline {
		return busy()
	}
	d, _ := w.GetInstanceDisk(linodeID, diskID)
	w.happened(w.User, "disk_delete", onLinode(w.instances[linodeID]), withDisk(linodeID, d))
	w.assets.disks[linodeID] = slices.DeleteFunc(w.assets.disks[linodeID], func(d disk) bool { return d.ID == diskID })
	for at := range w.assets.configs[linodeID] {
		w.assets.configs[linodeID][at].drop(func(d api.InstanceConfigDevice) bool { return deref(d.DiskID) == diskID })
	}
	w.note(account.AssetDeleted, fmt.Sprintf("disk %d", diskID), linodeID)
	return nil
}
