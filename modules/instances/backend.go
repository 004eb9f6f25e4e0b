package instances

import (
	"context"
	"errors"
)

// ErrLabelTaken is the cause of a Backend's KindConflict when another instance has the
// label.
var ErrLabelTaken = errors.New("the label is taken")

// Backend is the platform. It decides nothing. All methods are safe for
// concurrent use, return *claims.Error, and honour the context.
type Backend interface {
	Reader
	Writer
}

// Reader reads the platform's state. Its answers may be out of date, those
// about one instance by at most Config.SettleTime.
type Reader interface {
	// Tagged lists the instances with a tag, Find those with a label or a tag.
	Tagged(ctx context.Context, tag string) ([]Instance, error)
	Find(ctx context.Context, label, tag string) ([]Instance, error)
	// Instance reads one; claims.KindNotFound only for a 404.
	Instance(ctx context.Context, id int) (Instance, error)
	// Disks and Configs list what an instance has; Disk reads one disk, which
	// counts against no limit of lists.
	Disks(ctx context.Context, id int) ([]DiskState, error)
	Disk(ctx context.Context, id, diskID int) (DiskState, error)
	Configs(ctx context.Context, id int) ([]ConfigState, error)
}

// Writer changes the platform's state. Error.Effect of a failure is what is
// known of the change.
type Writer interface {
	// Create makes an instance. ErrLabelTaken is the cause of its claims.KindConflict
	// when the label is in use.
	Create(ctx context.Context, c Creation) (Instance, error)
	// Delete removes an instance; claims.KindNotFound only for a 404.
	Delete(ctx context.Context, id int) error
	// Tag replaces the tags and returns the instance as stored.
	Tag(ctx context.Context, id int, tags []string) (Instance, error)
	// AddDisk makes a disk, Attach sets the devices of a configuration, Boot starts it.
	AddDisk(ctx context.Context, id int, disk Disk) (DiskState, error)
	Attach(ctx context.Context, id, configID int, devices map[string]int) error
	Boot(ctx context.Context, id, configID int) error
}

// Creation is the request for one instance.
type Creation struct {
	Spec
	Label string
	// Tags are all tags, those of the engine included.
	Tags []string
	// UserData is what is sent, before base64.
	UserData []byte
	// Off: the instance is not booted, because more is to be made first.
	Off bool
}

// DiskState is a disk that an instance has.
type DiskState struct {
	ID    int
	Label string
	// Ready: it is made; otherwise that is under way.
	Ready bool
}

// ConfigState is a configuration that an instance has.
type ConfigState struct {
	ID int
	// Devices has the disk of each device name, such as sda.
	Devices map[string]int
}
