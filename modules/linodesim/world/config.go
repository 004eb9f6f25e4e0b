package world

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// LinodeConfig is what a Linode starts with. Those of LKE workers are not
// modelled.
type LinodeConfig struct {
	ID, LinodeID     int
	Label, Kernel    string
	Comments         string
	MemoryLimit      int
	RunLevel         string
	VirtMode         string
	RootDevice       string
	Initrd           int // 0 = none
	Devices          map[string]Device
	Helpers          Helpers
	Interfaces       []ConfigInterface
	Created, Updated time.Time
}

// Device is a disk or a volume; 0 is none.
type Device struct {
	DiskID, VolumeID int
}

// Helpers change the file system at each start.
type Helpers struct {
	Updatedb, Distro, Modules, Network, Devtmpfs bool
}

// ConfigInterface is a legacy interface.
type ConfigInterface struct {
	ID              int
	Purpose         string // public, vlan, vpc
	Label, IPAM     string
	Primary         bool
	VPCID, SubnetID int
	Address         string // in the VPC
	NAT             string
	Ranges          []string
}

// ConfigEdit makes or changes a configuration; nil fields keep their value.
type ConfigEdit struct {
	Label, Kernel, Comments, RunLevel, VirtMode, RootDevice *string
	MemoryLimit, Initrd                                     *int
	Devices                                                 *map[string]Device
	Helpers                                                 *Helpers
	Interfaces                                              *[]ConfigInterface
}

// DeviceNames are those that a configuration has.
var DeviceNames = []string{"sda", "sdb", "sdc", "sdd", "sde", "sdf", "sdg", "sdh"}

func (c LinodeConfig) without(disk int) LinodeConfig {
	c.Devices = maps.Clone(c.Devices)
	maps.DeleteFunc(c.Devices, func(_ string, d Device) bool { return d.DiskID == disk })
	return c
}

// Configs lists a Linode's configurations by ID.
func (w *World) Configs(linode int) ([]LinodeConfig, error) {
	defer w.lock()()
	if w.instances[linode] == nil {
		return nil, notFound()
	}
	return slices.Clone(w.assets.configs[linode]), nil
}

// LinodeConfig finds one.
func (w *World) LinodeConfig(linode, config int) (LinodeConfig, error) {
	defer w.lock()()
	at := w.configAt(linode, config)
	if at < 0 {
		return LinodeConfig{}, notFound()
	}
	return w.assets.configs[linode][at], nil
}

func (w *World) configAt(linode, config int) int {
	return slices.IndexFunc(w.assets.configs[linode], func(c LinodeConfig) bool { return c.ID == config })
}

// CreateConfig adds a configuration to a Linode.
func (w *World) CreateConfig(by Actor, linode int, edit ConfigEdit) (LinodeConfig, error) {
	defer w.lock()()
	i, ok := w.instances[linode]
	if !ok {
		return LinodeConfig{}, notFound()
	}
	if err := w.checkConfig(i, edit); err != nil {
		return LinodeConfig{}, err
	}
	return w.addConfig(by, i, edit), nil
}

// addConfig fills in the defaults that were recorded.
func (w *World) addConfig(by Actor, i *Instance, edit ConfigEdit) LinodeConfig {
	c := LinodeConfig{
		ID: w.sideID(&w.seq.config), LinodeID: i.ID, Kernel: "linode/latest-64bit", RunLevel: "default", VirtMode: "paravirt",
		RootDevice: "/dev/sda", Helpers: Helpers{Updatedb: true, Distro: true, Modules: true, Devtmpfs: true}, Created: w.now,
	}
	c = w.edited(i, c, edit)
	w.assets.configs[i.ID] = append(w.assets.configs[i.ID], c)
	w.note(by, AssetCreated, fmt.Sprintf("config %d", c.ID), i.ID)
	return c
}

// UpdateConfig changes one.
func (w *World) UpdateConfig(by Actor, linode, config int, edit ConfigEdit) (LinodeConfig, error) {
	defer w.lock()()
	at := w.configAt(linode, config)
	if at < 0 {
		return LinodeConfig{}, notFound()
	}
	i := w.instances[linode]
	if err := w.checkConfig(i, edit); err != nil {
		return LinodeConfig{}, err
	}
	c := w.edited(i, w.assets.configs[linode][at], edit)
	w.assets.configs[linode][at] = c
	w.note(by, AssetChanged, fmt.Sprintf("config %d", config), linode)
	return c, nil
}

// DeleteConfig removes one.
func (w *World) DeleteConfig(by Actor, linode, config int) error {
	defer w.lock()()
	at := w.configAt(linode, config)
	if at < 0 {
		return notFound()
	}
	w.assets.configs[linode] = slices.Delete(w.assets.configs[linode], at, at+1)
	w.note(by, AssetDeleted, fmt.Sprintf("config %d", config), linode)
	return nil
}

func (w *World) checkConfig(i *Instance, edit ConfigEdit) error {
	var bad reasons
	if edit.Label != nil && (len(*edit.Label) < 1 || len(*edit.Label) > 48) {
		bad.add("label", "Length must be 1-48 characters")
	}
	devices := deref(edit.Devices)
	for _, name := range slices.Sorted(maps.Keys(devices)) {
		d := devices[name]
		switch {
		case !slices.Contains(DeviceNames, name):
			bad.add("devices."+name, "Must be one of %s", strings.Join(DeviceNames, ", "))
		case d.VolumeID != 0:
			bad.add("devices."+name+".volume_id", "volume_id is not valid")
		case d.DiskID != 0 && w.diskAt(i.ID, d.DiskID) < 0:
			bad.add("devices."+name+".disk_id", "disk_id is not valid")
		}
	}
	if edit.Initrd != nil && *edit.Initrd != 0 && w.diskAt(i.ID, *edit.Initrd) < 0 {
		bad.add("initrd", "initrd is not valid")
	}
	if len(deref(edit.Interfaces)) > 0 && i.generation() != legacyConfig {
		bad.add("interfaces", "A Linode of the generation linode has no interfaces in its configurations")
	}
	w.checkInterfaces(&bad, i.Region, deref(edit.Interfaces))
	return bad.err()
}

func (w *World) checkInterfaces(bad *reasons, region string, list []ConfigInterface) {
	if len(list) > 3 {
		bad.add("interfaces", "At most 3 interfaces are allowed")
	}
	for n, f := range list {
		field := fmt.Sprintf("interfaces[%d].", n)
		switch f.Purpose {
		case "public":
		case "vlan":
			if f.Label == "" {
				bad.add(field+"label", "label is required")
			}
		case "vpc":
			if vpc, _, ok := w.subnet(f.SubnetID); !ok || vpc.Region != region {
				bad.add(field+"subnet_id", "subnet_id is not valid")
			}
		default:
			bad.add(field+"purpose", "Must be one of public, vlan, vpc")
		}
	}
}

func (w *World) edited(i *Instance, c LinodeConfig, edit ConfigEdit) LinodeConfig {
	set(&c.Label, edit.Label)
	set(&c.Kernel, edit.Kernel)
	set(&c.Comments, edit.Comments)
	set(&c.RunLevel, edit.RunLevel)
	set(&c.VirtMode, edit.VirtMode)
	set(&c.RootDevice, edit.RootDevice)
	set(&c.MemoryLimit, edit.MemoryLimit)
	set(&c.Initrd, edit.Initrd)
	set(&c.Helpers, edit.Helpers)
	if edit.Devices != nil {
		c.Devices = maps.Clone(*edit.Devices)
	}
	if edit.Interfaces != nil {
		c.Interfaces = slices.Clone(*edit.Interfaces)
		for n := range c.Interfaces {
			w.connect(i, &c.Interfaces[n])
		}
	}
	c.Updated = w.now
	return c
}

// connect gives an interface its ID and, in a VPC, its address.
func (w *World) connect(i *Instance, f *ConfigInterface) {
	f.ID = w.sideID(&w.seq.iface)
	if f.Purpose != "vpc" {
		return
	}
	vpc, s, _ := w.subnet(f.SubnetID)
	f.VPCID = vpc.ID
	f.Address = cmp.Or(f.Address, s.address(len(w.members(s.ID))))
	if f.NAT == "any" {
		f.NAT = i.PublicIPv4
	}
}
