package linodeapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/effects"
	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// backend implements instances.Backend.
type backend struct{ client *linode.Client }

// New returns the backend over a client. It makes no request. A nil client is an error of claims.KindInvalid.
func New(client *linode.Client) (instances.Backend, error) {
	if client == nil {
		return nil, &claims.Error{Kind: claims.KindInvalid, Op: "configure", Field: "client", Err: errors.New("is nil")}
	}
	return &backend{client: client}, nil
}

func (b *backend) Tagged(ctx context.Context, tag string) ([]instances.Instance, error) {
	found, err := b.list(ctx, linode.Where("tags").Equal(tag))
	// Whether the API's filter is sensitive to case is not known.
	return slices.DeleteFunc(found, func(i instances.Instance) bool { return !slices.Contains(i.Tags, tag) }), err
}

func (b *backend) Find(ctx context.Context, label, tag string) ([]instances.Instance, error) {
	found, err := b.list(ctx, linode.Or(linode.Where("label").Equal(label), linode.Where("tags").Equal(tag)))
	return slices.DeleteFunc(found, func(i instances.Instance) bool { return i.Name != label && !slices.Contains(i.Tags, tag) }), err
}

func (b *backend) list(ctx context.Context, filter linode.Filter) ([]instances.Instance, error) {
	var found []instances.Instance
	for i, err := range b.client.ListInstances(ctx, filter) {
		if err != nil {
			return nil, unlisted("list instances", 0, err)
		}
		found = append(found, instanceOf(i))
	}
	return found, nil
}

func (b *backend) Instance(ctx context.Context, id int) (instances.Instance, error) {
	i, err := b.client.GetInstance(ctx, id)
	if err != nil {
		return instances.Instance{}, failed("read instance", id, err)
	}
	return instanceOf(*i), nil
}

func (b *backend) Disks(ctx context.Context, id int) ([]instances.DiskState, error) {
	var disks []instances.DiskState
	for disk, err := range b.client.ListDisks(ctx, id) {
		if err != nil {
			return nil, unlisted("list disks", id, err)
		}
		disks = append(disks, diskOf(disk))
	}
	return disks, nil
}

func (b *backend) Disk(ctx context.Context, id, diskID int) (instances.DiskState, error) {
	disk, err := b.client.GetDisk(ctx, id, diskID)
	if err != nil {
		return instances.DiskState{}, failed("read disk", id, err)
	}
	return diskOf(*disk), nil
}

func (b *backend) Configs(ctx context.Context, id int) ([]instances.ConfigState, error) {
	var configs []instances.ConfigState
	for config, err := range b.client.ListConfigs(ctx, id, linode.Filter{}) {
		if err != nil {
			return nil, unlisted("list configurations", id, err)
		}
		configs = append(configs, instances.ConfigState{ID: config.ID, Devices: devicesOf(config.Devices)})
	}
	return configs, nil
}

// timely returns a context with which the client sends a write in time or not at all.
func timely(ctx context.Context) context.Context {
	if before, bounded := effects.SendBefore(ctx); bounded {
		return linode.SendBefore(ctx, before)
	}
	return ctx
}

func (b *backend) Create(ctx context.Context, c instances.Creation) (instances.Instance, error) {
	i, err := b.client.CreateInstance(timely(ctx), creation(c))
	if err != nil {
		return instances.Instance{}, refused(err)
	}
	return instanceOf(*i), nil
}

func (b *backend) Delete(ctx context.Context, id int) error {
	err := b.client.DeleteInstance(timely(ctx), id)
	if err == nil {
		return nil
	}
	e := failed("delete instance", id, err)
	if e.Kind == claims.KindInvalid { // it is being cloned or restored, or is locked: that needs a person
		e.Kind, e.Field = claims.KindConflict, ""
	}
	return e
}

func (b *backend) Tag(ctx context.Context, id int, tags []string) (instances.Instance, error) {
	i, err := b.client.UpdateInstance(timely(ctx), id, api.InstanceUpdate{Tags: &tags})
	if err != nil {
		return instances.Instance{}, failed("tag instance", id, err)
	}
	return instanceOf(*i), nil
}

func (b *backend) AddDisk(ctx context.Context, id int, disk instances.Disk) (instances.DiskState, error) {
	request := api.InstanceDiskCreate{Size: disk.SizeMB, Label: &disk.Label}
	filesystem := api.InstanceDiskCreateFilesystem("ext4")
	if disk.Filesystem != "" {
		filesystem = api.InstanceDiskCreateFilesystem(disk.Filesystem)
	}
	request.Filesystem = &filesystem
	made, err := b.client.CreateDisk(timely(ctx), id, request)
	if err != nil {
		e := failed("add disk", id, err)
		if e.Field != "" {
			e.Field = "Spec.Storage.Data"
		}
		return instances.DiskState{}, e
	}
	return diskOf(*made), nil
}

func (b *backend) Attach(ctx context.Context, id, configID int, devices map[string]int) error {
	request := api.InstanceConfigDevicesCreate{}
	for name, disk := range devices {
		request[name] = api.InstanceConfigDeviceCreate{DiskID: &disk}
	}
	if _, err := b.client.UpdateConfig(timely(ctx), id, configID, api.InstanceConfigUpdate{Devices: &request}); err != nil {
		return failed("attach disks", id, err)
	}
	return nil
}

// Boot treats it as a success if the API refuses to boot an instance that already runs.
func (b *backend) Boot(ctx context.Context, id, configID int) error {
	err := b.client.BootInstance(timely(ctx), id, api.InstanceBoot{ConfigID: &configID})
	if err == nil {
		return nil
	}
	e := failed("boot instance", id, err)
	if e.Kind == claims.KindInvalid && strings.Contains(strings.ToLower(e.Err.Error()), "already running") {
		return nil
	}
	if e.Kind == claims.KindInvalid {
		e.Err = fmt.Errorf("configuration %d: %w", configID, e.Err)
	}
	return e
}
