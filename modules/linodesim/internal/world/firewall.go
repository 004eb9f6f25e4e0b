package world

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"
)

// AddFirewall makes a Cloud Firewall without the checks of the API, and returns its ID.
func (w Firewalls) AddFirewall(spec account.FirewallSpec) int {
	rules := api.FirewallRulesCreate{
		InboundPolicy: api.FirewallAction(spec.InboundPolicy), OutboundPolicy: api.FirewallAction(spec.OutboundPolicy),
	}
	if spec.Default { // a default firewall has the rules of a template
		rules.Inbound, rules.Outbound = templates()[0].Rules.Inbound, templates()[0].Rules.Outbound
	}
	f := w.addFirewall(&api.FirewallCreate{Label: optional(spec.Label), Tags: &spec.Tags, Rules: rules})
	if spec.Disabled {
		f.Status = api.FirewallStatusDisabled
		w.assets.firewalls[f.ID] = f
	}
	if spec.Default {
		w.assets.defaults = api.DefaultFirewallIDs{Linode: &f.ID, Nodebalancer: &f.ID, PublicInterface: &f.ID, VPCInterface: &f.ID}
	}
	return f.ID
}

// addFirewall makes a firewall. A list of rules that is null stays null, and an empty list stays empty.
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
	w.note(account.AssetCreated, fmt.Sprintf("firewall %d", id), 0)
	for _, linode := range deref(deref(b.Devices).Linodes) {
		w.attach(id, device{linode: linode})
	}
	for _, iface := range deref(deref(b.Devices).LinodeInterfaces) {
		if to, err := w.target("linode_interface", iface); err == nil {
			w.attach(id, to)
		}
	}
	for _, balancer := range deref(deref(b.Devices).Nodebalancers) {
		w.attach(id, device{balancer: balancer})
	}
	return f
}

// described returns rules as the API shows them: without empty texts, and each rule with addresses.
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

// CreateFirewall makes a firewall. Pools may name it; the simulator filters nothing.
func (w Firewalls) CreateFirewall(b *api.FirewallCreate) (api.Firewall, error) {
	if err := w.checkFirewall(b); err != nil {
		return api.Firewall{}, err
	}
	return w.protecting(w.addFirewall(b)), nil
}

func (w Firewalls) checkFirewall(b *api.FirewallCreate) error {
	var bad reasons
	if label := deref(b.Label); label != "" {
		checkLength(&bad, "label", label, 3, 32)
		checkFirewallLabel(&bad, label)
		for _, f := range w.assets.firewalls {
			if f.Label == label {
				bad.add("label", "Label must be unique among your Cloud Firewalls")
			}
		}
	}
	checkTags(&bad, deref(b.Tags))
	checkRules(&bad, "rules.", b.Rules)
	for n, id := range deref(deref(b.Devices).Linodes) {
		if _, err := w.target("linode", id); err != nil {
			bad.invalid(fmt.Sprintf("devices.linodes[%d]", n))
		}
	}
	for n, id := range deref(deref(b.Devices).Nodebalancers) {
		if _, err := w.target("nodebalancer", id); err != nil {
			bad.invalid(fmt.Sprintf("devices.nodebalancers[%d]", n))
		}
	}
	for n, id := range deref(deref(b.Devices).LinodeInterfaces) {
		if _, err := w.target("linode_interface", id); err != nil {
			bad.invalid(fmt.Sprintf("devices.linode_interfaces[%d]", n))
		}
	}
	return bad.err()
}

var firewallLabel = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*[A-Za-z0-9]$`)

// checkFirewallLabel refuses labels that the documentation rules out, in the simulator's own words.
func checkFirewallLabel(bad *reasons, label string) {
	doubled := strings.Contains(label, "--") || strings.Contains(label, "__") || strings.Contains(label, "..")
	if doubled || !firewallLabel.MatchString(label) {
		bad.add("label", "Label must start with a letter, end with a letter or digit, and contain only letters, digits, -, _ and . "+
			"without --, __ or ..")
	}
}

// checkRules refuses invalid rules; at is the path of their lists in the request.
func checkRules(bad *reasons, at string, rules api.FirewallRulesCreate) {
	inbound, outbound := deref(rules.Inbound), deref(rules.Outbound)
	checkRuleList(bad, at+"inbound", inbound)
	checkRuleList(bad, at+"outbound", outbound)
	if n := len(inbound) + len(outbound); n > maxRules {
		bad.add(strings.TrimSuffix(at, "."), "At most %d rules are allowed; there are %d", maxRules, n)
	}
}

func checkRuleList(bad *reasons, list string, rules []api.FirewallRule) {
	checkProtocols(bad, list, rules)
	for n, r := range rules {
		at := fmt.Sprintf("%s[%d].", list, n)
		if (r.Protocol == "ICMP" || r.Protocol == "IPENCAP") && deref(r.Ports) != "" {
			bad.add(at+"ports", "Ports are not allowed with protocol %s", r.Protocol)
		}
		for i, text := range deref(deref(r.Addresses).IPv4) {
			if !network(text).Addr().Is4() {
				bad.add(fmt.Sprintf("%saddresses.ipv4[%d]", at, i), "%s", badAddress(text))
			}
		}
		for i, text := range deref(deref(r.Addresses).IPv6) {
			if !network(text).Addr().Is6() {
				bad.add(fmt.Sprintf("%saddresses.ipv6[%d]", at, i), "%s", badAddress(text))
			}
		}
	}
}

// badAddress is the reason against an address of a rule. The account has no prefix lists.
func badAddress(text string) string {
	if strings.HasPrefix(text, "pl:") {
		return "Prefix list " + text + " is not valid"
	}
	return "Must be an address or a network in CIDR form"
}

const maxRules = 25

// checkProtocols refuses a protocol that is neither a known name nor a number.
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

// UpdateFirewall changes label, status and tags.
func (w Firewalls) UpdateFirewall(firewallID int, b *api.FirewallUpdate) (api.Firewall, error) {
	f, err := lookup(w.assets.firewalls, firewallID)
	if err != nil {
		return f, err
	}
	var bad reasons
	if b.Label != nil {
		checkLength(&bad, "label", *b.Label, 3, 32)
		checkFirewallLabel(&bad, *b.Label)
		for _, other := range w.assets.firewalls {
			if other.ID != firewallID && other.Label == *b.Label {
				bad.add("label", "Label must be unique among your Cloud Firewalls")
			}
		}
	}
	checkTags(&bad, deref(b.Tags))
	if err := bad.err(); err != nil {
		return api.Firewall{}, err
	}
	f = overlaid[api.Firewall](f, b)
	return w.protecting(w.changed(f)), nil
}

func (w Firewalls) changed(f api.Firewall) api.Firewall {
	f.Updated = w.stamp()
	w.assets.firewalls[f.ID] = f
	w.note(account.AssetChanged, fmt.Sprintf("firewall %d", f.ID), 0)
	w.happened(w.User, "firewall_update", onObject("firewall", f.ID, f.Label, "/v4/networking/firewalls/%d"), nil)
	return f
}

// GetFirewallRules finds the rules of one.
func (w Firewalls) GetFirewallRules(firewallID int) (api.FirewallRules, error) {
	f, err := lookup(w.assets.firewalls, firewallID)
	return f.Rules, err
}

// UpdateFirewallRules replaces them as a whole, and counts the version up.
func (w Firewalls) UpdateFirewallRules(firewallID int, b *api.FirewallRulesCreate) (api.FirewallRules, error) {
	f, err := lookup(w.assets.firewalls, firewallID)
	if err != nil {
		return api.FirewallRules{}, err
	}
	var bad reasons
	checkRules(&bad, "", *b)
	if err := bad.err(); err != nil {
		return api.FirewallRules{}, err
	}
	f.Rules = api.FirewallRules{
		Inbound: described(b.Inbound), InboundPolicy: b.InboundPolicy, Outbound: described(b.Outbound), OutboundPolicy: b.OutboundPolicy,
		Version: f.Rules.Version + 1, Fingerprint: fmt.Sprintf("%08x", f.ID+f.Rules.Version),
	}
	return w.changed(f).Rules, nil
}

// DeleteFirewall removes a firewall. Its Linodes are not protected any more, and pools keep its ID.
func (w Firewalls) DeleteFirewall(firewallID int) error {
	if _, err := lookup(w.assets.firewalls, firewallID); err != nil {
		return err
	}
	delete(w.assets.firewalls, firewallID)
	for _, d := range w.devicesOf(firewallID) {
		w.detach(d)
	}
	w.note(account.AssetDeleted, fmt.Sprintf("firewall %d", firewallID), 0)
	return nil
}

// protecting fills in the entities behind a firewall.
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

// GetFirewallSettings returns the default firewalls, none at first.
func (w Firewalls) GetFirewallSettings() (api.FirewallSettings, error) {
	return api.FirewallSettings{DefaultFirewallIds: w.assets.defaults}, nil
}

// UpdateFirewallSettings sets the given settings.
func (w Firewalls) UpdateFirewallSettings(b *api.FirewallSettingsUpdate) (api.FirewallSettings, error) {
	var bad reasons
	defaults, given := w.assets.defaults, b.DefaultFirewallIds
	for field, id := range map[string]*int{
		"linode": given.Linode, "nodebalancer": given.Nodebalancer, "public_interface": given.PublicInterface,
		"vpc_interface": given.VPCInterface,
	} {
		if _, there := w.assets.firewalls[deref(id)]; id != nil && !there {
			bad.invalid("default_firewall_ids." + field)
		}
	}
	bad.sort()
	if err := bad.err(); err != nil {
		return api.FirewallSettings{}, err
	}
	for to, from := range map[**int]*int{
		&defaults.Linode: given.Linode, &defaults.Nodebalancer: given.Nodebalancer, &defaults.PublicInterface: given.PublicInterface,
		&defaults.VPCInterface: given.VPCInterface,
	} {
		if from != nil {
			*to = new(*from)
		}
	}
	w.assets.defaults = defaults
	w.note(account.AssetChanged, "default firewalls", 0)
	return w.GetFirewallSettings()
}

// templates are the vendor's suggestions of rules: SSH and ICMP in, all out.
func templates() []api.FirewallTemplate {
	any4, any6 := []string{"0.0.0.0/0"}, []string{"::/0"}
	rule := func(protocol, ports string) api.FirewallRule {
		return api.FirewallRule{
			Action: "ACCEPT", Protocol: protocol, Ports: optional(ports), Label: new("accept-inbound-" + strings.ToLower(protocol)),
			Description: new("Accept inbound " + protocol), // each rule has one (FACTS 18, third table, 26); its text was not recorded
			Addresses:   &api.FirewallAddresses{IPv4: &any4, IPv6: &any6},
		}
	}
	rules := api.FirewallRulesCreate{
		Inbound: &[]api.FirewallRule{rule("TCP", "22"), rule("ICMP", "")}, InboundPolicy: "DROP", Outbound: &[]api.FirewallRule{},
		OutboundPolicy: "ACCEPT",
	}
	return []api.FirewallTemplate{{Slug: "public", Rules: rules}, {Slug: "vpc", Rules: rules}}
}

// ListFirewallTemplates lists suggestions of rules.
func (w Firewalls) ListFirewallTemplates() ([]api.FirewallTemplate, error) { return templates(), nil }

// GetFirewallTemplate finds one.
func (w Firewalls) GetFirewallTemplate(slug string) (api.FirewallTemplate, error) {
	for _, t := range templates() {
		if t.Slug == slug {
			return t, nil
		}
	}
	return api.FirewallTemplate{}, NotFound()
}
