package instances

import (
	"context"

	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core"
)

// ErrLabelTaken is the cause of a Backend's KindConflict when another instance has the
// label.
var ErrLabelTaken = core.ErrLabelTaken

// Backend makes requests to the platform and decides nothing. All methods are safe
// for concurrent use, return *claims.Error, and honour the context.
type Backend interface {
	Reader
	Writer
}

// Reader reads the platform's state. Its answers may be out of date, answers
// about one instance by at most Config.SettleTime.
type Reader interface {
	// Tagged lists the instances with a tag, Find lists the instances with a label or a tag.
	Tagged(ctx context.Context, tag string) ([]Instance, error)
	Find(ctx context.Context, label, tag string) ([]Instance, error)
	// Instance reads one instance. It returns claims.KindNotFound only for a 404.
	Instance(ctx context.Context, id int) (Instance, error)
	// Disks and Configs list the disks and configurations of an instance. Disk reads
	// one disk, which counts against no limit of lists.
	Disks(ctx context.Context, id int) ([]DiskState, error)
	Disk(ctx context.Context, id, diskID int) (DiskState, error)
	Configs(ctx context.Context, id int) ([]ConfigState, error)
}

// Writer changes the platform's state. Error.Effect of a failure reports whether the
// change happened.
type Writer interface {
	// Create makes an instance. ErrLabelTaken is the cause of its claims.KindConflict
	// when the label is in use.
	Create(ctx context.Context, c Creation) (Instance, error)
	// Delete removes an instance. It returns claims.KindNotFound only for a 404.
	Delete(ctx context.Context, id int) error
	// Tag replaces the tags and returns the instance as stored.
	Tag(ctx context.Context, id int, tags []string) (Instance, error)
	// AddDisk makes a disk, Attach sets the devices of a configuration, Boot starts the instance with a configuration.
	AddDisk(ctx context.Context, id int, disk Disk) (DiskState, error)
	Attach(ctx context.Context, id, configID int, devices map[string]int) error
	Boot(ctx context.Context, id, configID int) error
}

// Creation describes the request for one instance.
type Creation struct {
	Spec
	Label string
	// Tags are all tags, the engine's included.
	Tags []string
	// UserData is sent as it is, in base64.
	UserData []byte
	// Off leaves the instance without a boot, because disks are added first.
	Off bool
}

// DiskState describes a disk of an instance.
type DiskState struct {
	ID    int
	Label string
	// Ready is false while the platform makes the disk.
	Ready bool
}

// ConfigState describes a configuration of an instance.
type ConfigState struct {
	ID int
	// Devices maps device names, such as sda, to the IDs of disks.
	Devices map[string]int
}
