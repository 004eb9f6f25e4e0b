package world

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"
)

const cloudInit = "cloud-init"

// ListImages lists private images by ID, then public images. A token without images:read_only gets public images only.
func (w Images) ListImages() ([]api.Image, error) {
	if !w.May("images:read_only") {
		return w.catalog.Images, nil
	}
	return append(sorted(w.assets.images), w.catalog.Images...), nil
}

// GetImage finds one.
func (w Images) GetImage(imageID string) (api.Image, error) {
	i, err := w.image(imageID)
	if err == nil && !i.IsPublic && !w.May("images:read_only") {
		return api.Image{}, NotFound()
	}
	return i, err
}

func (w Images) image(id string) (api.Image, error) {
	if public, ok := w.catalog.Image(id); ok {
		return public, nil
	}
	return lookup(w.assets.images, id)
}

// CreateImage makes a private image of a disk.
func (w Images) CreateImage(b *api.ImageCreate) (api.Image, error) {
	var bad reasons
	checkTags(&bad, deref(b.Tags))
	checkLength(&bad, "label", deref(b.Label), 0, 50)
	from, region, ok := w.findDisk(b.DiskID)
	if !ok {
		bad.invalid("disk_id")
	} else if from.Filesystem == "swap" {
		bad.add("disk_id", "No image can be made of a swap disk")
	}
	if err := bad.err(); err != nil {
		return api.Image{}, err
	}
	id := fmt.Sprintf("private/%d", w.sideID(&w.seq.image))
	i := api.Image{
		ID: id, Label: cmp.Or(deref(b.Label), from.Label), Description: new(deref(b.Description)), Type: "manual",
		Status: api.ImageStatusCreating,
		Size:   from.Size, TotalSize: &from.Size, Capabilities: []string{}, Regions: &[]api.ImageRegion{},
		Tags:      nonNil(slices.Clone(deref(b.Tags))),
		CreatedBy: w.User, Created: w.stamp(), Updated: w.stamp(),
		ImageSharing: &api.ImageSharing{SharedWith: &api.ImageSharedWith{SharegroupListURL: fmt.Sprintf("/images/%s/sharegroups", id)}},
	}
	if deref(b.CloudInit) {
		i.Capabilities = []string{cloudInit}
	}
	w.assets.images[id] = i
	w.note(account.AssetCreated, "image "+id, w.linodeOf(from.ID))
	took := w.delays.Join.draw(w.draws.side)
	job := w.begin(w.User, "disk_imagize", onLinode(w.instances[w.linodeOf(from.ID)]), w.entity(id), 0, took)
	w.after(took, func() {
		w.finish(job)
		if made, ok := w.assets.images[id]; ok {
			made.Status, made.Updated, made.Size = api.ImageStatusAvailable, w.stamp(), w.contents(from)
			made.TotalSize, made.Regions = &made.Size, &[]api.ImageRegion{{Region: region, Status: "available"}}
			w.assets.images[id] = made
		}
	})
	return w.assets.images[id], nil
}

// contents returns the size of a finished image: the size of the disk's content. (An image that is being made has the
// size of its disk.) Recorded: 1754 MB for a disk made from an image of 1800 MB, and 366 MB for an empty disk.
func (w Images) contents(d disk) int {
	if from, err := w.image(d.image); err == nil {
		return from.Size * 1754 / 1800
	}
	return min(d.Size, 366)
}

func (w Images) findDisk(id int) (d disk, region string, ok bool) {
	linode := w.linodeOf(id)
	found, err := w.Disks().disk(linode, id)
	if err != nil {
		return disk{}, "", false
	}
	return *found, w.instances[linode].Region, true
}

// linodeOf is the Linode that has a disk, or 0.
func (w Images) linodeOf(disk int) int {
	for linode := range w.assets.disks {
		if w.Disks().hasDisk(linode, disk) {
			return linode
		}
	}
	return 0
}

// DeleteImage removes a private image.
func (w Images) DeleteImage(imageID string) error {
	i, err := w.image(imageID)
	switch {
	case err != nil:
		return err
	case i.IsPublic:
		return answered(http.StatusForbidden, "Unauthorized")
	}
	delete(w.assets.images, imageID)
	w.note(account.AssetDeleted, "image "+imageID, 0)
	return nil
}

// checkImage decides whether a disk of the size can be made of the image; the ID "" is a disk without an image.
func (w Images) checkImage(id string, size int, access bool) error {
	if id == "" {
		return nil
	}
	i, err := w.image(id)
	switch {
	case err != nil:
		return Refuse("image", "image is not valid")
	case i.Status != api.ImageStatusAvailable:
		return Refuse("image", "image is not available yet")
	case i.Size > size:
		return Refuse("image", "image needs a disk of %d MB; there are %d", i.Size, size)
	case !access:
		// These are the API's words.
		return Refuse("", "Must provide valid root_pass, authorized_keys, or authorized_users")
	}
	return nil
}

func (w Images) imageLabel(id string) string {
	i, err := w.image(id)
	if err != nil {
		return strings.TrimPrefix(id, "linode/")
	}
	return i.Label
}
