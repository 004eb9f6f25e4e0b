package handlers

import (
	"fmt"

	"github.com/oapi-codegen/nullable"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
)

func (r Request) listFirewalls() (page[api.Firewall], error) {
	return list(r, r.Seen.Firewalls(), func(f world.Firewall) api.Firewall { return firewall(f, r.Seen) })
}

func (r Request) getFirewall(firewallID int) (api.Firewall, error) {
	found, err := r.Seen.Firewall(firewallID)
	if err != nil {
		return api.Firewall{}, err
	}
	return firewall(found, r.Seen), nil
}

func (r Request) createFirewall(b *api.FirewallCreate) (api.Firewall, error) {
	spec := world.FirewallSpec{
		Label: value(b.Label), Tags: value(b.Tags), Inbound: newRules(b.Rules.Inbound), Outbound: newRules(b.Rules.Outbound),
		InboundPolicy: string(b.Rules.InboundPolicy), OutboundPolicy: string(b.Rules.OutboundPolicy),
	}
	if b.Devices != nil {
		if len(value(b.Devices.Nodebalancers)) > 0 {
			return api.Firewall{}, refusal("devices.nodebalancers[0]", "devices.nodebalancers[0] is not valid")
		}
		spec.Linodes = value(b.Devices.Linodes)
	}
	found, err := r.Live.CreateFirewall(r.Actor, spec)
	return firewall(found, r.Live), err
}

func (r Request) deleteFirewall(firewallID int) (api.Empty, error) {
	return api.Empty{}, r.Live.DeleteFirewall(r.Actor, firewallID)
}

// no defaults.
func (r Request) getFirewallSettings() (api.FirewallSettings, error) {
	return api.FirewallSettings{}, nil
}

func newRules(given *[]api.FirewallRule) []world.FirewallRule {
	if given == nil {
		return nil
	}
	out := []world.FirewallRule{}
	for _, g := range *given {
		made := world.FirewallRule{
			Action: string(g.Action), Protocol: g.Protocol, Ports: value(g.Ports), Label: value(g.Label), Description: value(g.Description),
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
		ID: f.ID, Label: f.Label, Status: api.FirewallStatus(f.Status), Tags: nonNil(f.Tags), Entities: entities(f, w),
		Created: api.Time{Time: f.Created}, Updated: api.Time{Time: f.Updated},
		Rules: api.FirewallRules{
			Inbound: rules(f.Inbound), InboundPolicy: api.FirewallAction(f.InboundPolicy),
			Outbound: rules(f.Outbound), OutboundPolicy: api.FirewallAction(f.OutboundPolicy),
			Version: 1, Fingerprint: fmt.Sprintf("%08x", f.ID),
		},
	}
}

// A list that was null stays so, and an empty one stays empty.
func rules(in []world.FirewallRule) *[]api.FirewallRule {
	if in == nil {
		return nil
	}
	out := make([]api.FirewallRule, len(in))
	for i, r := range in {
		out[i] = api.FirewallRule{
			Action: api.FirewallAction(r.Action), Protocol: r.Protocol,
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
