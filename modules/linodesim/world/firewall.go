package world

import (
	"maps"
	"slices"
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
	Action, Protocol, Ports, Label string
	IPv4, IPv6                     []string
}

// FirewallSpec is a firewall to be. Without policies it accepts everything.
type FirewallSpec struct {
	Label                         string
	Tags                          []string
	Disabled                      bool
	Inbound, Outbound             []FirewallRule
	InboundPolicy, OutboundPolicy string
}

// AddFirewall makes a Cloud Firewall.
func (w *World) AddFirewall(spec FirewallSpec) Firewall {
	defer w.lock()()
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
	w.firewalls[f.ID] = f
	return *f
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
