package handlers

import (
	"context"

	"fmt"

	"github.com/oapi-codegen/nullable"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/server"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
)

// ListFirewalls answers GET /networking/firewalls.
func (Server) ListFirewalls(ctx context.Context, q server.ListFirewallsRequestObject) (server.ListFirewallsResponseObject, error) {
	r := of(ctx)
	l, err := list(r, r.Seen.Firewalls(), paging{q.Params.Page, q.Params.PageSize, q.Params.XFilter}, firewallField, func(f world.Firewall) api.Firewall { return firewall(f, r.Seen) })
	return server.ListFirewalls200JSONResponse{Body: api.FirewallPage{Data: l.data, Page: l.page, Pages: l.pages, Results: l.results}}, err
}

// GetFirewall answers GET /networking/firewalls/{firewallId}.
func (Server) GetFirewall(ctx context.Context, q server.GetFirewallRequestObject) (server.GetFirewallResponseObject, error) {
	r := of(ctx)
	found, err := r.Seen.Firewall(q.FirewallID)
	if err != nil {
		return nil, err
	}
	return server.GetFirewall200JSONResponse{Body: firewall(found, r.Seen)}, nil
}

// CreateFirewall answers POST /networking/firewalls.
func (Server) CreateFirewall(ctx context.Context, q server.CreateFirewallRequestObject) (server.CreateFirewallResponseObject, error) {
	r := of(ctx)
	found, err := r.Live.CreateFirewall(r.Actor, world.FirewallSpec{
		Label: value(q.Body.Label), Tags: value(q.Body.Tags), Inbound: newRules(q.Body.Rules.Inbound), Outbound: newRules(q.Body.Rules.Outbound),
		InboundPolicy: string(q.Body.Rules.InboundPolicy), OutboundPolicy: string(q.Body.Rules.OutboundPolicy),
	})
	if err != nil {
		return nil, err
	}
	return server.CreateFirewall200JSONResponse{Body: firewall(found, r.Live)}, nil
}

// DeleteFirewall answers DELETE /networking/firewalls/{firewallId}.
func (Server) DeleteFirewall(ctx context.Context, q server.DeleteFirewallRequestObject) (server.DeleteFirewallResponseObject, error) {
	r := of(ctx)
	err := r.Live.DeleteFirewall(r.Actor, q.FirewallID)
	return server.DeleteFirewall200JSONResponse{Body: api.Empty{}}, err
}

// GetFirewallSettings answers GET /networking/firewalls/settings: no defaults.
func (Server) GetFirewallSettings(context.Context, server.GetFirewallSettingsRequestObject) (server.GetFirewallSettingsResponseObject, error) {
	return server.GetFirewallSettings200JSONResponse{Body: api.FirewallSettings{}}, nil
}

func newRules(given *[]api.FirewallRule) []world.FirewallRule {
	var out []world.FirewallRule
	for _, g := range value(given) {
		made := world.FirewallRule{
			Action: string(g.Action), Protocol: string(g.Protocol), Ports: value(g.Ports), Label: value(g.Label), Description: value(g.Description),
		}
		if g.Addresses != nil {
			made.IPv4, made.IPv6 = value(g.Addresses.IPv4), value(g.Addresses.IPv6)
		}
		out = append(out, made)
	}
	return out
}

func entities(f world.Firewall, w *world.World) []api.FirewallEntity {
	out := []api.FirewallEntity{}
	for _, i := range w.Protected(f.ID) {
		out = append(out, api.FirewallEntity{
			ID: i.ID, Label: &i.Label, Type: "linode", URL: fmt.Sprintf("/v4/linode/instances/%d", i.ID),
			ParentEntity: nullable.NewNullNullable[map[string]any](),
		})
	}
	return out
}

func firewall(f world.Firewall, w *world.World) api.Firewall {
	return api.Firewall{
		ID: f.ID, Label: f.Label, Status: api.FirewallStatus(f.Status), Tags: strings(f.Tags), Entities: entities(f, w),
		Created: api.Time{Time: f.Created}, Updated: api.Time{Time: f.Updated},
		Rules: api.FirewallRules{
			Inbound: rules(f.Inbound), InboundPolicy: api.FirewallAction(f.InboundPolicy),
			Outbound: rules(f.Outbound), OutboundPolicy: api.FirewallAction(f.OutboundPolicy),
			Version: 1, Fingerprint: fmt.Sprintf("%08x", f.ID),
		},
	}
}

// A list without rules is null on the wire.
func rules(in []world.FirewallRule) *[]api.FirewallRule {
	if in == nil {
		return nil
	}
	out := make([]api.FirewallRule, len(in))
	for i, r := range in {
		out[i] = api.FirewallRule{
			Action: api.FirewallAction(r.Action), Protocol: api.FirewallRuleProtocol(r.Protocol),
			Ports: optional(r.Ports), Label: optional(r.Label), Description: optional(r.Description), Addresses: &api.FirewallAddresses{},
		}
		if r.IPv4 != nil {
			out[i].Addresses.IPv4 = &r.IPv4
		}
		if r.IPv6 != nil {
			out[i].Addresses.IPv6 = &r.IPv6
		}
	}
	return &out
}
