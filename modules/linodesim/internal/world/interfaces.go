package world

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/oapi-codegen/nullable"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"
)

// Generations of interfaces.
const (
	legacyConfig     = "legacy_config"
	linodeInterfaces = "linode"
)

func (i *Instance) generation() string { return cmp.Or(i.Generation, legacyConfig) }

// nic is a network interface of either generation.
type nic struct {
	id              int
	purpose         string // public, vlan, vpc
	rdma            bool   // in an RDMA VPC
	version         int    // counts the changes
	label, ipam     string
	primary         bool
	vpcID, subnetID int
	address, nat    string // in the VPC
	ranges          []string
	ipv6            *nicIPv6 // in the VPC
	firewall        int      // the requested one; 0 = the Linode's, -1 = no firewall
	created         time.Time
}

func readLegacy(f api.InstanceConfigInterfaceCreate) nic {
	out := nic{
		purpose: string(f.Purpose), label: deref(f.Label), ipam: deref(f.IpamAddress), primary: deref(f.Primary), subnetID: deref(f.SubnetID),
		ranges: deref(f.IPRanges),
	}
	out.ipv6 = readIPv6(f.AdditionalProperties)
	out.address, _ = deref(f.IPv4)["vpc"].(string)
	out.nat, _ = deref(f.IPv4)["nat_1_1"].(string)
	return out
}

// readInterface reads an entry of interfaces in a request for a new Linode. A legacy interface has a purpose. An interface of the
// generation linode has exactly one of the fields public, vlan, vpc and rdma_vpc. The description leaves the types of the fields open.
func readInterface(n int, f map[string]any, generation string) (nic, error) {
	field := fmt.Sprintf("interfaces[%d]", n)
	purpose, legacy := f["purpose"].(string)
	if legacy == (generation == linodeInterfaces) {
		return nic{}, Refuse(field, "Interfaces must fit interface_generation")
	}
	out, label := nic{purpose: purpose}, "label"
	if legacy {
		out.primary, _ = f["primary"].(bool)
	} else {
		var kinds []string
		for _, kind := range []string{"public", "vlan", "vpc", rdmaKind} {
			if _, ok := f[kind].(map[string]any); ok {
				kinds = append(kinds, kind)
			}
		}
		if len(kinds) != 1 {
			return nic{}, Refuse(field, "Exactly one of public, vlan, vpc and rdma_vpc must be given")
		}
		firewall, _ := f["firewall_id"].(float64)
		out.purpose, out.primary, out.firewall, label = kinds[0], n == 0, int(firewall), "vlan_label"
		if out.rdma = kinds[0] == rdmaKind; out.rdma {
			out.purpose, out.primary = "vpc", false // it never has a default route
		}
		f, _ = f[kinds[0]].(map[string]any)
	}
	out.label, _ = f[label].(string)
	out.ipam, _ = f["ipam_address"].(string)
	subnet, _ := f["subnet_id"].(float64)
	out.subnetID, out.ipv6 = int(subnet), readIPv6(f)
	out.readAddress(f, legacy)
	return out, nil
}

// readAddress reads the address in a VPC and the public address that NAT 1:1 maps to it. A legacy interface has them in ipv4.vpc and
// ipv4.nat_1_1, an interface of the generation linode in the first entry of ipv4.addresses.
func (f *nic) readAddress(from map[string]any, legacy bool) {
	ipv4, _ := from["ipv4"].(map[string]any)
	address, nat := "vpc", "nat_1_1"
	if !legacy {
		list, _ := ipv4["addresses"].([]any)
		if len(list) == 0 {
			return
		}
		ipv4, _ = list[0].(map[string]any)
		address, nat = "address", "nat_1_1_address"
	}
	f.address, _ = ipv4[address].(string)
	f.nat, _ = ipv4[nat].(string)
	if f.address == "auto" {
		f.address = ""
	}
	if f.nat == "auto" {
		f.nat = "any"
	}
}

// checkInterfaces refuses invalid interfaces; firewall is the firewall of the Linode.
func (w Interfaces) checkInterfaces(bad *reasons, region, generation string, list []nic, firewall int) {
	if generation == linodeInterfaces && len(list) == 0 {
		list = []nic{{purpose: "public"}} // the default interface
	}
	ordinary := slices.DeleteFunc(slices.Clone(list), func(f nic) bool { return f.rdma })
	if len(ordinary) > 3 {
		bad.add("interfaces", "At most 3 interfaces are allowed")
	}
	for n, f := range list {
		field := fmt.Sprintf("interfaces[%d].", n)
		wrong := len(*bad)
		if _, there := w.assets.firewalls[f.firewall]; f.firewall > 0 && !there || f.firewall < -1 {
			bad.invalid(field + "firewall_id")
		}
		switch f.purpose {
		case "public":
			f.ipv6.checkPublic(bad, field, generation)
		case "vlan":
			if f.label == "" {
				bad.add(field+"label", "label is required")
			}
		case "vpc":
			vpc, s, ok := w.VPCs().subnet(f.subnetID)
			if !ok || vpc.Region != region || f.rdma != (deref(vpc.VPCType) == rdmaType) {
				bad.add(field+"subnet_id", "subnet_id is not valid")
			}
			f.ipv6.check(bad, field+"ipv6", ipv6Of(s))
		default:
			bad.add(field+"purpose", "Must be one of public, vlan, vpc")
		}
		if generation == linodeInterfaces && firewall == 0 && len(*bad) == wrong {
			w.checkProtection(bad, field+"firewall_id", f)
		}
	}
}

// checkProtection refuses an interface without a firewall: it names no firewall, it does not say -1 (no firewall), and the account has
// no default firewall. Interfaces in RDMA VPCs take no firewall. The API's texts are not known.
func (w Interfaces) checkProtection(bad *reasons, field string, f nic) {
	switch {
	case f.rdma && f.firewall > 0:
		bad.add(field, "Interfaces in RDMA VPCs take no firewall")
	case f.rdma || f.purpose == "vlan" || f.firewall != 0:
	case w.defaultFirewall(f) == 0:
		bad.add(field, "firewall_id is required: the account has no default firewall for this kind of interface")
	}
}

// defaultFirewall is the account's firewall for a new interface, or 0.
func (w Interfaces) defaultFirewall(f nic) int {
	if f.purpose == "vpc" {
		return deref(w.assets.defaults.VPCInterface)
	}
	return deref(w.assets.defaults.PublicInterface)
}

// connect gives an interface its ID and, in a VPC, its address.
func (w Interfaces) connect(i *Instance, f *nic) {
	f.id, f.created, f.version = w.sideID(&w.seq.iface), w.now, 1
	if f.purpose == "public" {
		f.ipv6 = f.ipv6.route(f.id)
	}
	if f.purpose != "vpc" {
		return
	}
	vpc, s, _ := w.VPCs().subnet(f.subnetID)
	taken := 0
	for _, linode := range w.VPCs().members(s.ID) {
		taken += len(linode.Interfaces)
	}
	f.ipv6 = f.ipv6.allot(ipv6Of(s), f.id)
	f.vpcID, f.address = vpc.ID, cmp.Or(f.address, w.VPCs().address(s, taken))
	if f.nat == "any" {
		f.nat = i.PublicIPv4
	}
}

// addInterfaces makes the requested interfaces, or a public one.
func (w Interfaces) addInterfaces(i *Instance, list []nic) {
	if len(list) == 0 {
		list = []nic{{purpose: "public", primary: true}}
	}
	for _, f := range list {
		w.connect(i, &f)
		w.assets.interfaces[i.ID] = append(w.assets.interfaces[i.ID], f)
	}
}

// legacy returns a legacy interface as the API shows it; fields that its purpose does not have are null.
func (f nic) legacy(of *Instance) api.InstanceConfigInterface {
	out := api.InstanceConfigInterface{
		ID: f.id, Purpose: api.InstanceConfigInterfacePurpose(f.purpose), Primary: f.primary, Active: of.Status == account.StatusRunning,
		IPv6: nullable.NewNullNullable[map[string]any](),
	}
	switch f.purpose {
	case "vlan":
		out.Label, out.IpamAddress = &f.label, &f.ipam
	case "vpc":
		out.VPCID, out.SubnetID, out.IPRanges = &f.vpcID, &f.subnetID, new(nonNil(f.ranges))
		out.IPv4 = &map[string]any{"vpc": f.address, "nat_1_1": optional(f.nat)}
		if f.ipv6 != nil {
			out.IPv6.Set(f.ipv6.shown())
		}
	}
	return out
}

// rdmaKind is the field of an interface in an RDMA VPC, as the vendor's Go client sent and read it in 2026 (recording
// TestInstance_CreateWithRDMAVPCInterfaces). A Linode may have eight of these interfaces and three others. They have no default route.
const rdmaKind = "rdma_vpc"

// linode returns an interface of the generation linode as the API shows it. Interfaces in RDMA VPCs were recorded; the fields of other
// interfaces come from the public documentation.
func (f nic) linode(of *Instance) api.InstanceInterface {
	out := api.InstanceInterface{
		ID: f.id, Version: new(f.version), MacAddress: fmt.Sprintf("00:00:5e:00:%02x:%02x", f.id>>8&0xff, f.id&0xff),
		Created: api.Time{Time: f.created}, Updated: api.Time{Time: f.created}, DefaultRoute: map[string]any{},
	}
	if f.primary {
		out.DefaultRoute["ipv4"] = true
	}
	if f.rdma {
		out.DefaultRoute = map[string]any{"ipv4": false, "ipv6": false}
		out.RDMAVPC = &map[string]any{"vpc_id": f.vpcID, "subnet_id": f.subnetID, "ipv4": map[string]any{
			"addresses": []any{map[string]any{"address": f.address, "primary": true}},
		}}
		return out
	}
	address := func(a string) []any { return []any{map[string]any{"address": a, "primary": true}} }
	switch f.purpose {
	case "public":
		if f.primary {
			out.DefaultRoute["ipv6"] = true
		}
		out.Public = &map[string]any{"ipv4": map[string]any{"addresses": address(of.PublicIPv4)},
			"ipv6": map[string]any{"ranges": f.ipv6.routed(of)}}
	case "vlan":
		out.Vlan = &map[string]any{"vlan_label": f.label, "ipam_address": optional(f.ipam)}
	case "vpc":
		out.VPC = &map[string]any{
			"vpc_id": f.vpcID, "subnet_id": f.subnetID, "ipv4": map[string]any{"addresses": []any{
				map[string]any{"address": f.address, "primary": true, "nat_1_1_address": optional(f.nat)},
			}, "ranges": each(f.ranges, func(r string) any { return map[string]any{"range": r} })},
		}
		if f.ipv6 != nil {
			(*out.VPC)["ipv6"] = f.ipv6.shown()
		}
	}
	return out
}

// ListInstanceInterfaces lists a Linode's interfaces. It refuses a Linode of legacy_config, in the simulator's own words.
func (w Interfaces) ListInstanceInterfaces(linodeID int) (api.InstanceInterfaceList, error) {
	i, err := lookup(w.instances, linodeID)
	if err == nil && i.generation() != linodeInterfaces {
		err = Refuse("", "This Linode has legacy interfaces, which belong to its configurations.")
	}
	return api.InstanceInterfaceList{
		Interfaces: each(w.assets.interfaces[linodeID], func(f nic) api.InstanceInterface { return f.linode(i) }),
	}, err
}

// GetInstanceInterface finds one.
func (w Interfaces) GetInstanceInterface(linodeID, interfaceID int) (api.InstanceInterface, error) {
	for _, f := range w.assets.interfaces[linodeID] {
		if f.id == interfaceID {
			return f.linode(w.instances[linodeID]), nil
		}
	}
	return api.InstanceInterface{}, NotFound()
}

// UpdateInstanceInterface changes the routes, the address and the ranges of an
// interface, and not its kind.
func (w Interfaces) UpdateInstanceInterface(linodeID, interfaceID int, b *api.InstanceInterfaceUpdate) (api.InstanceInterface, error) {
	all := w.assets.interfaces[linodeID]
	at := slices.IndexFunc(all, func(f nic) bool { return f.id == interfaceID })
	if at < 0 {
		return api.InstanceInterface{}, NotFound()
	}
	f := all[at]
	own := f.purpose
	if f.rdma {
		own = rdmaKind
	}
	for kind, given := range map[string]bool{
		"public": b.Public != nil, "vpc": b.VPC != nil, "vlan": b.Vlan != nil, rdmaKind: b.RDMAVPC != nil,
	} {
		if given && kind != own {
			return api.InstanceInterface{}, Refuse(kind, "The interface is of the kind %s", own)
		}
	}
	if b.RDMAVPC != nil {
		if err := w.move(w.instances[linodeID], &f, *b.RDMAVPC); err != nil {
			return api.InstanceInterface{}, err
		}
	}
	f.version++
	if b.DefaultRoute != nil {
		f.primary, _ = (*b.DefaultRoute)["ipv4"].(bool)
	}
	if b.VPC != nil {
		f.readAddress(*b.VPC, false)
		if ipv4, _ := (*b.VPC)["ipv4"].(map[string]any); ipv4["ranges"] != nil {
			f.ranges = rangesIn(ipv4["ranges"])
		}
		if f.address == "" {
			f.address = all[at].address
		}
		if f.nat == "any" {
			f.nat = w.instances[linodeID].PublicIPv4
		}
	}
	w.assets.interfaces[linodeID] = slices.Clone(all)
	w.assets.interfaces[linodeID][at] = f
	w.note(account.AssetChanged, fmt.Sprintf("interface %d", interfaceID), linodeID)
	w.happened(w.User, "interface_update", onLinode(w.instances[linodeID]), nil)
	return f.linode(w.instances[linodeID]), nil
}

// move puts an interface of an RDMA VPC into a subnet of the same or another RDMA VPC, where it gets an address.
func (w Interfaces) move(i *Instance, f *nic, to map[string]any) error {
	if subnet, given := to["subnet_id"].(float64); given {
		vpc, s, ok := w.VPCs().subnet(int(subnet))
		if !ok || vpc.Region != i.Region || deref(vpc.VPCType) != rdmaType {
			return Refuse(rdmaKind+".subnet_id", "subnet_id is not valid")
		}
		f.vpcID, f.subnetID, f.address = vpc.ID, s.ID, w.VPCs().address(s, len(w.VPCs().members(s.ID)))
	}
	before := f.address
	f.readAddress(to, false)
	f.address = cmp.Or(f.address, before)
	return nil
}
