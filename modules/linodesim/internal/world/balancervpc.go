package world

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/oapi-codegen/nullable"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// Purposes of a NodeBalancer's networks in subnets.
const (
	frontend = "frontend" // clients reach it there
	backend  = "backend"  // it reaches its nodes from there
)

// backendBits is the length of the network that a NodeBalancer takes from the subnet of its nodes. Source: the ranges in the tests of the
// vendor's Terraform provider, nodebalancer model, August 2026.
const backendBits = 30

// wantedNetworks lists the networks that a request asks for, with their fields; the frontend comes first, as it does in answers (tests
// of the vendor's Python client, nodebalancer, August 2026).
func wantedNetworks(b *api.NodeBalancerCreate) (fields []string, specs []api.NodeBalancerVPC, purposes []string) {
	for _, list := range []struct {
		field, purpose string
		specs          *[]api.NodeBalancerVPC
	}{{"frontend_vpcs", frontend, b.FrontendVpcs}, {"backend_vpcs", backend, b.BackendVpcs}, {"vpcs", backend, b.Vpcs}} {
		for n, spec := range deref(list.specs) {
			fields, specs = append(fields, fmt.Sprintf("%s[%d]", list.field, n)), append(specs, spec)
			purposes = append(purposes, list.purpose)
		}
	}
	return fields, specs, purposes
}

// allot chooses the networks of a new NodeBalancer, or refuses them. The two texts of refusals about a frontend are recorded (FACTS 18,
// third table, 1), without a field.
func (w NodeBalancers) allot(bad *reasons, b *api.NodeBalancerCreate) []api.NodeBalancerVPCConfig {
	fields, specs, purposes := wantedNetworks(b)
	if len(deref(b.Vpcs)) > 0 && len(deref(b.BackendVpcs)) > 0 {
		bad.add("vpcs", "vpcs is the older name of backend_vpcs; use only one of the two fields")
	}
	if len(deref(b.FrontendVpcs)) > 1 {
		bad.add("frontend_vpcs", "frontend_vpcs may name at most one subnet")
	}
	if kind := deref(b.Type); len(deref(b.FrontendVpcs)) > 0 && (kind == "" || kind == "common") {
		bad.add("", "NodeBalancer with frontend VPC IP must be premium")
		return nil
	}
	var out []api.NodeBalancerVPCConfig
	for n, spec := range specs {
		v, s, known := w.VPCs().subnet(spec.SubnetID)
		if !known || v.Region != b.Region || spec.VPCID != nil && *spec.VPCID != v.ID {
			bad.invalid(fields[n] + ".subnet_id")
			continue
		}
		one := api.NodeBalancerVPCConfig{VPCID: v.ID, SubnetID: s.ID, Purpose: api.NodeBalancerVPCConfigPurpose(purposes[n])}
		w.allotIPv4(bad, fields[n], spec, s, &one, out)
		allotIPv6(bad, spec, s, &one)
		out = append(out, one)
	}
	return out
}

// allotIPv4 takes the first free part of the subnet, or of the range that the request names.
func (w NodeBalancers) allotIPv4(bad *reasons, field string, spec api.NodeBalancerVPC, s api.VPCSubnet, one *api.NodeBalancerVPCConfig,
	beside []api.NodeBalancerVPCConfig) {
	bits := backendBits
	if one.Purpose == frontend {
		bits = 32
		if deref(spec.IPv4Range) == "" && deref(spec.IPv6Range) != "" {
			return // IPv6 alone
		}
	}
	within, err := netip.ParsePrefix(s.IPv4)
	if text := deref(spec.IPv4Range); err == nil && text != "" && text != "auto" {
		asked, err := netip.ParsePrefix(text)
		if err != nil || asked != asked.Masked() || !within.Contains(asked.Addr()) || asked.Bits() < within.Bits() || asked.Bits() > bits {
			bad.add(field+".ipv4_range", "Must be a part of the subnet's network %s, of length /%d to /%d", s.IPv4, within.Bits(), bits)
			return
		}
		within = asked
	}
	free, ok := w.VPCs().free(s.ID, within, bits, beside)
	if !ok {
		bad.add(field+".ipv4_range", "The subnet has no free network of length /%d", bits)
		return
	}
	one.IPv4Range = new(free.String())
}

// allotIPv6 gives a frontend an IPv6 network if the subnet has one: the subnet's network with 1 as the fifth part. The tests of the
// vendor's Python client have this form.
func allotIPv6(bad *reasons, spec api.NodeBalancerVPC, s api.VPCSubnet, one *api.NodeBalancerVPCConfig) {
	network := ipv6Of(s)
	if !network.IsValid() {
		if deref(spec.IPv6Range) != "" {
			bad.add("", "No IPv6 subnets available in VPC")
		}
		return
	}
	if one.Purpose == frontend {
		address := network.Addr().As16()
		address[9] = 1
		one.IPv6Range = new(netip.PrefixFrom(netip.AddrFrom16(address), 64).String())
	}
}

// free finds the first network of a length in a part of a subnet, in which no Linode and no NodeBalancer has an address. The first two
// addresses of a subnet are not usable.
func (w VPCs) free(subnet int, within netip.Prefix, bits int, beside []api.NodeBalancerVPCConfig) (netip.Prefix, bool) {
	used := w.usedIn(subnet)
	for _, other := range beside {
		if p, err := netip.ParsePrefix(deref(other.IPv4Range)); err == nil && other.SubnetID == subnet {
			used = append(used, p)
		}
	}
	_, s, _ := w.subnet(subnet)
	whole, err := netip.ParsePrefix(s.IPv4)
	if err != nil {
		return netip.Prefix{}, false
	}
	used = append(used, netip.PrefixFrom(whole.Addr(), 31))
	for candidate := netip.PrefixFrom(within.Addr(), bits); within.Contains(candidate.Addr()); {
		if !slices.ContainsFunc(used, candidate.Overlaps) {
			return candidate, true
		}
		next := candidate.Addr().As4()
		for step, at := 1<<(32-bits), 3; step > 0 && at >= 0; at-- {
			sum := int(next[at]) + step
			next[at], step = byte(sum), sum>>8
		}
		following := netip.PrefixFrom(netip.AddrFrom4(next), bits)
		if following.Addr().Less(candidate.Addr()) {
			break // the end of the address space
		}
		candidate = following
	}
	return netip.Prefix{}, false
}

// usedIn lists the addresses and networks of a subnet that Linodes and NodeBalancers have.
func (w VPCs) usedIn(subnet int) []netip.Prefix {
	var used []netip.Prefix
	for _, i := range w.instances {
		for _, f := range w.Interfaces().nics(i) {
			if f.purpose != "vpc" || f.subnetID != subnet {
				continue
			}
			if a, err := netip.ParseAddr(f.address); err == nil {
				used = append(used, netip.PrefixFrom(a, a.BitLen()))
			}
		}
	}
	for _, networks := range w.assets.networks {
		for _, n := range networks {
			if p, err := netip.ParsePrefix(deref(n.IPv4Range)); err == nil && n.SubnetID == subnet {
				used = append(used, p)
			}
		}
	}
	return used
}

// address gives a Linode the nth address of a subnet, or the next address that no NodeBalancer has.
func (w VPCs) address(s api.VPCSubnet, nth int) string {
	for {
		text := usable(s.IPv4, nth)
		a, err := netip.ParseAddr(text)
		if err != nil || !slices.ContainsFunc(w.balancersIn(s.ID), func(p netip.Prefix) bool { return p.Contains(a) }) {
			return text
		}
		nth++
	}
}

func (w VPCs) balancersIn(subnet int) []netip.Prefix {
	var all []netip.Prefix
	for _, b := range w.shownBalancers(subnet) {
		if p, err := netip.ParsePrefix(deref(b.IPv4Range)); err == nil {
			all = append(all, p)
		}
	}
	return all
}

// shownBalancers lists the NodeBalancers of a subnet (FACTS 18, third table, 14).
func (w VPCs) shownBalancers(subnet int) []api.VPCSubnetNodeBalancer {
	out := []api.VPCSubnetNodeBalancer{}
	for _, b := range sorted(w.assets.balancers) {
		for _, n := range w.assets.networks[b.ID] {
			if n.SubnetID == subnet {
				out = append(out, api.VPCSubnetNodeBalancer{ID: b.ID, IPv4Range: n.IPv4Range})
			}
		}
	}
	return out
}

// settle gives a new NodeBalancer its networks, and with a frontend the addresses in them.
func (w NodeBalancers) settle(b *api.NodeBalancer, networks []api.NodeBalancerVPCConfig) {
	b.FrontendAddressType, b.FrontendVPCSubnetID = new(api.NodeBalancerFrontendAddressTypePublic), nullable.NewNullNullable[int]()
	// The field was recorded; its possible values were not, and these are guesses.
	b.BackendConnectivity = new("private")
	for n := range networks {
		one := &networks[n]
		one.ID, one.NodebalancerID = w.sideID(&w.seq.network), b.ID
		if one.Purpose == backend {
			b.BackendConnectivity = new("vpc")
			continue
		}
		b.FrontendAddressType, b.FrontendVPCSubnetID = new(api.NodeBalancerFrontendAddressTypeVPC), nullable.NewNullableWithValue(one.SubnetID)
		b.IPv4, b.IPv6, b.Hostname = nil, nil, nil
		if p, err := netip.ParsePrefix(deref(one.IPv4Range)); err == nil {
			b.IPv4 = new(p.Addr().String())
		}
		if p, err := netip.ParsePrefix(deref(one.IPv6Range)); err == nil {
			b.IPv6 = new(p.Addr().Next().String())
		}
	}
	w.assets.networks[b.ID] = networks
}

// ListNodeBalancerVPCs lists the networks of a NodeBalancer in subnets.
func (w NodeBalancers) ListNodeBalancerVPCs(nodebalancerID int) ([]api.NodeBalancerVPCConfig, error) {
	_, err := lookup(w.assets.balancers, nodebalancerID)
	return w.assets.networks[nodebalancerID], err
}

// networkOf returns the ID of the network from which a NodeBalancer reaches an address; nil without such a network.
func (w NodeBalancers) networkOf(balancer int, address netip.Addr) *int {
	for _, n := range w.assets.networks[balancer] {
		_, s, _ := w.VPCs().subnet(n.SubnetID)
		if p, err := netip.ParsePrefix(s.IPv4); err == nil && n.Purpose == backend && p.Contains(address) {
			return &n.ID
		}
	}
	return nil
}
