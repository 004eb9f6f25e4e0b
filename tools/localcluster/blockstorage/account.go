package blockstorage

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/linodehttp"
)

// account manages the volumes of the Linode API as the driver's controller does. Its errors have the codes that the driver returns
// (internal/driver/errors.go, controllerserver.go, controllerserver_helper.go). Errors without a code of the driver are Internal, as there.
type account struct{ api *linodehttp.Client }

const (
	labelLength = 32               // pkg/linode-volumes/utils.go
	leastBytes  = 10 << 30         // internal/driver/controllerserver_helper.go, MinVolumeSizeBytes
	waitTimeout = 5 * time.Minute  // the same file, WaitTimeout
	poll        = time.Second / 10 // the account is simulated, and its volumes change in milliseconds
)

func internal(format string, args ...any) error {
	return status.Errorf(codes.Internal, format, args...)
}

// labelOf is the name of a volume, cut to the length that a label may have.
func labelOf(name string) string { return name[:min(len(name), labelLength)] }

// handle is the driver's ID of a volume: the volume's ID and label in the Linode API.
func handle(v api.Volume) string { return fmt.Sprintf("%d-%s", v.ID, v.Label) }

// idOf is the volume's ID in a handle. For any other text it is 0, which no volume has. The driver computes a hash of such a text as the ID
// (pkg/linode-volumes/utils.go), and no volume has that ID either.
func idOf(handle string) int {
	id, _, _ := strings.Cut(handle, "-")
	n, _ := strconv.Atoi(id)
	return n
}

// create finds a volume by the label of its name, or else makes the volume, and waits until it is active. A volume of another size is an
// error.
func (a account) create(ctx context.Context, name, region string, gb int) (v api.Volume, err error) {
	label := labelOf(name)
	found, err := linodehttp.List[api.Volume](ctx, a.api, "/volumes", fmt.Sprintf(`{"label": %q}`, label))
	switch {
	case err != nil:
		return v, internal("list volumes: %v", err)
	case len(found) > 0:
		v = found[0]
	default:
		err = a.api.Send(ctx, http.MethodPost, "/volumes", "", map[string]any{"label": label, "region": region, "size": gb}, &v)
		if err != nil {
			return v, internal("create volume: %v", err)
		}
	}
	if v.Size != gb {
		return v, status.Errorf(codes.AlreadyExists, "volume %d already exists with size %d", v.ID, v.Size)
	}
	return a.until(ctx, v.ID, "is active", func(v api.Volume) bool { return v.Status == api.VolumeStatusActive })
}

// until reads a volume every poll until is returns true for it. It gives up after waitTimeout.
func (a account) until(ctx context.Context, id int, what string, is func(api.Volume) bool) (v api.Volume, err error) {
	err = wait.PollUntilContextTimeout(ctx, poll, waitTimeout, true, func(ctx context.Context) (bool, error) {
		v, err = a.volume(ctx, id)
		return err == nil && is(v), err
	})
	if err != nil {
		return v, internal("waiting until volume %d %s: %v", id, what, err)
	}
	return v, nil
}

// remove deletes a volume that is attached to nothing.
func (a account) remove(ctx context.Context, id int) error {
	v, err := a.volume(ctx, id)
	switch {
	case linodehttp.IsNotFound(err):
		return nil
	case err != nil:
		return internal("get volume %d: %v", id, err)
	case v.LinodeID != nil:
		return status.Error(codes.FailedPrecondition, "volume is in use")
	}
	if err := a.api.Send(ctx, http.MethodDelete, fmt.Sprintf("/volumes/%d", id), "", nil, nil); err != nil {
		return internal("delete volume %d: %v", id, err)
	}
	return nil
}

func (a account) volume(ctx context.Context, id int) (v api.Volume, err error) {
	err = a.api.Send(ctx, http.MethodGet, fmt.Sprintf("/volumes/%d", id), "", nil, &v)
	return v, err
}

func (a account) volumes(ctx context.Context) ([]api.Volume, error) {
	return linodehttp.List[api.Volume](ctx, a.api, "/volumes", "")
}

// attach attaches a volume to a Linode that has room for it, and waits until it is attached.
func (a account) attach(ctx context.Context, id, linode int) (api.Volume, error) {
	limit, err := a.limit(ctx, linode, 0)
	if linodehttp.IsNotFound(err) {
		return api.Volume{}, status.Errorf(codes.NotFound, "linode instance %d not found", linode)
	} else if err != nil {
		return api.Volume{}, internal("get linode instance %d: %v", linode, err)
	}
	v, err := a.volume(ctx, id)
	switch {
	case linodehttp.IsNotFound(err):
		return v, status.Errorf(codes.NotFound, "volume not found: %d", id)
	case err != nil:
		return v, internal("get volume %d: %v", id, err)
	case v.LinodeID != nil && *v.LinodeID == linode:
		return v, nil
	case v.LinodeID != nil:
		return v, status.Errorf(codes.FailedPrecondition, "volume %d is already attached to linode %d", id, *v.LinodeID)
	}
	has, err := linodehttp.List[api.Volume](ctx, a.api, fmt.Sprintf("/linode/instances/%d/volumes", linode), "")
	if err != nil {
		return v, internal("list instance volumes: %v", err)
	}
	if len(has) >= int(limit) {
		return v, status.Errorf(codes.ResourceExhausted, "max number of volumes (%d) already attached to instance", limit)
	}
	to := api.VolumeAttach{LinodeID: linode, PersistAcrossBoots: new(false)} // with true, a Linode takes at most 8 volumes
	if err := a.api.Send(ctx, http.MethodPost, fmt.Sprintf("/volumes/%d/attach", id), "", to, nil); err != nil {
		code := codes.Internal
		if strings.Contains(err.Error(), "is already attached") {
			code = codes.Unavailable
		}
		return v, status.Errorf(code, "attach volume: %v", err)
	}
	return a.until(ctx, id, "is attached", func(v api.Volume) bool { return ptr.Deref(v.LinodeID, 0) == linode })
}

// detach detaches a volume from a Linode (0: from any Linode), and waits until it is attached nowhere. A volume that is attached to another
// Linode, or that is gone, counts as detached. The driver sends a request also for a volume that is attached nowhere. detach sends no such
// request, because the API's answer to it is not known.
func (a account) detach(ctx context.Context, id, linode int) error {
	v, err := a.volume(ctx, id)
	switch {
	case linodehttp.IsNotFound(err):
		return nil
	case err != nil:
		return internal("get volume %d: %v", id, err)
	case v.LinodeID == nil, linode != 0 && *v.LinodeID != linode:
		return nil
	}
	if err := a.api.Send(ctx, http.MethodPost, fmt.Sprintf("/volumes/%d/detach", id), "", nil, nil); err != nil {
		return internal("detach volume %d: %v", id, err)
	}
	_, err = a.until(ctx, id, "is detached", func(v api.Volume) bool { return v.LinodeID == nil })
	return err
}

// limit returns how many volumes a Linode takes: the number that its memory allows, less the number of its disks. A Linode with fewer disks
// than leastDisks counts as a Linode with leastDisks disks.
func (a account) limit(ctx context.Context, linode, leastDisks int) (int32, error) {
	var instance api.Instance
	path := fmt.Sprintf("/linode/instances/%d", linode)
	if err := a.api.Send(ctx, http.MethodGet, path, "", nil, &instance); err != nil {
		return 0, err
	}
	disks, err := linodehttp.List[api.InstanceDisk](ctx, a.api, path+"/disks", "")
	return AttachLimit(int64(instance.Specs.Memory)<<20, max(len(disks), leastDisks)), err
}
