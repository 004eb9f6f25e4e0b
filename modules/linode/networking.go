package linode

import (
	"context"
	"iter"
	"net/http"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// ListFirewalls iterates over the account's Cloud Firewalls.
func (c *Client) ListFirewalls(ctx context.Context, filter Filter) iter.Seq2[api.Firewall, error] {
	return iterate(ctx, c, api.OpListFirewalls, filter, func(e api.Firewall) int { return e.ID },
		func(number, size *int, filter *string) (*http.Request, error) {
			return api.NewListFirewallsRequest(c.server, &api.ListFirewallsParams{Page: number, PageSize: size, XFilter: filter})
		})
}

// GetFirewall returns one Cloud Firewall.
func (c *Client) GetFirewall(ctx context.Context, firewallID int) (*api.Firewall, error) {
	if err := positive(api.OpGetFirewall, "firewallId", firewallID); err != nil {
		return nil, err
	}
	return fetch[api.Firewall](ctx, c, api.OpGetFirewall)(api.NewGetFirewallRequest(c.server, firewallID))
}

// GetFirewallSettings returns the firewalls that new objects get by default.
func (c *Client) GetFirewallSettings(ctx context.Context) (*api.FirewallSettings, error) {
	return fetch[api.FirewallSettings](ctx, c, api.OpGetFirewallSettings)(api.NewGetFirewallSettingsRequest(c.server))
}

// ListVPCs iterates over the account's VPCs with their subnets.
func (c *Client) ListVPCs(ctx context.Context, filter Filter) iter.Seq2[api.VPC, error] {
	return iterate(ctx, c, api.OpListVPCs, filter, func(e api.VPC) int { return e.ID },
		func(number, size *int, filter *string) (*http.Request, error) {
			return api.NewListVPCsRequest(c.server, &api.ListVPCsParams{Page: number, PageSize: size, XFilter: filter})
		})
}

// GetVPC returns one VPC with its subnets.
func (c *Client) GetVPC(ctx context.Context, vpcID int) (*api.VPC, error) {
	if err := positive(api.OpGetVPC, "vpcId", vpcID); err != nil {
		return nil, err
	}
	return fetch[api.VPC](ctx, c, api.OpGetVPC)(api.NewGetVPCRequest(c.server, vpcID))
}

// ListSubnets iterates over the subnets of a VPC.
func (c *Client) ListSubnets(ctx context.Context, vpcID int, filter Filter) iter.Seq2[api.VPCSubnet, error] {
	if err := positive(api.OpListVPCSubnets, "vpcId", vpcID); err != nil {
		return failing[api.VPCSubnet](err)
	}
	return iterate(ctx, c, api.OpListVPCSubnets, filter, func(e api.VPCSubnet) int { return e.ID },
		func(number, size *int, filter *string) (*http.Request, error) {
			return api.NewListVPCSubnetsRequest(c.server, vpcID, &api.ListVPCSubnetsParams{Page: number, PageSize: size, XFilter: filter})
		})
}

// GetSubnet returns one subnet of a VPC.
func (c *Client) GetSubnet(ctx context.Context, vpcID int, subnetID int) (*api.VPCSubnet, error) {
	if err := positive(api.OpGetVPCSubnet, "vpcId", vpcID, "subnetId", subnetID); err != nil {
		return nil, err
	}
	return fetch[api.VPCSubnet](ctx, c, api.OpGetVPCSubnet)(api.NewGetVPCSubnetRequest(c.server, vpcID, subnetID))
}
