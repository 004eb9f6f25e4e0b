package handlers

import (
	"fmt"
	"net/netip"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
)

func (r Request) listInstanceInterfaces(linodeID int) (api.InstanceInterfaceList, error) {
	i, err := r.Seen.Instance(linodeID)
	if err != nil {
		return api.InstanceInterfaceList{}, err
	}
	list, err := r.Seen.Interfaces(linodeID)
	out := api.InstanceInterfaceList{Interfaces: []api.InstanceInterface{}}
	for _, f := range list {
		out.Interfaces = append(out.Interfaces, linodeInterface(f, i))
	}
	return out, err
}

func (r Request) getInstanceInterface(linodeID int, interfaceID int) (api.InstanceInterface, error) {
	i, err := r.Seen.Instance(linodeID)
	if err != nil {
		return api.InstanceInterface{}, err
	}
	list, err := r.Seen.Interfaces(linodeID)
	for _, f := range list {
		if f.ID == interfaceID {
			return linodeInterface(f, i), nil
		}
	}
	if err == nil {
		err = notFound()
	}
	return api.InstanceInterface{}, err
}

// linodeInterface is not recorded; the fields are those of the public
// documentation.
func linodeInterface(f world.LinodeInterface, i world.Instance) api.InstanceInterface {
	version := 1
	out := api.InstanceInterface{
		ID: f.ID, Version: &version, MacAddress: f.MAC, Created: api.Time{Time: f.Created}, Updated: api.Time{Time: f.Created},
		DefaultRoute: map[string]any{},
	}
	if f.Primary {
		out.DefaultRoute["ipv4"] = true
		if f.Purpose == "public" {
			out.DefaultRoute["ipv6"] = true
		}
	}
	address := func(a string) []any { return []any{map[string]any{"address": a, "primary": true}} }
	switch f.Purpose {
	case "public":
		out.Public = &map[string]any{
			"ipv4": map[string]any{"addresses": address(i.PublicIPv4)},
			"ipv6": map[string]any{"ranges": []any{}},
		}
	case "vlan":
		out.Vlan = &map[string]any{"vlan_label": f.Label, "ipam_address": optional(f.IPAM)}
	case "vpc":
		out.VPC = &map[string]any{
			"vpc_id": f.VPCID, "subnet_id": f.SubnetID, "ipv4": map[string]any{"addresses": address(f.Address), "ranges": []any{}},
		}
	}
	return out
}

// newInterface reads an entry of interfaces of a Linode to be: legacy ones
// have a purpose, those of the generation linode one of public, vlan, vpc.
func newInterface(n int, f map[string]any, generation string) (world.ConfigInterface, error) {
	field := fmt.Sprintf("interfaces[%d]", n)
	purpose, legacy := f["purpose"].(string)
	if legacy == (generation == "linode") {
		return world.ConfigInterface{}, refusal(field, "Interfaces must fit interface_generation")
	}
	out := world.ConfigInterface{Purpose: purpose, Primary: n == 0}
	inner := f
	if !legacy {
		for _, kind := range []string{"public", "vlan", "vpc"} {
			if v, ok := f[kind].(map[string]any); ok {
				if out.Purpose != "" {
					return out, refusal(field, "Exactly one of public, vlan and vpc must be given")
				}
				out.Purpose, inner = kind, v
			}
		}
		if out.Purpose == "" {
			return out, refusal(field, "Exactly one of public, vlan and vpc must be given")
		}
		out.Label, _ = inner["vlan_label"].(string)
	} else {
		out.Label, _ = inner["label"].(string)
		out.Primary, _ = inner["primary"].(bool)
	}
	out.IPAM, _ = inner["ipam_address"].(string)
	if id, ok := inner["subnet_id"].(float64); ok {
		out.SubnetID = int(id)
	}
	return out, nil
}

// Not recorded.
func (r Request) getInstanceIPs(linodeID int) (api.InstanceIPs, error) {
	i, err := r.Seen.Instance(linodeID)
	if err != nil {
		return api.InstanceIPs{}, err
	}
	out := api.InstanceIPs{
		IPv4: api.InstanceIPv4{Public: []api.IPAddress{address(i, i.PublicIPv4, true)}, Private: []api.IPAddress{}, Shared: []api.IPAddress{}, Reserved: []api.IPAddress{}},
		IPv6: api.InstanceIPv6{Global: []map[string]any{}},
	}
	if i.PrivateIPv4 != "" {
		out.IPv4.Private = append(out.IPv4.Private, address(i, i.PrivateIPv4, false))
	}
	if p, err := netip.ParsePrefix(i.IPv6); err == nil {
		slaac := address(i, p.Addr().String(), true)
		slaac.Type, slaac.Prefix = "ipv6", 64
		slaac.AdditionalProperties["gateway"], slaac.AdditionalProperties["subnet_mask"] = "fe80::1", "ffff:ffff:ffff:ffff::"
		out.IPv6.Slaac = (*api.NullableIPAddress)(&slaac)
	}
	return out, nil
}

func address(i world.Instance, a string, public bool) api.IPAddress {
	out := api.IPAddress{Address: a, Type: "ipv4", Public: public, Prefix: 24, Region: i.Region, AdditionalProperties: map[string]any{
		"linode_id": i.ID, "rdns": nil, "subnet_mask": "255.255.255.0", "gateway": nil,
	}}
	if !public {
		out.Prefix = 17
		out.AdditionalProperties["subnet_mask"] = "255.255.128.0"
		return out
	}
	if parsed, err := netip.ParseAddr(a); err == nil && parsed.Is4() {
		b := parsed.As4()
		b[3] = 1
		out.AdditionalProperties["gateway"] = netip.AddrFrom4(b).String()
	}
	return out
}
