package world

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// FirewallSpec is a firewall to be. Without policies it accepts everything.
type FirewallSpec struct {
	Label                         string // "" = made up
	Tags                          []string
	Disabled                      bool
	InboundPolicy, OutboundPolicy string
}

// AddFirewall makes a Cloud Firewall without the checks of the API, and returns its ID.
func (w Firewalls) AddFirewall(spec FirewallSpec) int {
	f := w.addFirewall(&api.FirewallCreate{Label: optional(spec.Label), Tags: &spec.Tags, Rules: api.FirewallRulesCreate{
		InboundPolicy: api.FirewallAction(spec.InboundPolicy), OutboundPolicy: api.FirewallAction(spec.OutboundPolicy),
	}})
	if spec.Disabled {
		f.Status = api.FirewallStatusDisabled
		w.assets.firewalls[f.ID] = f
	}
	return f.ID
}

// addFirewall keeps a list of rules that is null so, and an empty one empty.
func (w Firewalls) addFirewall(b *api.FirewallCreate) api.Firewall {
	id := w.nextID(&w.seq.firewall)
	f := api.Firewall{
		ID: id, Label: cmp.Or(deref(b.Label), fmt.Sprintf("firewall-%d", id)), Status: api.FirewallStatusEnabled,
		Tags: nonNil(slices.Clone(deref(b.Tags))), Created: w.stamp(), Updated: w.stamp(),
		Rules: api.FirewallRules{
			Inbound: described(b.Rules.Inbound), InboundPolicy: cmp.Or(b.Rules.InboundPolicy, "ACCEPT"),
			Outbound: described(b.Rules.Outbound), OutboundPolicy: cmp.Or(b.Rules.OutboundPolicy, "ACCEPT"),
			Version: 1, Fingerprint: fmt.Sprintf("%08x", id),
		},
	}
	w.assets.firewalls[id] = f
	w.note(AssetCreated, fmt.Sprintf("firewall %d", id), 0)
	for _, linode := range deref(deref(b.Devices).Linodes) {
		w.attach(id, linode, 0)
	}
	return f
}

// described drops texts that are empty, and gives every rule addresses.
func described(rules *[]api.FirewallRule) *[]api.FirewallRule {
	if rules == nil {
		return nil
	}
	return new(each(*rules, func(r api.FirewallRule) api.FirewallRule {
		r.Ports, r.Label, r.Description = optional(deref(r.Ports)), optional(deref(r.Label)), optional(deref(r.Description))
		r.Addresses = new(deref(r.Addresses))
		return r
	}))
}

// CreateFirewall makes one. Pools may name it; nothing is filtered.
func (w Firewalls) CreateFirewall(b *api.FirewallCreate) (api.Firewall, error) {
	if len(deref(deref(b.Devices).Nodebalancers)) > 0 {
		return api.Firewall{}, Refuse("devices.nodebalancers[0]", "devices.nodebalancers[0] is not valid")
	}
	if err := w.checkFirewall(b); err != nil {
		return api.Firewall{}, err
	}
	return w.protecting(w.addFirewall(b)), nil
}

func (w Firewalls) checkFirewall(b *api.FirewallCreate) error {
	var bad reasons
	if label := deref(b.Label); label != "" {
		checkLength(&bad, "label", label, 3, 32)
		for _, f := range w.assets.firewalls {
			if f.Label == label {
				bad.add("label", "Label must be unique among your Cloud Firewalls")
			}
		}
	}
	checkTags(&bad, deref(b.Tags))
	inbound, outbound := deref(b.Rules.Inbound), deref(b.Rules.Outbound)
	checkProtocols(&bad, "rules.inbound", inbound)
	checkProtocols(&bad, "rules.outbound", outbound)
	for n, id := range deref(deref(b.Devices).Linodes) {
		if _, _, err := w.target("linode", id); err != nil {
			bad.invalid(fmt.Sprintf("devices.linodes[%d]", n))
		}
	}
	if n := len(inbound) + len(outbound); n > maxRules {
		bad.add("rules", "At most %d rules are allowed; there are %d", maxRules, n)
	}
	return bad.err()
}

const maxRules = 25

// Protocols have a name, or a number.
func checkProtocols(bad *reasons, list string, rules []api.FirewallRule) {
	for i, r := range rules {
		if slices.Contains([]string{"TCP", "UDP", "ICMP", "IPENCAP", "ALL"}, r.Protocol) {
			continue
		}
		if n, err := strconv.ParseUint(r.Protocol, 10, 8); err != nil || n == 0 {
			bad.add(fmt.Sprintf("%s[%d].protocol", list, i), "Must be TCP, UDP, ICMP, IPENCAP, ALL or the number of a protocol")
		}
	}
}

// DeleteFirewall removes one. Linodes that it protected are open then, and
// pools keep its ID.
func (w Firewalls) DeleteFirewall(firewallID int) error {
	if _, err := lookup(w.assets.firewalls, firewallID); err != nil {
		return err
	}
	delete(w.assets.firewalls, firewallID)
	for _, d := range w.devicesOf(firewallID) {
		w.detach(d)
	}
	w.note(AssetDeleted, fmt.Sprintf("firewall %d", firewallID), 0)
	return nil
}

// protecting fills in what is behind a firewall.
func (w Firewalls) protecting(f api.Firewall) api.Firewall {
	f.Entities = each(w.devicesOf(f.ID), w.entityOf)
	return f
}

// GetFirewall finds one.
func (w Firewalls) GetFirewall(firewallID int) (api.Firewall, error) {
	f, err := lookup(w.assets.firewalls, firewallID)
	return w.protecting(f), err
}

// ListFirewalls lists them by ID.
func (w Firewalls) ListFirewalls() ([]api.Firewall, error) {
	return each(sorted(w.assets.firewalls), w.protecting), nil
}

// GetFirewallSettings has no defaults.
func (w Firewalls) GetFirewallSettings() (api.FirewallSettings, error) {
	return api.FirewallSettings{}, nil
}
