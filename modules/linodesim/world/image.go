package world

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// States of an image.
const (
	ImageCreating  = "creating"
	ImageAvailable = "available"
)

// Image is a disk image, public or private.
type Image struct {
	ID, Label        string
	Description      string
	Status           string
	SizeMB           int
	Public           bool
	Deprecated       bool
	Vendor           string // "" = none
	Capabilities     []string
	Regions          []string // with a copy; empty for public ones
	Tags             []string
	EndOfLife        time.Time // zero = none
	CreatedBy        string
	Created, Updated time.Time
}

// ImageSpec is a private image to be.
type ImageSpec struct {
	DiskID             int
	Label, Description string
	CloudInit          bool
	Tags               []string
}

const cloudInit = "cloud-init"

// Images lists private ones by ID, then public ones.
func (w *World) Images() []Image {
	defer w.lock()()
	out := sorted(w.assets.images)
	for _, c := range w.catalog.Images {
		out = append(out, w.publicImage(c.ID))
	}
	return out
}

// Image finds one.
func (w *World) Image(id string) (Image, error) {
	defer w.lock()()
	return w.image(id)
}

func (w *World) image(id string) (Image, error) {
	if i, ok := w.assets.images[id]; ok {
		return i, nil
	}
	if _, ok := w.catalog.Image(id); ok {
		return w.publicImage(id), nil
	}
	return Image{}, notFound()
}

func (w *World) publicImage(id string) Image {
	c, _ := w.catalog.Image(id)
	out := Image{
		ID: c.ID, Label: c.Label, Status: ImageAvailable, SizeMB: c.SizeMB, Public: true, Deprecated: c.Deprecated, Vendor: c.Vendor,
		Capabilities: []string{"distributed-sites"}, Tags: []string{}, EndOfLife: c.EndOfLife, CreatedBy: "linode", Created: c.Created, Updated: c.Created,
	}
	if c.CloudInit {
		out.Capabilities = []string{cloudInit, "distributed-sites"}
	}
	return out
}

// CreateImage makes a private image of a disk.
func (w *World) CreateImage(by Actor, spec ImageSpec) (Image, error) {
	defer w.lock()()
	var bad reasons
	checkTags(&bad, spec.Tags)
	checkLength(&bad, "label", spec.Label, 0, 50)
	disk, region, ok := w.findDisk(spec.DiskID)
	if !ok {
		bad.add("disk_id", "disk_id is not valid")
	} else if disk.Filesystem == "swap" {
		bad.add("disk_id", "No image can be made of a swap disk")
	}
	if err := bad.err(); err != nil {
		return Image{}, err
	}
	number := w.sideID(&w.seq.image)
	i := Image{
		ID: fmt.Sprintf("private/%d", number), Label: cmp.Or(spec.Label, disk.Label), Description: spec.Description, Status: ImageCreating,
		SizeMB: disk.SizeMB, Capabilities: []string{}, Regions: []string{}, Tags: nonNil(slices.Clone(spec.Tags)),
		CreatedBy: by.User, Created: w.now, Updated: w.now,
	}
	if spec.CloudInit {
		i.Capabilities = []string{cloudInit}
	}
	w.assets.images[i.ID] = i
	w.note(by, AssetCreated, "image "+i.ID, disk.LinodeID)
	w.after(w.profile.Join.draw(w.side), func() {
		if made, ok := w.assets.images[i.ID]; ok {
			made.Status, made.Regions, made.Updated, made.SizeMB = ImageAvailable, []string{region}, w.now, w.contents(disk)
			w.assets.images[i.ID] = made
		}
	})
	return w.assets.images[i.ID], nil
}

// contents is the size of an image of a disk: while it is made the disk's, then
// what is in it. Recorded: 1754 MB of a disk made from an image of 1800 MB, and
// 366 MB of an empty one.
func (w *World) contents(d LinodeDisk) int {
	if from, err := w.image(d.Image); err == nil {
		return from.SizeMB * 1754 / 1800
	}
	return min(d.SizeMB, 366)
}

func (w *World) findDisk(id int) (LinodeDisk, string, bool) {
	for linode, disks := range w.assets.disks {
		if at := slices.IndexFunc(disks, func(d LinodeDisk) bool { return d.ID == id }); at >= 0 {
			return disks[at], w.instances[linode].Region, true
		}
	}
	return LinodeDisk{}, "", false
}

// DeleteImage removes a private image.
func (w *World) DeleteImage(by Actor, id string) error {
	defer w.lock()()
	if _, ok := w.assets.images[id]; !ok {
		if _, public := w.catalog.Image(id); public {
			return &Refusal{Status: http.StatusForbidden, Reasons: []Reason{{"", "Unauthorized"}}}
		}
		return notFound()
	}
	delete(w.assets.images, id)
	w.note(by, AssetDeleted, "image "+id, 0)
	return nil
}

// checkImage decides whether a disk of the size can be made of the image.
func (w *World) checkImage(id string, sizeMB int, access bool) error {
	i, err := w.image(id)
	switch {
	case err != nil:
		return refuse("image", "image is not valid")
	case i.Status != ImageAvailable:
		return refuse("image", "image is not available yet")
	case i.SizeMB > sizeMB:
		return refuse("image", "image needs a disk of %d MB; there are %d", i.SizeMB, sizeMB)
	case !access:
		// These are the API's words.
		return refuse("", "Must provide valid root_pass, authorized_keys, or authorized_users")
	}
	return nil
}

func (w *World) imageLabel(id string) string {
	i, err := w.image(id)
	if err != nil {
		return strings.TrimPrefix(id, "linode/")
	}
	return i.Label
}
