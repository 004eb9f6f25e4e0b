package blockstorage

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/linodehttp"
)

// account has the volumes of the Linode API, as the driver's controller keeps them (internal/driver/controllerserver.go and
// controllerserver_helper.go). Where the driver waits, this returns an error, and the caller tries again.
type account struct{ api *linodehttp.Client }

const (
	labelLength = 32
	leastGB     = 10
)

// labelOf is the name of a volume without its dashes, as long as a label may be.
func labelOf(name string) string {
	label := strings.ReplaceAll(name, "-", "")
	return label[:min(len(label), labelLength)]
}

// handle names a volume to the driver: its ID and its label.
func handle(v api.Volume) string { return fmt.Sprintf("%d-%s", v.ID, v.Label) }

func idOf(handle string) (int, error) {
	id, _, _ := strings.Cut(handle, "-")
	return strconv.Atoi(id)
}

// create makes the volume of a name, or finds it by its label.
func (a account) create(ctx context.Context, name, region string, gb int) (v api.Volume, err error) {
	label := labelOf(name)
	found, err := linodehttp.List[api.Volume](ctx, a.api, "/volumes", fmt.Sprintf(`{"label": %q}`, label))
	switch {
	case err != nil:
		return v, err
	case len(found) > 0:
		v = found[0]
	default:
		err = a.api.Send(ctx, http.MethodPost, "/volumes", "", map[string]any{"label": label, "region": region, "size": max(gb, leastGB)}, &v)
	}
	if err == nil && v.Status != api.VolumeStatusActive {
		err = fmt.Errorf("volume %d is %s", v.ID, v.Status)
	}
	return v, err
}

// remove deletes a volume that is attached to nothing.
func (a account) remove(ctx context.Context, id int) error {
	v, err := a.volume(ctx, id)
	switch {
	case linodehttp.IsNotFound(err):
		return nil
	case err != nil:
		return err
	case v.LinodeID != nil:
		return fmt.Errorf("volume %d is in use by Linode %d", id, *v.LinodeID)
	}
	err = a.api.Send(ctx, http.MethodDelete, fmt.Sprintf("/volumes/%d", id), "", nil, nil)
	if linodehttp.IsNotFound(err) {
		return nil
	}
	return err
}

func (a account) volume(ctx context.Context, id int) (v api.Volume, err error) {
	err = a.api.Send(ctx, http.MethodGet, fmt.Sprintf("/volumes/%d", id), "", nil, &v)
	return v, err
}

// attach attaches a volume to a Linode that has room for it.
func (a account) attach(ctx context.Context, id, linode int) error {
	v, err := a.volume(ctx, id)
	switch {
	case err != nil:
		return err
	case v.LinodeID != nil && *v.LinodeID == linode:
		return nil
	case v.LinodeID != nil:
		return fmt.Errorf("volume %d is already attached to Linode %d", id, *v.LinodeID)
	}
	limit, err := a.limit(ctx, linode)
	if err != nil {
		return err
	}
	has, err := linodehttp.List[api.Volume](ctx, a.api, fmt.Sprintf("/linode/instances/%d/volumes", linode), "")
	if err != nil {
		return err
	}
	if len(has) >= int(limit) {
		return fmt.Errorf("max volumes already attached: Linode %d has %d", linode, len(has))
	}
	to := api.VolumeAttach{LinodeID: linode, PersistAcrossBoots: new(false)} // so that a Linode takes more than 8
	if err := a.api.Send(ctx, http.MethodPost, fmt.Sprintf("/volumes/%d/attach", id), "", to, nil); err != nil {
		return err
	}
	if v, err = a.volume(ctx, id); err == nil && ptr.Deref(v.LinodeID, 0) != linode {
		err = fmt.Errorf("volume %d is not attached yet", id)
	}
	return err
}

// detach detaches a volume from a Linode. One that is attached elsewhere, or gone, is detached.
func (a account) detach(ctx context.Context, id, linode int) error {
	v, err := a.volume(ctx, id)
	switch {
	case linodehttp.IsNotFound(err):
		return nil
	case err != nil:
		return err
	case v.LinodeID == nil, *v.LinodeID != linode:
		return nil
	}
	if err := a.api.Send(ctx, http.MethodPost, fmt.Sprintf("/volumes/%d/detach", id), "", nil, nil); err != nil {
		return err
	}
	if v, err = a.volume(ctx, id); err == nil && v.LinodeID != nil {
		err = fmt.Errorf("volume %d is not detached yet", id)
	}
	return err
}

// attached maps the volumes of the account to the Linodes that they are attached to.
func (a account) attached(ctx context.Context) (map[int]int, error) {
	listed, err := linodehttp.List[api.Volume](ctx, a.api, "/volumes", "")
	at := map[int]int{}
	for _, v := range listed {
		if v.LinodeID != nil {
			at[v.ID] = *v.LinodeID
		}
	}
	return at, err
}

// limit is how many volumes a Linode takes: what its memory allows, less its disks.
func (a account) limit(ctx context.Context, linode int) (int32, error) {
	var instance api.Instance
	path := fmt.Sprintf("/linode/instances/%d", linode)
	if err := a.api.Send(ctx, http.MethodGet, path, "", nil, &instance); err != nil {
		return 0, err
	}
	disks, err := linodehttp.List[api.InstanceDisk](ctx, a.api, path+"/disks", "")
	return AttachLimit(int64(instance.Specs.Memory)<<20, len(disks)), err
}
