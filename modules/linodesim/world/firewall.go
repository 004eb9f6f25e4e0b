package world

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// Firewall is a Cloud Firewall. Pools may name one; nothing is filtered.
type Firewall struct {
	ID               int
	Label            string
	Status           string // enabled or disabled
	Tags             []string
	Inbound          []FirewallRule // nil = none, null on the wire
	Outbound         []FirewallRule
	InboundPolicy    string // ACCEPT or DROP
	OutboundPolicy   string
	Created, Updated time.Time
}

// FirewallRule is one rule of a firewall.
type FirewallRule struct {
	Action, Protocol, Ports, Label, Description string
	IPv4, IPv6                                  []string
}

// FirewallSpec is a firewall to be. Without policies it accepts everything.
type FirewallSpec struct {
	Label                         string
	Tags                          []string
	Disabled                      bool
	Inbound, Outbound             []FirewallRule
	InboundPolicy, OutboundPolicy string
	Linodes                       []int // that it protects
}

// AddFirewall makes a Cloud Firewall without asking whether the API would.
func (w *World) AddFirewall(by Actor, spec FirewallSpec) Firewall {
	defer w.lock()()
	return w.addFirewall(by, spec)
}

func (w *World) addFirewall(by Actor, spec FirewallSpec) Firewall {
	f := &Firewall{
		ID: w.nextID(&w.seq.firewall), Label: spec.Label, Status: "enabled", Tags: nonNil(slices.Clone(spec.Tags)),
		Inbound: slices.Clone(spec.Inbound), Outbound: slices.Clone(spec.Outbound), InboundPolicy: "ACCEPT", OutboundPolicy: "ACCEPT",
		Created: w.now, Updated: w.now,
	}
	if spec.Disabled {
		f.Status = "disabled"
	}
	if spec.InboundPolicy != "" {
		f.InboundPolicy = spec.InboundPolicy
	}
	if spec.OutboundPolicy != "" {
		f.OutboundPolicy = spec.OutboundPolicy
	}
	if f.Label == "" {
		f.Label = fmt.Sprintf("firewall-%d", f.ID)
	}
	w.firewalls[f.ID] = f
	for _, id := range spec.Linodes {
		if i := w.instances[id]; i != nil {
			i.FirewallID = f.ID
		}
	}
	w.note(by, AssetCreated, fmt.Sprintf("firewall %d", f.ID), 0)
	return *f
}

// CreateFirewall is AddFirewall with the API's rules.
func (w *World) CreateFirewall(by Actor, spec FirewallSpec) (Firewall, error) {
	defer w.lock()()
	if err := w.checkFirewall(spec); err != nil {
		return Firewall{}, err
	}
	return w.addFirewall(by, spec), nil
}

func (w *World) checkFirewall(spec FirewallSpec) error {
	var bad reasons
	if spec.Label != "" {
		checkLength(&bad, "label", spec.Label, 3, 32)
	}
	for _, f := range w.firewalls {
		if spec.Label != "" && f.Label == spec.Label {
			bad.add("label", "Label must be unique among your Cloud Firewalls")
		}
	}
	checkTags(&bad, spec.Tags)
	checkProtocols(&bad, "rules.inbound", spec.Inbound)
	checkProtocols(&bad, "rules.outbound", spec.Outbound)
	for n, id := range spec.Linodes {
		if w.instances[id] == nil {
			bad.add(fmt.Sprintf("devices.linodes[%d]", n), "devices.linodes[%d] is not valid", n)
		}
	}
	if n := len(spec.Inbound) + len(spec.Outbound); n > maxRules {
		bad.add("rules", "At most %d rules are allowed; there are %d", maxRules, n)
	}
	return bad.err()
}

const maxRules = 25

// Protocols have a name, or a number.
func checkProtocols(bad *reasons, list string, rules []FirewallRule) {
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
func (w *World) DeleteFirewall(by Actor, id int) error {
	defer w.lock()()
	if w.firewalls[id] == nil {
		return notFound()
	}
	delete(w.firewalls, id)
	for _, i := range w.instances {
		if i.FirewallID == id {
			i.FirewallID = 0
		}
	}
	w.note(by, AssetDeleted, fmt.Sprintf("firewall %d", id), 0)
	return nil
}

// Protected lists the Linodes behind a firewall, by ID.
func (w *World) Protected(firewall int) []Instance {
	defer w.lock()()
	var out []Instance
	for _, id := range slices.Sorted(maps.Keys(w.instances)) {
		if w.instances[id].FirewallID == firewall {
			out = append(out, w.instances[id].clone())
		}
	}
	return out
}

// Firewall finds one.
func (w *World) Firewall(id int) (Firewall, error) {
	defer w.lock()()
	f, ok := w.firewalls[id]
	if !ok {
		return Firewall{}, notFound()
	}
	return *f, nil
}

// Firewalls lists them by ID.
func (w *World) Firewalls() []Firewall {
	defer w.lock()()
	out := make([]Firewall, 0, len(w.firewalls))
	for _, id := range slices.Sorted(maps.Keys(w.firewalls)) {
		out = append(out, *w.firewalls[id])
	}
	return out
}
