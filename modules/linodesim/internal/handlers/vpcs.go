package handlers

import (
	"fmt"

	"github.com/oapi-codegen/nullable"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
)

func (r Request) listVPCs() (page[api.VPC], error) {
	return list(r, r.Seen.VPCs(), func(v world.VPC) api.VPC { return vpc(v, r.Seen) })
}

func (r Request) getVPC(vpcID int) (api.VPC, error) {
	found, err := r.Seen.VPC(vpcID)
	if err != nil {
		return api.VPC{}, err
	}
	return vpc(found, r.Seen), nil
}

func (r Request) deleteVPC(vpcID int) (api.Empty, error) {
	return api.Empty{}, r.Live.DeleteVPC(r.Actor, vpcID)
}

func (r Request) listVPCSubnets(vpcID int) (page[api.VPCSubnet], error) {
	v, err := r.Seen.VPC(vpcID)
	if err != nil {
		return page[api.VPCSubnet]{}, err
	}
	return list(r, v.Subnets, func(s world.Subnet) api.VPCSubnet { return subnet(s, r.Seen) })
}

func (r Request) getVPCSubnet(vpcID int, subnetID int) (api.VPCSubnet, error) {
	v, err := r.Seen.VPC(vpcID)
	if err != nil {
		return api.VPCSubnet{}, err
	}
	for _, s := range v.Subnets {
		if s.ID == subnetID {
			return subnet(s, r.Seen), nil
		}
	}
	return api.VPCSubnet{}, notFound()
}

func (r Request) createVPC(b *api.VPCCreate) (api.VPC, error) {
	spec := world.VPCSpec{Label: b.Label, Description: value(b.Description), Region: b.Region}
	for _, n := range value(b.IPv6) {
		if n.Range != "/52" || spec.IPv6 {
			return api.VPC{}, refusal("ipv6[0].range", "One network of length /52 can be asked for")
		}
		spec.IPv6 = true
	}
	for n, s := range value(b.Subnets) {
		for _, asked := range value(s.IPv6) {
			if asked.Range != "/56" && asked.Range != "auto" {
				return api.VPC{}, refusal(fmt.Sprintf("subnets[%d].ipv6[0].range", n), "A network of length /56 can be asked for")
			}
		}
		spec.Subnets = append(spec.Subnets, world.SubnetSpec{Label: s.Label, IPv4: s.IPv4, IPv6: len(value(s.IPv6)) > 0})
	}
	v, err := r.Live.CreateVPC(r.Actor, spec)
	if err != nil {
		return api.VPC{}, err
	}
	return vpc(v, r.Live), nil
}

func vpc(v world.VPC, w *world.World) api.VPC {
	ipv4, kind := ranges(world.VPCRanges), vpcType
	out := api.VPC{
		ID: v.ID, Label: v.Label, Description: v.Description, Region: v.Region, IPv4: &ipv4, VPCType: &kind, IPv6: nullable.NewNullNullable[[]api.AddressRange](),
		Subnets: []api.VPCSubnet{}, Created: api.Time{Time: v.Created}, Updated: api.Time{Time: v.Updated},
	}
	if len(v.IPv6) > 0 {
		out.IPv6 = nullable.NewNullableWithValue(ranges(v.IPv6))
	}
	for _, s := range v.Subnets {
		out.Subnets = append(out.Subnets, subnet(s, w))
	}
	return out
}

// vpcType is not recorded in full; the field is.
const vpcType = "regular"

func ranges(list []string) []api.AddressRange {
	out := make([]api.AddressRange, len(list))
	for i, r := range list {
		out[i].Range = r
	}
	return out
}

func subnet(s world.Subnet, w *world.World) api.VPCSubnet {
	kind := vpcType
	out := api.VPCSubnet{
		VPCType: &kind, IPv6: nullable.NewNullNullable[[]api.AddressRange](),
		ID: s.ID, Label: s.Label, IPv4: s.IPv4, Linodes: []api.VPCSubnetLinode{}, Databases: &[]map[string]any{},
		Nodebalancers: &[]map[string]any{}, Created: api.Time{Time: s.Created}, Updated: api.Time{Time: s.Updated},
	}
	if s.IPv6 != "" {
		out.IPv6 = nullable.NewNullableWithValue(ranges([]string{s.IPv6}))
	}
	for _, m := range w.Members(s.ID) {
		f := api.VPCSubnetInterface{ID: m.InterfaceID, Active: m.Active}
		if m.ConfigID != 0 {
			f.ConfigID = &m.ConfigID
		}
		if n := len(out.Linodes); n > 0 && out.Linodes[n-1].ID == m.LinodeID {
			out.Linodes[n-1].Interfaces = append(out.Linodes[n-1].Interfaces, f)
			continue
		}
		out.Linodes = append(out.Linodes, api.VPCSubnetLinode{ID: m.LinodeID, Interfaces: []api.VPCSubnetInterface{f}})
	}
	return out
}
