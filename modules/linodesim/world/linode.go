package world

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
)

// InstanceSpec is a Linode to be, one that is no worker of LKE.
type InstanceSpec struct {
	Label  string // "" = made up
	Type   string
	Region string // "" = us-ord
	Image  string // "" = none: it stays off
	Tags   []string
}

// InstanceCreate is what POST /linode/instances takes.
type InstanceCreate struct {
	InstanceSpec
	Off               bool // booted: false
	Access            bool // a way to log in was given
	UserData          *string
	FirewallID        *int // -1 and nil = none: the account has no default
	PlacementGroup    int  // 0 = none
	DiskEncryption    string
	MaintenancePolicy string
	Generation        string
	Interfaces        []ConfigInterface
	PrivateIP         bool
	Backups           bool
	SwapMB            *int // nil = 512
	BootMB            int  // 0 = the rest
	Kernel            string
	Group             string
}

// Generations of interfaces.
const (
	legacyConfig     = "legacy_config"
	linodeInterfaces = "linode"
)

func (i Instance) generation() string { return cmp.Or(i.Generation, legacyConfig) }

const maxUserData = 65535

// AddInstance makes a Linode of the account's owner.
func (w *World) AddInstance(by Actor, spec InstanceSpec) (Instance, error) {
	spec.Region = cmp.Or(spec.Region, "us-ord")
	return w.CreateInstance(by, InstanceCreate{InstanceSpec: spec, Access: true})
}

// CreateInstance makes a Linode.
func (w *World) CreateInstance(by Actor, spec InstanceCreate) (Instance, error) {
	defer w.lock()()
	var bad reasons
	plan, known := w.catalog.Type(spec.Type)
	if !known {
		bad.add("type", "type is not valid")
	}
	if _, ok := w.catalog.Region(spec.Region); !ok {
		bad.add("region", "region is not valid")
	}
	checkTags(&bad, spec.Tags)
	if spec.Label != "" {
		w.checkInstanceLabel(&bad, nil, spec.Label)
	}
	checkPolicy(&bad, spec.MaintenancePolicy)
	w.checkUserData(&bad, spec)
	w.checkPlace(&bad, spec)
	if err := bad.err(); err != nil {
		return Instance{}, err
	}
	swap, root := spec.disks(plan.DiskMB)
	if root < 1 || swap < 0 || root+swap > plan.DiskMB {
		return Instance{}, refuse("swap_size", "The disks do not fit on plan %s, which has %d MB", plan.ID, plan.DiskMB)
	}
	if spec.Image != "" {
		if err := w.checkImage(spec.Image, root, spec.Access); err != nil {
			return Instance{}, err
		}
	}
	if err := w.checkRoom(&cluster{Cluster: Cluster{Tier: catalog.Enterprise, Region: spec.Region}}, spec.Type, 1); err != nil {
		return Instance{}, err
	}
	return w.addInstance(by, spec).clone(), nil
}

func (s InstanceCreate) disks(size int) (swap, root int) {
	swap = 512
	if s.SwapMB != nil {
		swap = *s.SwapMB
	}
	return swap, cmp.Or(s.BootMB, size-swap)
}

func (w *World) checkUserData(bad *reasons, spec InstanceCreate) {
	if spec.UserData == nil {
		return
	}
	const field = "metadata.user_data"
	if len(*spec.UserData) > maxUserData {
		bad.add(field, "Must be at most %d bytes", maxUserData)
	} else if _, err := base64.StdEncoding.DecodeString(*spec.UserData); err != nil {
		bad.add(field, "Must be base64")
	}
	if r, ok := w.catalog.Region(spec.Region); ok && !r.Has(catalog.CapMetadata) {
		bad.add("region", "Metadata is not available in region %s", spec.Region)
	}
	if i, err := w.image(spec.Image); err == nil && !slices.Contains(i.Capabilities, cloudInit) {
		bad.add("image", "image does not support user data")
	}
}

// checkPlace is about what the Linode is put next to: firewall, group,
// networks.
func (w *World) checkPlace(bad *reasons, spec InstanceCreate) {
	if id := deref(spec.FirewallID); id > 0 && w.firewalls[id] == nil || id < -1 {
		bad.add("firewall_id", "firewall_id is not valid")
	}
	if spec.PlacementGroup != 0 {
		if g, ok := w.assets.groups[spec.PlacementGroup]; !ok || g.Region != spec.Region {
			bad.add("placement_group.id", "placement_group.id is not valid")
		} else {
			w.checkGroupRoom(bad, "placement_group.id", g, 1)
		}
	}
	w.checkInterfaces(bad, spec.Region, spec.Interfaces)
}

func (w *World) addInstance(by Actor, spec InstanceCreate) *Instance {
	public, private, v6 := w.addresses()
	i := &Instance{
		ID: w.nextID(&w.seq.instance), Label: spec.Label, Type: spec.Type, Region: spec.Region, Image: spec.Image,
		Status: StatusProvisioning, Tags: union(spec.Tags), HostUUID: w.hostUUID(), PublicIPv4: public, IPv6: v6,
		DiskEncryption: cmp.Or(spec.DiskEncryption, "enabled"), WatchdogEnabled: true, HasUserData: spec.UserData != nil,
		Group: spec.Group, Generation: spec.Generation, FirewallID: max(deref(spec.FirewallID), 0), Created: w.now, Updated: w.now,
	}
	if i.Label == "" {
		i.Label = fmt.Sprintf("linode%d", i.ID)
	}
	if spec.PrivateIP {
		i.PrivateIPv4 = private
	}
	w.defaultSettings(i)
	i.MaintenancePolicy = cmp.Or(spec.MaintenancePolicy, i.MaintenancePolicy)
	i.BackupsEnabled = i.BackupsEnabled || spec.Backups
	w.instances[i.ID] = i
	w.record(by, Entry{Action: InstanceCreated, InstanceID: i.ID, After: i.Label})
	if spec.PlacementGroup != 0 {
		w.enter(spec.PlacementGroup, i)
	}
	boot := w.profile.Join.draw(w.rng)
	w.equip(by, i, spec, boot/2)
	if spec.Image == "" || spec.Off {
		w.after(boot/2, func() { w.setStatus(i, StatusOffline) })
		return i
	}
	w.after(boot/2, func() { w.setStatus(i, StatusBooting) })
	w.after(boot*4/5, func() { w.setStatus(i, StatusRunning) })
	return i
}

// equip makes what comes with a Linode: interfaces, and with an image its two
// disks and a configuration.
func (w *World) equip(by Actor, i *Instance, spec InstanceCreate, ready time.Duration) {
	if i.generation() == linodeInterfaces {
		w.addInterfaces(i, spec.Interfaces)
		spec.Interfaces = nil
	}
	if spec.Image == "" {
		return
	}
	plan, _ := w.catalog.Type(spec.Type)
	swap, root := spec.disks(plan.DiskMB)
	name := w.imageLabel(spec.Image) + " Disk"
	devices := map[string]Device{
		"sda": {DiskID: w.addDisk(by, i, DiskSpec{Label: name, SizeMB: root, Image: spec.Image}, ready).ID},
	}
	if swap > 0 {
		label := fmt.Sprintf("%d MB Swap Image", swap)
		devices["sdb"] = Device{DiskID: w.addDisk(by, i, DiskSpec{Label: label, SizeMB: swap, Filesystem: "swap"}, ready).ID}
	}
	label, kernel := "My "+name+" Profile", cmp.Or(spec.Kernel, "linode/grub2")
	label = label[:min(len(label), 48)]
	w.addConfig(by, i, ConfigEdit{Label: &label, Kernel: &kernel, Devices: &devices, Interfaces: &spec.Interfaces})
}
