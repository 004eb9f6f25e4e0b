package world

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"time"
	"unicode"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
)

// AddInstance makes a Linode of the account's owner, and gives its ID.
func (w Linodes) AddInstance(spec account.InstanceSpec) (int, error) {
	request := &api.InstanceCreate{
		Label: optional(spec.Label), Type: spec.Type, Region: cmp.Or(spec.Region, "us-ord"), Image: optional(spec.Image), Tags: &spec.Tags,
		RootPass: new("not-a-secret"), PrivateIP: &spec.PrivateIP,
	}
	if spec.SubnetID != 0 {
		request.Interfaces = &[]map[string]any{{
			"purpose": "vpc", "subnet_id": float64(spec.SubnetID), "primary": true, "ipv4": map[string]any{"nat_1_1": "any"},
		}}
	}
	i, err := w.CreateInstance(request)
	return i.ID, err
}

const maxUserData = 65535

// checkPassword refuses passwords that are too short, too long or weak. The API's own measure
// of strength is not known; two kinds of characters are its documented minimum.
func checkPassword(bad *reasons, password *string) {
	if password == nil {
		return
	}
	if n := len(*password); n < 11 || n > 128 {
		bad.add("root_pass", "Length must be 11-128 characters")
		return
	}
	kinds := map[int]bool{}
	for _, c := range *password {
		switch {
		case unicode.IsLower(c):
			kinds[0] = true
		case unicode.IsUpper(c):
			kinds[1] = true
		case unicode.IsDigit(c):
			kinds[2] = true
		default:
			kinds[3] = true
		}
	}
	if len(kinds) < 2 {
		bad.add("root_pass", "Password does not meet strength requirements.")
	}
}

// CreateInstance makes a Linode.
func (w Linodes) CreateInstance(b *api.InstanceCreate) (api.Instance, error) {
	if err := notHere(b); err != nil {
		return api.Instance{}, err
	}
	if err := w.chooseGeneration(b); err != nil {
		return api.Instance{}, err
	}
	generation := string(deref(b.InterfaceGeneration))
	var nics []nic
	for n, f := range deref(b.Interfaces) {
		made, err := readInterface(n, f, generation)
		if err != nil {
			return api.Instance{}, err
		}
		nics = append(nics, made)
	}
	if err := w.checkInstance(b, nics); err != nil {
		return api.Instance{}, err
	}
	return w.instance(w.addInstance(b, nics)), nil
}

// chooseGeneration fills in the generation of interfaces from the account's settings. It
// refuses a generation that the settings do not allow.
func (w Linodes) chooseGeneration(b *api.InstanceCreate) error {
	const only = api.AccountSettingsInterfacesForNewLinodesLinodeOnly
	switch setting := deref(w.assets.settings.InterfacesForNewLinodes); {
	case b.InterfaceGeneration == nil && (setting == only ||
		setting == api.AccountSettingsInterfacesForNewLinodesLinodeDefaultButLegacyConfigAllowed):
		b.InterfaceGeneration = new(api.InstanceCreateInterfaceGeneration(linodeInterfaces))
	case b.InterfaceGeneration == nil:
	case setting == only && string(*b.InterfaceGeneration) != linodeInterfaces,
		setting == api.AccountSettingsInterfacesForNewLinodesLegacyConfigOnly && string(*b.InterfaceGeneration) == linodeInterfaces:
		return Refuse("interface_generation", "The settings of the account do not allow interfaces of this generation")
	}
	return nil
}

// notHere refuses requests that name objects which the simulator does not have: backups and
// StackScripts.
func notHere(b *api.InstanceCreate) error {
	switch {
	case b.BackupID != nil:
		return Refuse("backup_id", "backup_id is not valid")
	case b.StackscriptID != nil || b.StackscriptData != nil:
		return Refuse("stackscript_id", "stackscript_id is not valid")
	case b.NetworkHelper != nil && deref(b.InterfaceGeneration) != linodeInterfaces:
		return Refuse("network_helper", "network_helper is only for interfaces of the generation linode")
	}
	return nil
}

func (w Linodes) checkInstance(b *api.InstanceCreate, nics []nic) error {
	var bad reasons
	plan, known := w.catalog.Type(b.Type)
	if !known {
		bad.invalid("type")
	}
	if _, ok := w.catalog.Region(b.Region); !ok {
		bad.invalid("region")
	}
	w.Addresses().checkWanted(&bad, deref(b.IPv4))
	checkTags(&bad, deref(b.Tags))
	// The text is a guess. That these Linodes have no private address:
	// cluster-api-provider-linode, internal/webhook/v1alpha2/linodemachine_webhook.go.
	if string(deref(b.InterfaceGeneration)) == linodeInterfaces && deref(b.PrivateIP) {
		bad.add("private_ip", "Linode interfaces do not support private IPs")
	}
	if label := deref(b.Label); label != "" {
		w.checkInstanceLabel(&bad, nil, label)
	}
	checkPolicy(&bad, deref(b.MaintenancePolicy))
	checkPassword(&bad, b.RootPass)
	w.checkUserData(&bad, b)
	w.checkPlace(&bad, b)
	w.Interfaces().checkInterfaces(&bad, b.Region, string(deref(b.InterfaceGeneration)), nics, deref(b.FirewallID))
	if err := bad.err(); err != nil {
		return err
	}
	swap, root := diskSizes(b, plan.Disk)
	if root < 1 || swap < 0 || root+swap > plan.Disk {
		return Refuse("swap_size", "The disks do not fit on plan %s, which has %d MB", plan.ID, plan.Disk)
	}
	access := b.RootPass != nil || len(deref(b.AuthorizedKeys)) > 0 || len(deref(b.AuthorizedUsers)) > 0
	if err := w.Images().checkImage(deref(b.Image), root, access); err != nil {
		return err
	}
	return w.Pools().checkRoom(&cluster{Cluster: account.Cluster{Region: b.Region}}, b.Type, 1) // a cluster without a tier
}

// diskSizes divides a plan's storage.
func diskSizes(b *api.InstanceCreate, size int) (swap, root int) {
	swap = 512
	set(&swap, b.SwapSize)
	return swap, cmp.Or(deref(b.BootSize), size-swap)
}

func (w Linodes) checkUserData(bad *reasons, b *api.InstanceCreate) {
	data := deref(b.Metadata).UserData
	if data == nil {
		return
	}
	const field = "metadata.user_data"
	if len(*data) > maxUserData {
		bad.add(field, "Must be at most %d bytes", maxUserData)
	} else if _, err := base64.StdEncoding.DecodeString(*data); err != nil {
		bad.add(field, "Must be base64")
	}
	if r, ok := w.Offers().region(b.Region); ok && !catalog.Has(r, catalog.CapMetadata) {
		bad.add("region", "Metadata is not available in region %s", b.Region)
	}
	if i, err := w.Images().image(deref(b.Image)); err == nil && !slices.Contains(i.Capabilities, cloudInit) {
		bad.add("image", "image does not support user data")
	}
}

// checkPlace checks the firewall and the placement group that a request names. The firewall -1
// stands for no firewall.
func (w Linodes) checkPlace(bad *reasons, b *api.InstanceCreate) {
	id := deref(b.FirewallID)
	if _, there := w.assets.firewalls[id]; id > 0 && !there || id < -1 {
		bad.invalid("firewall_id")
	}
	if b.PlacementGroup == nil {
		return
	}
	if g, ok := w.assets.groups[b.PlacementGroup.ID]; !ok || g.Region != b.Region {
		bad.invalid("placement_group.id")
	} else {
		w.Groups().checkGroupRoom(bad, "placement_group.id", g, 1)
	}
}

func (w Linodes) addInstance(b *api.InstanceCreate, nics []nic) *Instance {
	public, private, v6 := w.addresses()
	id := w.nextID(&w.seq.instance)
	i := &Instance{userData: deref(deref(b.Metadata).UserData), keys: readKeys(b), Instance: account.Instance{
		ID: id, Label: cmp.Or(deref(b.Label), fmt.Sprintf("linode%d", id)), Type: b.Type, Region: b.Region, Image: deref(b.Image),
		Status: account.StatusProvisioning, Tags: union(deref(b.Tags)), Group: deref(b.Group),
		Lifecycle: account.Lifecycle{Created: w.now, Updated: w.now},
		Placement: account.Placement{HostUUID: w.hostUUID()},
		Network:   account.Network{PublicIPv4: public, IPv6: v6, Generation: string(deref(b.InterfaceGeneration))},
		Settings:  account.Settings{DiskEncryption: string(cmp.Or(deref(b.DiskEncryption), "enabled")), WatchdogEnabled: true},
		Guest:     account.Guest{HasUserData: deref(b.Metadata).UserData != nil},
	}}
	if deref(b.PrivateIP) {
		i.PrivateIPv4 = private
	}
	w.defaultSettings(i)
	i.MaintenancePolicy = cmp.Or(deref(b.MaintenancePolicy), i.MaintenancePolicy)
	i.BackupsEnabled = i.BackupsEnabled || deref(b.BackupsEnabled)
	w.instances[i.ID] = i
	w.record(w.Actor, account.Entry{Action: account.InstanceCreated, InstanceID: i.ID, After: i.Label})
	if b.PlacementGroup != nil {
		w.Groups().enter(b.PlacementGroup.ID, i)
	}
	boot := w.delays.boot(w.draws.rng)
	created := w.begin(w.User, "linode_create", onLinode(i), w.Images().entity(i.Image), 0, boot/2)
	w.equip(i, b, nics, boot/2)
	w.Firewalls().protect(i, deref(b.FirewallID))
	if i.Image == "" || b.Booted != nil && !*b.Booted {
		w.after(boot/2, func() { w.finish(created); w.setStatus(account.LKE, i, account.StatusOffline) })
		return i
	}
	booted := w.begin(w.User, "linode_boot", onLinode(i), w.Configs().last(i.ID), boot/2, boot*4/5-boot/2)
	w.after(boot/2, func() { w.finish(created); w.setStatus(account.LKE, i, account.StatusBooting) })
	if !w.faults.neverBoots(0) {
		w.after(boot*4/5, func() { w.run(i, booted) })
	}
	return i
}

// equip makes the interfaces of a new Linode and, with an image, its two disks and a
// configuration.
func (w Linodes) equip(i *Instance, b *api.InstanceCreate, nics []nic, ready time.Duration) {
	if i.generation() == linodeInterfaces {
		w.Interfaces().addInterfaces(i, nics)
		nics = nil
	}
	if i.Image != "" {
		w.install(i, b, nics, ready)
	}
}

// install makes the disks and the configuration of an image.
func (w Linodes) install(i *Instance, b *api.InstanceCreate, nics []nic, ready time.Duration) {
	plan, _ := w.catalog.Type(i.Type)
	swap, root := diskSizes(b, plan.Disk)
	name := w.Images().imageLabel(i.Image) + " Disk"
	made := map[string]api.InstanceConfigDeviceCreate{}
	add := func(device, label, filesystem, image string, size int) {
		d := disk{image: image}
		d.Label, d.Filesystem, d.Size = label, api.InstanceDiskFilesystem(filesystem), size
		made[device] = api.InstanceConfigDeviceCreate{DiskID: new(w.Disks().addDisk(i, d, ready).ID)}
	}
	add("sda", name, "ext4", i.Image, root)
	if swap > 0 {
		add("sdb", fmt.Sprintf("%d MB Swap Image", swap), "swap", "", swap)
	}
	label := "My " + name + " Profile"
	w.Configs().addConfig(i, api.InstanceConfigUpdate{
		Label: new(label[:min(len(label), 48)]), Kernel: new(cmp.Or(deref(b.Kernel), "linode/grub2")),
		Devices: (*api.InstanceConfigDevicesCreate)(&made), Interfaces: &[]api.InstanceConfigInterfaceCreate{},
	}, nics)
}
