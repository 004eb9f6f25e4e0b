package world

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
)

func onVolume(v api.Volume) *api.AccountEventEntity {
	return onObject("volume", v.ID, v.Label, "/v4/volumes/%d")
}

var volumeLabel = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?$`)

// shown fills in the label of the Linode, io_ready and, on v4beta, the locks.
func (w Volumes) shown(v api.Volume) api.Volume {
	if i := w.instances[deref(v.LinodeID)]; i != nil {
		v.LinodeLabel = &i.Label
	}
	v.IoReady = new(v.LinodeID != nil && w.assets.usable[v.ID])
	if w.Beta {
		v.Locks = &noLocks
	}
	return v
}

// ListVolumes lists them by ID.
func (w Volumes) ListVolumes() ([]api.Volume, error) {
	return each(sorted(w.assets.volumes), w.shown), nil
}

// ListInstanceVolumes lists the volumes of a Linode.
func (w Volumes) ListInstanceVolumes(linodeID int) ([]api.Volume, error) {
	_, err := lookup(w.instances, linodeID)
	return each(w.of(linodeID), w.shown), err
}

func (w Volumes) of(linode int) []api.Volume {
	return slices.DeleteFunc(sorted(w.assets.volumes), func(v api.Volume) bool { return deref(v.LinodeID) != linode })
}

// GetVolume finds one.
func (w Volumes) GetVolume(volumeID int) (api.Volume, error) {
	v, err := lookup(w.assets.volumes, volumeID)
	return w.shown(v), err
}

// CreateVolume makes a volume, which is active after a while, and attaches it if the request names a Linode.
func (w Volumes) CreateVolume(b *api.VolumeCreate) (api.Volume, error) {
	var bad reasons
	linode := w.instances[deref(b.LinodeID)]
	region, size := deref(b.Region), cmp.Or(deref(b.Size), 20)
	switch {
	case b.LinodeID != nil && linode == nil:
		bad.invalid("linode_id")
	case linode != nil && region != "" && linode.Region != region:
		bad.add("linode_id", "The Linode must be in the region of the volume")
	case linode != nil:
		region = linode.Region
	}
	w.Offers().checkRegion(&bad, region, catalog.CapBlockStorage, "Volumes are")
	w.checkLabel(&bad, 0, b.Label)
	checkTags(&bad, deref(b.Tags))
	if size < 10 || size > 16384 {
		bad.add("size", "Must be 10-16384")
	}
	passing := b.PersistAcrossBoots != nil && !*b.PersistAcrossBoots
	if linode != nil && len(bad) == 0 {
		w.checkAttachable(&bad, linode)
		if passing {
			checkPassing(&bad, linode, deref(b.ConfigID))
		}
	}
	if err := bad.err(); err != nil {
		return api.Volume{}, err
	}
	v := api.Volume{
		Label: b.Label, Region: region, Size: size, Tags: union(deref(b.Tags)), Encryption: new(cmp.Or(string(deref(b.Encryption)), "disabled")),
	}
	if linode != nil {
		v.LinodeID = &linode.ID
	}
	made := w.add(v, "volume_create")
	if linode != nil && passing {
		w.assets.passing[made.ID] = true
	}
	return made, nil
}

func (w Volumes) add(v api.Volume, event string) api.Volume {
	v.ID, v.Status, v.HardwareType = w.sideID(&w.seq.volume), api.VolumeStatusCreating, new("nvme")
	v.FilesystemPath = "/dev/disk/by-id/scsi-0Linode_Volume_" + v.Label
	v.Created, v.Updated = w.stamp(), w.stamp()
	w.assets.volumes[v.ID] = v
	w.note(account.AssetCreated, fmt.Sprintf("volume %d", v.ID), deref(v.LinodeID))
	w.work(v, event, func(v *api.Volume) {
		v.Status = api.VolumeStatusActive
		w.ready(v)
	})
	return w.shown(w.assets.volumes[v.ID])
}

// ready lets the Linode of a volume use it (FACTS 18, third table, 5).
func (w Volumes) ready(v *api.Volume) {
	if v.LinodeID != nil && v.Status == api.VolumeStatusActive {
		w.assets.usable[v.ID] = true
	}
}

// free takes a volume off its Linode, and out of its configurations.
func (w Volumes) free(v *api.Volume) {
	if v.LinodeID == nil {
		return
	}
	for at := range w.assets.configs[*v.LinodeID] {
		w.assets.configs[*v.LinodeID][at].drop(func(d api.InstanceConfigDevice) bool { return deref(d.VolumeID) == v.ID })
	}
	v.LinodeID = nil
	delete(w.assets.passing, v.ID)
	delete(w.assets.usable, v.ID)
}

// work changes a volume after a while, with an event that ends then.
func (w Volumes) work(v api.Volume, event string, change func(*api.Volume)) {
	took := w.delays.Job.draw(w.draws.side)
	job := w.begin(w.User, event, onVolume(v), nil, 0, took)
	w.after(took, func() {
		if now, there := w.assets.volumes[v.ID]; there {
			change(&now)
			now.Updated = w.stamp()
			w.assets.volumes[v.ID] = now
		}
		w.finish(job)
	})
}

func (w Volumes) checkLabel(bad *reasons, self int, label string) {
	checkLength(bad, "label", label, 1, 32)
	if !volumeLabel.MatchString(label) {
		bad.add("label", "Label may only contain letters, digits, - and _")
	}
	for _, other := range w.assets.volumes {
		if other.ID != self && other.Label == label {
			bad.add("label", "Label must be unique among your volumes")
		}
	}
}

// checkAttachable refuses a Linode that has its maximum of volumes and disks: one for each GB of memory, but at least 8 and at most 64.
func (w Volumes) checkAttachable(bad *reasons, i *Instance) {
	plan, _ := w.catalog.Type(i.Type)
	most := min(max(plan.Memory/1024, 8), 64)
	if n := len(w.of(i.ID)) + len(w.assets.disks[i.ID]); n >= most {
		bad.add("linode_id", "The Linode has %d volumes and disks, and can have no more", n)
	}
}

// pass ends attachments that do not persist across boots. Behaviour.PassingVolumes chooses the moment: a stop or a boot of the Linode.
func (w Volumes) pass(i *Instance, stops bool) {
	var ends bool
	switch w.behaviour.PassingVolumes {
	case account.DetachAtStop:
		ends = stops
	case account.DetachAtBoot:
		ends = i.Status == account.StatusRunning
	case account.KeepAtReboot:
		ends = stops && i.Status != account.StatusRebooting
	}
	if !ends {
		return
	}
	for _, v := range w.of(i.ID) {
		if !w.assets.passing[v.ID] {
			continue
		}
		w.free(&v)
		v.Updated = w.stamp()
		w.assets.volumes[v.ID] = v
		w.record(account.LKE, account.Entry{
			Action: account.AssetChanged, InstanceID: i.ID, After: fmt.Sprintf("volume %d detached by a boot", v.ID),
		})
	}
}

// checkPassing refuses an attachment that does not persist across boots if it names a configuration or a Linode that does not run.
func checkPassing(bad *reasons, i *Instance, config int) {
	if config != 0 {
		bad.add("config_id", "config_id cannot be used when persist_across_boots is false")
	}
	if i.Status != account.StatusRunning {
		bad.add("linode_id", "The Linode must be running when persist_across_boots is false")
	}
}

// UpdateVolume changes label and tags.
func (w Volumes) UpdateVolume(volumeID int, b *api.VolumeUpdate) (api.Volume, error) {
	v, err := lookup(w.assets.volumes, volumeID)
	if err != nil {
		return v, err
	}
	var bad reasons
	if b.Label != nil {
		w.checkLabel(&bad, volumeID, *b.Label)
	}
	checkTags(&bad, deref(b.Tags))
	if err := bad.err(); err != nil {
		return api.Volume{}, err
	}
	v = overlaid[api.Volume](v, b)
	v.Updated = w.stamp()
	w.assets.volumes[volumeID] = v
	w.note(account.AssetChanged, fmt.Sprintf("volume %d", volumeID), 0)
	w.happened(w.User, "volume_update", onVolume(v), nil)
	return w.shown(v), nil
}

// AttachVolume attaches a volume that is free to a Linode of its region.
func (w Volumes) AttachVolume(volumeID int, b *api.VolumeAttach) (api.Volume, error) {
	v, err := lookup(w.assets.volumes, volumeID)
	if err != nil {
		return v, err
	}
	i, there := w.instances[b.LinodeID]
	passing := b.PersistAcrossBoots != nil && !*b.PersistAcrossBoots
	var bad reasons
	switch {
	case !there || i.Region != v.Region:
		bad.invalid("linode_id")
	case deref(v.LinodeID) == i.ID:
		bad.add("", "Volume %d is already attached.", v.ID)
	case v.LinodeID != nil:
		bad.add("", "Volume %d is already attached to another Linode.", v.ID)
	case v.Status != api.VolumeStatusActive && v.Status != api.VolumeStatusCreating: // creating was recorded (FACTS 18, third table, 6)
		bad.add("", "Volume must be active.")
	default:
		w.checkAttachable(&bad, i)
		if passing {
			checkPassing(&bad, i, deref(b.ConfigID))
		}
	}
	if err := bad.err(); err != nil {
		return api.Volume{}, err
	}
	v.LinodeID, v.Updated = &i.ID, w.stamp()
	w.assets.volumes[volumeID] = v
	if passing {
		w.assets.passing[v.ID] = true
	}
	w.note(account.AssetChanged, fmt.Sprintf("volume %d attached", volumeID), i.ID)
	w.work(v, "volume_attach", w.ready)
	return w.shown(v), nil
}

// DetachVolume takes a volume off its Linode after a while.
func (w Volumes) DetachVolume(volumeID int) error {
	v, err := lookup(w.assets.volumes, volumeID)
	switch {
	case err != nil:
		return err
	case v.LinodeID == nil:
		return Refuse("", "Volume is not attached.")
	}
	w.note(account.AssetChanged, fmt.Sprintf("volume %d detached", volumeID), *v.LinodeID)
	from := *v.LinodeID
	w.work(v, "volume_detach", func(now *api.Volume) {
		if deref(now.LinodeID) == from {
			w.free(now)
		}
	})
	return nil
}

// ResizeVolume makes a volume larger.
func (w Volumes) ResizeVolume(volumeID int, b *api.VolumeResize) (api.Volume, error) {
	v, err := lookup(w.assets.volumes, volumeID)
	switch {
	case err != nil:
		return v, err
	case v.Status != api.VolumeStatusActive:
		return api.Volume{}, answered(http.StatusBadRequest, "Volume must be active.")
	case b.Size <= v.Size || b.Size > 16384:
		return api.Volume{}, Refuse("size", "Must be more than %d and at most 16384", v.Size)
	}
	v.Status, v.Size = api.VolumeStatusResizing, b.Size
	w.assets.volumes[volumeID] = v
	w.note(account.AssetChanged, fmt.Sprintf("volume %d resized", volumeID), 0)
	w.work(v, "volume_resize", func(now *api.Volume) { now.Status = api.VolumeStatusActive })
	return w.shown(w.assets.volumes[volumeID]), nil
}

// CloneVolume copies a volume.
func (w Volumes) CloneVolume(volumeID int, b *api.VolumeClone) (api.Volume, error) {
	v, err := lookup(w.assets.volumes, volumeID)
	if err != nil {
		return v, err
	}
	var bad reasons
	w.checkLabel(&bad, 0, b.Label)
	if err := bad.err(); err != nil {
		return api.Volume{}, err
	}
	return w.add(api.Volume{Label: b.Label, Region: v.Region, Size: v.Size, Tags: v.Tags, Encryption: v.Encryption}, "volume_clone"), nil
}

// DeleteVolume removes a volume that is not attached, or attached to a Linode that is off (FACTS 18, third table, 8).
func (w Volumes) DeleteVolume(volumeID int) error {
	v, err := lookup(w.assets.volumes, volumeID)
	switch {
	case err != nil:
		return err
	case v.LinodeID != nil && w.instances[*v.LinodeID].Status != account.StatusOffline:
		return Refuse("", "This Volume must be detached before it can be deleted.")
	}
	w.free(&v)
	delete(w.assets.volumes, volumeID)
	w.note(account.AssetDeleted, fmt.Sprintf("volume %d", volumeID), 0)
	w.happened(w.User, "volume_delete", onVolume(v), nil)
	return nil
}

// fits reports whether a Linode's configuration may name a volume of the Linode's region: a volume that is not attached, also while it
// is being created (FACTS 18, third table, 7), or a volume of the Linode.
func (w Volumes) fits(volume int, i *Instance) bool {
	v, there := w.assets.volumes[volume]
	return there && v.Region == i.Region && (v.LinodeID == nil || *v.LinodeID == i.ID)
}

// claim attaches the volume that a configuration names, unless the volume is attached already; 0 is no volume.
func (w Volumes) claim(volume int, i *Instance) {
	v, there := w.assets.volumes[volume]
	if !there || v.LinodeID != nil {
		return
	}
	v.LinodeID, v.Updated = &i.ID, w.stamp()
	w.ready(&v)
	w.assets.volumes[volume] = v
	w.note(account.AssetChanged, fmt.Sprintf("volume %d attached by a configuration", volume), i.ID)
}
