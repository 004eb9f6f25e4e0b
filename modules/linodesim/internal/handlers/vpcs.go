package handlers

import (
	"context"

	"github.com/oapi-codegen/nullable"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/server"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
)

// ListVPCs answers GET /vpcs.
func (Server) ListVPCs(ctx context.Context, q server.ListVPCsRequestObject) (server.ListVPCsResponseObject, error) {
	r := of(ctx)
	l, err := list(r, r.Seen.VPCs(), paging{q.Params.Page, q.Params.PageSize, q.Params.XFilter}, vpcField, func(v world.VPC) api.VPC { return vpc(v, r.Seen) })
	return server.ListVPCs200JSONResponse{Body: api.VPCPage{Data: l.data, Page: l.page, Pages: l.pages, Results: l.results}}, err
}

// GetVPC answers GET /vpcs/{vpcId}.
func (Server) GetVPC(ctx context.Context, q server.GetVPCRequestObject) (server.GetVPCResponseObject, error) {
	r := of(ctx)
	found, err := r.Seen.VPC(q.VPCID)
	if err != nil {
		return nil, err
	}
	return server.GetVPC200JSONResponse{Body: vpc(found, r.Seen)}, nil
}

// DeleteVPC answers DELETE /vpcs/{vpcId}.
func (Server) DeleteVPC(ctx context.Context, q server.DeleteVPCRequestObject) (server.DeleteVPCResponseObject, error) {
	r := of(ctx)
	err := r.Live.DeleteVPC(r.Actor, q.VPCID)
	return server.DeleteVPC200JSONResponse{Body: api.Empty{}}, err
}

// ListVPCSubnets answers GET /vpcs/{vpcId}/subnets.
func (Server) ListVPCSubnets(ctx context.Context, q server.ListVPCSubnetsRequestObject) (server.ListVPCSubnetsResponseObject, error) {
	r := of(ctx)
	v, err := r.Seen.VPC(q.VPCID)
	if err != nil {
		return nil, err
	}
	l, err := list(r, v.Subnets, paging{q.Params.Page, q.Params.PageSize, q.Params.XFilter}, subnetField, func(s world.Subnet) api.VPCSubnet { return subnet(s, r.Seen) })
	return server.ListVPCSubnets200JSONResponse{Body: api.VPCSubnetPage{Data: l.data, Page: l.page, Pages: l.pages, Results: l.results}}, err
}

// GetVPCSubnet answers GET /vpcs/{vpcId}/subnets/{subnetId}.
func (Server) GetVPCSubnet(ctx context.Context, q server.GetVPCSubnetRequestObject) (server.GetVPCSubnetResponseObject, error) {
	r := of(ctx)
	v, err := r.Seen.VPC(q.VPCID)
	if err != nil {
		return nil, err
	}
	for _, s := range v.Subnets {
		if s.ID == q.SubnetID {
			return server.GetVPCSubnet200JSONResponse{Body: subnet(s, r.Seen)}, nil
		}
	}
	return nil, notFound()
}

// CreateVPC answers POST /vpcs.
func (Server) CreateVPC(ctx context.Context, q server.CreateVPCRequestObject) (server.CreateVPCResponseObject, error) {
	r := of(ctx)
	spec := world.VPCSpec{Label: q.Body.Label, Description: value(q.Body.Description), Region: q.Body.Region}
	for _, n := range value(q.Body.IPv6) {
		if n.Range != "/52" || spec.IPv6 {
			return nil, refusal("ipv6[0].range", "One network of length /52 can be asked for")
		}
		spec.IPv6 = true
	}
	for _, s := range value(q.Body.Subnets) {
		spec.Subnets = append(spec.Subnets, world.SubnetSpec{Label: s.Label, IPv4: s.IPv4})
	}
	v, err := r.Live.CreateVPC(r.Actor, spec)
	if err != nil {
		return nil, err
	}
	return server.CreateVPC200JSONResponse{Body: vpc(v, r.Live)}, nil
}

func vpc(v world.VPC, w *world.World) api.VPC {
	ipv4 := ranges(world.VPCRanges)
	out := api.VPC{
		ID: v.ID, Label: v.Label, Description: v.Description, Region: v.Region, IPv4: &ipv4, IPv6: nullable.NewNullNullable[[]api.AddressRange](),
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

func ranges(list []string) []api.AddressRange {
	out := make([]api.AddressRange, len(list))
	for i, r := range list {
		out[i].Range = r
	}
	return out
}

func subnet(s world.Subnet, w *world.World) api.VPCSubnet {
	out := api.VPCSubnet{
		ID: s.ID, Label: s.Label, IPv4: s.IPv4, Linodes: []api.VPCSubnetLinode{}, Databases: &[]map[string]any{},
		Nodebalancers: &[]map[string]any{}, Created: api.Time{Time: s.Created}, Updated: api.Time{Time: s.Updated},
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
