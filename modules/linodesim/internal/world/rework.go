package world

import (
	"cmp"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
)

// idle refuses work on a Linode while another job runs on it.
func (i *Instance) idle() error {
	if i.Status != StatusRunning && i.Status != StatusOffline {
		return busy()
	}
	return nil
}

// RebootInstance restarts a Linode that runs.
func (w Linodes) RebootInstance(linodeID int, b *api.InstanceBoot) error {
	i, err := lookup(w.instances, linodeID)
	if err != nil {
		return err
	}
	config := deref(deref(b).ConfigID)
	switch {
	case i.Status == StatusOffline:
		return Refuse("", "Linode is not running.")
	case i.Status != StatusRunning:
		return busy()
	case config != 0 && w.Configs().configAt(linodeID, config) < 0:
		return Refuse("config_id", "config_id is not valid")
	}
	w.setStatus(w.Actor, i, StatusRebooting)
	w.Feed().publishLinode(LinodeStops, i)
	took := w.delays.Join.draw(w.draws.side) / 2
	job := w.begin(w.User, "linode_reboot", onLinode(i), w.Configs().entity(linodeID, config), 0, took)
	w.after(took, func() {
		if i.Status == StatusRebooting {
			w.run(i, job)
		}
	})
	return nil
}

// RebuildInstance replaces the disks and configurations of a Linode by those of
// an image. Its interfaces and addresses stay.
func (w Linodes) RebuildInstance(linodeID int, b *api.InstanceRebuild) (api.Instance, error) {
	i, err := lookup(w.instances, linodeID)
	if err == nil {
		err = i.idle()
	}
	if err != nil {
		return api.Instance{}, err
	}
	create := overlaid[api.InstanceCreate](b)
	create.Region, create.Type = i.Region, i.Type
	var bad reasons
	checkPassword(&bad, b.RootPass)
	w.checkUserData(&bad, &create)
	if err := bad.err(); err != nil {
		return api.Instance{}, err
	}
	plan, _ := w.catalog.Type(i.Type)
	_, root := diskSizes(&create, plan.Disk)
	access := b.RootPass != nil || len(deref(b.AuthorizedKeys)) > 0 || len(deref(b.AuthorizedUsers)) > 0
	if err := w.Images().checkImage(b.Image, root, access); err != nil {
		return api.Instance{}, err
	}
	if i.Status == StatusRunning {
		w.Feed().publishLinode(LinodeStops, i)
	}
	nics := w.Interfaces().nics(i)
	if i.generation() == linodeInterfaces {
		nics = nil
	}
	delete(w.assets.disks, i.ID)
	delete(w.assets.configs, i.ID)
	i.Image, i.HasUserData = b.Image, deref(b.Metadata).UserData != nil
	i.userData, i.keys = deref(deref(b.Metadata).UserData), readKeys(&create)
	set(&i.DiskEncryption, (*string)(b.DiskEncryption))
	w.setStatus(w.Actor, i, StatusRebuilding)
	took := w.delays.Join.draw(w.draws.side)
	rebuilt := w.begin(w.User, "linode_rebuild", onLinode(i), w.Images().entity(i.Image), 0, took/2)
	w.install(i, &create, nics, took/2)
	w.thenBoot(i, StatusRebuilding, b.Booted == nil || *b.Booted, rebuilt, took)
	return w.instance(i), nil
}

// thenBoot ends work on a Linode after half of the time, and boots it in four
// fifths of it, if that is wanted.
func (w Linodes) thenBoot(i *Instance, from string, boots bool, job int, took time.Duration) {
	if !boots {
		w.after(took/2, func() {
			w.finish(job)
			if i.Status == from {
				w.setStatus(LKE, i, StatusOffline)
			}
		})
		return
	}
	booted := w.begin(w.User, "linode_boot", onLinode(i), w.Configs().last(i.ID), took/2, took*4/5-took/2)
	w.after(took/2, func() {
		w.finish(job)
		if i.Status == from {
			w.setStatus(LKE, i, StatusBooting)
		}
	})
	w.after(took*4/5, func() {
		if i.Status == StatusBooting {
			w.run(i, booted)
		}
	})
}

// ResizeInstance changes the plan of a Linode; a single disk that is not swap
// follows its storage unless that is refused. LKE's workers are its own business.
func (w Linodes) ResizeInstance(linodeID int, b *api.InstanceResize) error {
	i, err := lookup(w.instances, linodeID)
	if err == nil {
		err = i.idle()
	}
	if err != nil {
		return err
	}
	plan, known := w.catalog.Type(b.Type)
	disks := w.assets.disks[linodeID]
	used := 0
	for _, d := range disks {
		used += d.Size
	}
	alone := len(disks) == 1 || len(disks) == 2 && disks[1].Filesystem == "swap"
	follows := alone && (b.AllowAutoDiskResize == nil || *b.AllowAutoDiskResize)
	switch {
	case !known:
		return Refuse("type", "type is not valid")
	case b.Type == i.Type:
		return Refuse("type", "Linode is already running this service plan.")
	case i.ClusterID != 0:
		return Refuse("", "Linodes of LKE clusters cannot be resized.")
	case used > plan.Disk && !follows:
		return Refuse("type", "The disks do not fit on plan %s, which has %d MB", plan.ID, plan.Disk)
	}
	if err := w.Pools().checkRoom(&cluster{Cluster: Cluster{Tier: catalog.Enterprise, Region: i.Region}}, b.Type, 0); err != nil {
		return err
	}
	w.move("linode_resize", i, func() {
		i.Type = b.Type
		if all := w.assets.disks[i.ID]; follows && len(all) > 0 {
			all[0].Size += plan.Disk - used
		}
	})
	return nil
}

// MigrateInstance moves a Linode to another host, in its region or another one
// that has its plan.
func (w Linodes) MigrateInstance(linodeID int, b *api.InstanceMigrate) error {
	i, err := lookup(w.instances, linodeID)
	if err == nil {
		err = i.idle()
	}
	if err != nil {
		return err
	}
	region := cmp.Or(deref(deref(b).Region), i.Region)
	switch _, known := w.catalog.Region(region); {
	case !known || !w.catalog.Available(i.Type, region):
		return Refuse("region", "region is not valid")
	case i.ClusterID != 0:
		return Refuse("", "Linodes of LKE clusters cannot be migrated.")
	case region != i.Region && len(w.Volumes().of(i.ID)) > 0:
		return Refuse("", "Volumes must be detached before a Linode goes to another region.")
	}
	w.move("linode_migrate", i, func() {
		i.Region, i.HostUUID = region, w.hostUUID()
	})
	return nil
}

// move changes a Linode while it is down, and then brings it back to what it was.
func (w Linodes) move(event string, i *Instance, change func()) {
	runs := i.Status == StatusRunning
	if runs {
		w.Feed().publishLinode(LinodeStops, i)
	}
	w.setStatus(w.Actor, i, StatusMigrating)
	took := w.delays.Join.draw(w.draws.side)
	job := w.begin(w.User, event, onLinode(i), nil, 0, took/2)
	w.after(took/2, func() {
		if w.instances[i.ID] == i {
			change()
		}
	})
	w.thenBoot(i, StatusMigrating, runs, job, took)
}

// ResizeInstanceDisk changes the size of a disk of a Linode that is off.
func (w Disks) ResizeInstanceDisk(linodeID, diskID int, b *api.InstanceDiskResize) error {
	d, err := w.disk(linodeID, diskID)
	if err != nil {
		return err
	}
	i := w.instances[linodeID]
	if i.Status != StatusOffline || w.making(linodeID) {
		return busy()
	}
	plan, _ := w.catalog.Type(i.Type)
	free := plan.Disk + d.Size
	for _, other := range w.assets.disks[linodeID] {
		free -= other.Size
	}
	if b.Size < 1 || b.Size > free {
		return Refuse("size", "Must be 1-%d", free)
	}
	d.Status = api.InstanceDiskStatusNotReady
	took := w.delays.InstanceID.draw(w.draws.side)
	job := w.begin(w.User, "disk_resize", onLinode(i), withDisk(linodeID, d.InstanceDisk), 0, took)
	w.after(took, func() {
		if now, err := w.disk(linodeID, diskID); err == nil {
			now.Size, now.Status, now.Updated = b.Size, api.InstanceDiskStatusReady, w.stamp()
		}
		w.finish(job)
	})
	return nil
}
