package world

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"
)

// attached is an interface with its Linode and its configuration.
type attached struct {
	nic
	linode *Instance
	config *int // of a legacy interface
}

// attachments lists the interfaces of a Linode in use: the interfaces of the
// generation linode, or of the first configuration.
func (w Interfaces) attachments(i *Instance) []attached {
	var config *int
	if configs := w.assets.configs[i.ID]; i.generation() != linodeInterfaces && len(configs) > 0 {
		config = &configs[0].ID
	}
	return each(w.nics(i), func(f nic) attached { return attached{f, i, config} })
}

// addressInVPC returns a Linode's first address in a VPC, "" for none.
func (w Interfaces) addressInVPC(i *Instance) string {
	for _, f := range w.nics(i) {
		if f.purpose == "vpc" {
			return f.address
		}
	}
	return ""
}

// GetInstanceIPs lists a Linode's addresses.
func (w Addresses) GetInstanceIPs(linodeID int) (api.InstanceIPs, error) {
	i, err := lookup(w.instances, linodeID)
	if err != nil {
		return api.InstanceIPs{}, err
	}
	out := api.InstanceIPs{
		IPv4: api.InstanceIPv4{Public: []api.IPAddress{}, Private: []api.IPAddress{}, Shared: []api.IPAddress{}, Reserved: []api.IPAddress{}},
		IPv6: api.InstanceIPv6{Global: []map[string]any{}, VPC: []api.VPCAddress{}},
	}
	vpc := []api.VPCAddress{}
	for _, f := range w.Interfaces().attachments(i) {
		vpc = append(vpc, w.Interfaces().inVPC(f)...)
		out.IPv6.VPC = append(out.IPv6.VPC, w.Interfaces().inVPC6(f)...)
	}
	out.IPv4.VPC = &vpc
	if i.PublicIPv4 != "" {
		out.IPv4.Public = append(out.IPv4.Public, w.Interfaces().public(i))
	}
	for _, a := range i.MoreIPv4 {
		out.IPv4.Public = append(out.IPv4.Public, i.address(a, 24))
	}
	for _, a := range i.SharedIPv4 {
		if owner := w.owner(a); owner != nil {
			out.IPv4.Shared = append(out.IPv4.Shared, owner.address(a, 24))
		}
	}
	if i.PrivateIPv4 != "" {
		out.IPv4.Private = append(out.IPv4.Private, i.address(i.PrivateIPv4, 17))
	}
	if p, err := netip.ParsePrefix(i.IPv6); err == nil {
		out.IPv6.Slaac = (*api.NullableIPAddress)(new(i.address(p.Addr().String(), 64)))
	}
	local := i.address(fmt.Sprintf("fe80::%x", i.ID&0xffff), 64)
	local.Public, local.Rdns = false, nil
	out.IPv6.LinkLocal = (*api.NullableIPAddress)(&local)
	return out, nil
}

// public describes the public IPv4 address of a Linode, and the VPC address to which NAT 1:1 maps it.
func (w Interfaces) public(i *Instance) api.IPAddress {
	out := i.address(i.PublicIPv4, 24)
	for _, f := range w.nics(i) {
		if f.purpose == "public" && i.generation() == linodeInterfaces {
			out.InterfaceID = new(f.id)
		}
		if f.purpose == "vpc" && f.nat == i.PublicIPv4 {
			out.VPCNat11 = &map[string]any{"address": f.address, "vpc_id": f.vpcID, "subnet_id": f.subnetID}
		}
	}
	return out
}

// address describes an address by the length of its network: private addresses have 17, IPv6 addresses 64.
func (i *Instance) address(a string, bits int) api.IPAddress {
	out := api.IPAddress{
		Address: a, Type: "ipv4", Public: bits != 17, Prefix: bits, Region: i.Region, LinodeID: new(i.ID), SubnetMask: mask(bits, 32),
		AssignedEntity: &map[string]any{"id": i.ID, "label": i.Label, "type": "linode", "url": fmt.Sprintf("/v4/linode/instances/%d", i.ID)},
	}
	switch parsed, err := netip.ParseAddr(a); {
	case bits == 17:
	case bits == 64:
		out.Type, out.SubnetMask, out.Gateway, out.Rdns = "ipv6", "ffff:ffff:ffff:ffff::", new("fe80::1"), new("")
	case err == nil:
		b := parsed.As4()
		b[3] = 1
		out.Gateway = new(netip.AddrFrom4(b).String())
		out.Rdns = new(strings.ReplaceAll(a, ".", "-") + ".ip.example.com")
	}
	return out
}

func mask(bits, of int) string { return net.IP(net.CIDRMask(bits, of)).String() }

// inVPC lists the IPv4 addresses and ranges of an interface in a VPC.
func (w Interfaces) inVPC(f attached) []api.VPCAddress {
	if f.purpose != "vpc" {
		return nil
	}
	_, subnet, _ := w.VPCs().subnet(f.subnetID)
	base := f.place()
	if p, err := netip.ParsePrefix(subnet.IPv4); err == nil {
		base.Gateway, base.Prefix, base.SubnetMask = new(p.Addr().Next().String()), new(p.Bits()), new(mask(p.Bits(), 32))
	}
	address := base
	address.Address, address.Nat11 = &f.address, optional(f.nat)
	out := []api.VPCAddress{address}
	for _, r := range f.ranges {
		within := base
		within.AddressRange = &r
		out = append(out, within)
	}
	return out
}

// inVPC6 lists the IPv6 networks of an interface in a VPC.
func (w Interfaces) inVPC6(f attached) []api.VPCAddress {
	if f.purpose != "vpc" || f.ipv6 == nil {
		return nil
	}
	var out []api.VPCAddress
	for n, network := range slices.Concat(f.ipv6.slaac, f.ipv6.ranges) {
		one := f.place()
		one.IPv6Range, one.IPv6IsPublic, one.IPv6Addresses = &network, new(f.ipv6.public), &[]api.VPCIPv6Address{}
		if n < len(f.ipv6.slaac) {
			one.IPv6Addresses = &[]api.VPCIPv6Address{{SlaacAddress: netip.MustParsePrefix(network).Addr().Next().String()}}
		}
		out = append(out, one)
	}
	return out
}

// place returns the fields that all addresses of an interface share.
func (f attached) place() api.VPCAddress {
	return api.VPCAddress{
		VPCID: f.vpcID, SubnetID: f.subnetID, Region: f.linode.Region, LinodeID: new(f.linode.ID), ConfigID: f.config, InterfaceID: new(f.id),
		Active: f.linode.Status == account.StatusRunning,
	}
}
