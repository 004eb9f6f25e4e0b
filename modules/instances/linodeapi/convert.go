package linodeapi

import (
	"crypto/rand"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

func instanceOf(i api.Instance) instances.Instance {
	instance := instances.Instance{
		Node: claims.Node{
			InstanceID: i.ID, Name: i.Label, InstanceType: i.Type, Region: i.Region, Status: string(i.Status),
			Tags: slices.Clone(i.Tags), Created: i.Created.Time,
		},
		IPv4: slices.Clone(i.IPv4), Foreign: i.LKEClusterID != nil,
	}
	if i.Image != nil {
		instance.Image = *i.Image
	}
	if i.IPv6 != nil {
		instance.IPv6 = *i.IPv6
	}
	if i.PlacementGroup != nil {
		instance.PlacementGroup = i.PlacementGroup.ID
	}
	return instance
}

func diskOf(d api.InstanceDisk) instances.DiskState {
	return instances.DiskState{ID: d.ID, Label: d.Label, Ready: d.Status == "ready"}
}

func devicesOf(devices api.InstanceConfigDevices) map[string]int {
	disks := map[string]int{}
	for name, device := range map[string]*api.InstanceConfigDevice{
		"sda": devices.Sda, "sdb": devices.Sdb, "sdc": devices.Sdc, "sdd": devices.Sdd,
		"sde": devices.Sde, "sdf": devices.Sdf, "sdg": devices.Sdg, "sdh": devices.Sdh,
	} {
		if device != nil && device.DiskID != nil {
			disks[name] = *device.DiskID
		}
	}
	return disks
}

// creation omits empty fields, so that the platform chooses their values.
func creation(c instances.Creation) api.InstanceCreate {
	booted := !c.Off
	request := api.InstanceCreate{
		Label: &c.Label, Type: c.InstanceType, Region: c.Region, Image: &c.Image, Tags: &c.Tags, Booted: &booted,
		Kernel: given(c.Kernel), MaintenancePolicy: given(c.MaintenancePolicy),
		BootSize: given(c.Storage.BootMB), SwapSize: c.Storage.SwapMB, BackupsEnabled: given(c.Backups),
		DiskEncryption: given(api.DiskEncryption(c.Storage.Encryption)), PrivateIP: given(c.Network.PrivateIP),
	}
	if len(c.UserData) > 0 {
		text := base64.StdEncoding.EncodeToString(c.UserData)
		request.Metadata = &api.InstanceMetadata{UserData: &text}
	}
	if c.PlacementGroup.ID != 0 {
		request.PlacementGroup = &api.InstancePlacementGroupReference{ID: c.PlacementGroup.ID,
			CompliantOnly: given(c.PlacementGroup.CompliantOnly)}
	}
	access(&request, c.Access)
	network(&request, c.Network)
	return request
}

// fields maps the first part of a field's path in the API to the field of instances.Spec from which creation made it.
var fields = map[string]string{
	"type": claims.FieldInstanceType, "region": "Spec.Region", "image": "Spec.Image", "kernel": "Spec.Kernel", "label": "label",
	"metadata": "Spec.UserData", "tags": "Spec.Tags", "firewall_id": "Spec.Network.FirewallID",
	"interfaces": "Spec.Network.Interfaces", "interface_generation": "Spec.Network.Generation", "private_ip": "Spec.Network.PrivateIP",
	"placement_group": "Spec.PlacementGroup", "boot_size": "Spec.Storage.BootMB", "swap_size": "Spec.Storage.SwapMB",
	"disk_encryption": "Spec.Storage.Encryption", "backups_enabled": "Spec.Backups", "maintenance_policy": "Spec.MaintenancePolicy",
	"authorized_keys": "Spec.Access.Keys", "authorized_users": "Spec.Access.Users",
}

// fieldOf translates the path of a field of the API, such as interfaces[0].subnet_id.
// It returns a path without a counterpart unchanged.
func fieldOf(path string) string {
	first := path
	if at := strings.IndexAny(path, ".["); at >= 0 {
		first = path[:at]
	}
	field, known := fields[first]
	switch {
	case !known:
		return path
	case first == "interfaces" || first == "tags":
		return field + path[len(first):]
	}
	return field
}

// given returns a pointer to the value, and nil for the zero value.
func given[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}

// access adds keys and users, or, if there are none, a password that is not kept: the API
// requires keys, users or a password.
func access(request *api.InstanceCreate, a instances.Access) {
	if len(a.Keys) > 0 {
		request.AuthorizedKeys = &a.Keys
	}
	if len(a.Users) > 0 {
		request.AuthorizedUsers = &a.Users
	}
	if len(a.Keys)+len(a.Users) == 0 {
		secret := password()
		request.RootPass = &secret
	}
}

// password returns 256 random bits in 43 characters, after one character of each class
// that the API's check of strength may require. 128 characters are allowed.
func password() string {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // it never fails: the program exits instead
	return "aA1-" + base64.RawURLEncoding.EncodeToString(secret)
}

// network adds the interfaces in the form of their generation. In the older generation
// the firewall belongs to the instance, in the newer generation to each interface.
func network(request *api.InstanceCreate, n instances.Network) {
	request.InterfaceGeneration = given(api.InstanceCreateInterfaceGeneration(n.Generation))
	list := n.Interfaces
	form := legacyInterface
	if n.Generation == instances.GenerationLinode {
		form = newInterface(n.FirewallID)
		if len(list) == 0 && n.FirewallID != 0 {
			list = []instances.Interface{{Public: true, Primary: true}}
		}
	} else {
		request.FirewallID = given(n.FirewallID)
	}
	if len(list) == 0 {
		return
	}
	all := make([]map[string]any, 0, len(list))
	for _, f := range list {
		all = append(all, form(f))
	}
	request.Interfaces = &all
}

func legacyInterface(f instances.Interface) map[string]any {
	switch {
	case f.VPC != nil:
		ipv4 := map[string]any{}
		if f.VPC.Address != "" {
			ipv4["vpc"] = f.VPC.Address
		}
		if f.VPC.NAT {
			ipv4["nat_1_1"] = "any"
		}
		entry := map[string]any{"purpose": "vpc", "subnet_id": f.VPC.SubnetID, "primary": f.Primary, "ipv4": ipv4}
		addIPv6(entry, f.VPC.IPv6)
		return entry
	case f.VLAN != nil:
		return map[string]any{"purpose": "vlan", "label": f.VLAN.Label, "ipam_address": f.VLAN.Address}
	}
	return map[string]any{"purpose": "public", "primary": f.Primary}
}

func newInterface(firewallID int) func(instances.Interface) map[string]any {
	return func(f instances.Interface) map[string]any {
		entry := map[string]any{}
		if firewallID != 0 && f.VLAN == nil {
			entry["firewall_id"] = firewallID
		}
		if f.Primary {
			entry["default_route"] = map[string]any{"ipv4": true}
		}
		switch {
		case f.VPC != nil:
			address := map[string]any{"address": "auto", "primary": true}
			if f.VPC.Address != "" {
				address["address"] = f.VPC.Address
			}
			if f.VPC.NAT {
				address["nat_1_1_address"] = "auto"
			}
			vpc := map[string]any{"subnet_id": f.VPC.SubnetID, "ipv4": map[string]any{"addresses": []any{address}}}
			addIPv6(vpc, f.VPC.IPv6)
			entry["vpc"] = vpc
		case f.VLAN != nil:
			entry["vlan"] = map[string]any{"vlan_label": f.VLAN.Label, "ipam_address": f.VLAN.Address}
		default:
			entry["public"] = publicInterface(f.Ranges)
		}
		return entry
	}
}

// publicInterface lists the default address too if there are ranges: a request with
// ranges must name all addresses.
func publicInterface(lengths []string) map[string]any {
	if len(lengths) == 0 {
		return map[string]any{}
	}
	return map[string]any{
		"ipv4": map[string]any{"addresses": []any{map[string]any{"address": "auto", "primary": true}}},
		"ipv6": map[string]any{"ranges": ranges(lengths)},
	}
}

func ranges(lengths []string) []any {
	var all []any
	for _, length := range lengths {
		all = append(all, map[string]any{"range": length})
	}
	return all
}

// slaacRange is the range of SLAAC: hosts choose the last 64 bits of an address in it.
const slaacRange = "/64"

// addIPv6 adds IPv6 in the form that both generations share.
func addIPv6(to map[string]any, v *instances.VPCIPv6) {
	if v == nil {
		return
	}
	ipv6 := map[string]any{}
	if v.SLAAC {
		ipv6["slaac"] = []any{map[string]any{"range": slaacRange}}
	}
	if len(v.Ranges) > 0 {
		ipv6["ranges"] = ranges(v.Ranges)
	}
	if v.Public != nil {
		ipv6["is_public"] = *v.Public
	}
	to["ipv6"] = ipv6
}
