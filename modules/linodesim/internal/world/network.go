package world

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/oapi-codegen/nullable"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
)

// vpcRanges are the default networks that subnets are cut from. linodePrivate has the private addresses of Linodes.
var (
	vpcRanges     = []string{"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/17"}
	linodePrivate = netip.MustParsePrefix("192.168.128.0/17")
)

// Kinds of VPCs.
const (
	vpcType  = "regular"
	rdmaType = "rdma"
)

var vpcLabel = regexp.MustCompile(`^[A-Za-z0-9_-]*$`)

// CreateVPC makes one with its subnets. Nothing is routed.
func (w VPCs) CreateVPC(b *api.VPCCreate) (api.VPC, error) {
	subnets, err := askedSubnets(b)
	if err != nil {
		return api.VPC{}, err
	}
	var bad reasons
	w.Offers().checkRegion(&bad, b.Region, catalog.CapVPCs, "VPCs are")
	w.checkVPCName(&bad, 0, b.Label)
	checkLength(&bad, "description", deref(b.Description), 0, 255)
	kind := string(cmp.Or(deref(b.VPCType), vpcType))
	if kind == rdmaType && len(deref(b.IPv6)) > 0 {
		bad.add("ipv6", "RDMA VPCs cannot have IPv6 ranges")
	}
	ranges := w.checkRanges(&bad, b.Region, deref(b.IPv4))
	if len(ranges) == 0 {
		ranges = vpcRanges
	}
	checkSubnets(&bad, ranges, subnets, len(deref(b.IPv6)) > 0)
	if err := bad.err(); err != nil {
		return api.VPC{}, err
	}
	if !w.room() {
		return api.VPC{}, beyondLimits()
	}
	return w.GetVPC(w.addVPC(b, kind, ranges).ID)
}

// room reports whether the account may have one more VPC.
func (w VPCs) room() bool { return w.faults.vpcLimit == 0 || len(w.assets.vpcs) < w.faults.vpcLimit }

func (w VPCs) addVPC(b *api.VPCCreate, kind string, ranges []string) api.VPC {
	v := api.VPC{
		ID: w.sideID(&w.seq.vpc), Label: b.Label, Description: deref(b.Description), Region: b.Region, VPCType: &kind,
		IPv4: new(networkRanges(ranges...)), IPv6: nullable.NewNullNullable[[]api.AddressRange](),
		Created: w.stamp(), Updated: w.stamp(),
	}
	if len(deref(b.IPv6)) > 0 {
		v.IPv6.Set(networkRanges(fmt.Sprintf("2001:db8:%x::/52", v.ID&0xffff)))
	}
	for _, s := range deref(b.Subnets) {
		v.Subnets = append(v.Subnets, w.newSubnet(v, s))
	}
	w.assets.vpcs[v.ID] = v
	w.note(account.AssetCreated, fmt.Sprintf("vpc %d", v.ID), 0)
	return v
}

// askedSubnets returns the requested subnets. It refuses IPv6 networks of a length that the API does not offer.
func askedSubnets(b *api.VPCCreate) ([]api.VPCSubnetCreate, error) {
	for n, network := range deref(b.IPv6) {
		if network.Range != "/52" && network.Range != "auto" || n > 0 {
			return nil, Refuse("ipv6[0].range", "One network of length /52 can be asked for")
		}
	}
	for n, s := range deref(b.Subnets) {
		for _, network := range deref(s.IPv6) {
			if _, ok := subnetBits(network.Range); !ok {
				return nil, Refuse(fmt.Sprintf("subnets[%d].ipv6[0].range", n), "A network of length /%d to /%d can be asked for", least6, most6)
			}
		}
	}
	return deref(b.Subnets), nil
}

// These are lengths of the IPv6 networks of subnets. 56 and 62 were recorded (FACTS 18, third table, 10). That the
// lengths between them are accepted, and that auto means 56, are guesses.
const least6, auto6, most6 = 53, 56, 64

// subnetBits reads the length that a request asks for, such as /56.
func subnetBits(text string) (int, bool) {
	if text == "auto" {
		return auto6, true
	}
	digits, found := strings.CutPrefix(text, "/")
	bits, err := strconv.Atoi(digits)
	return bits, found && err == nil && bits >= least6 && bits <= most6
}

// nextIPv6 cuts a network off a VPC's /52, after the networks of its other subnets.
func nextIPv6(v api.VPC, bits int) netip.Prefix {
	networks, _ := v.IPv6.Get()
	whole := netip.MustParsePrefix(networks[0].Range)
	step := uint16(1) << (64 - bits) //nolint:gosec // at most 11
	end := uint16(0)
	for _, s := range v.Subnets {
		if p := ipv6Of(s); p.IsValid() {
			raw := p.Addr().As16()
			end = max(end, (uint16(raw[6])<<8|uint16(raw[7]))&0xfff+uint16(1)<<(64-p.Bits())) //nolint:gosec // at most 11
		}
	}
	at := (end + step - 1) / step * step
	raw := whole.Addr().As16()
	raw[6], raw[7] = raw[6]&0xf0|byte(at>>8)&0xf, byte(at)
	return netip.PrefixFrom(netip.AddrFrom16(raw), bits)
}

func networkRanges(list ...string) []api.AddressRange {
	return each(list, func(r string) api.AddressRange { return api.AddressRange{Range: r} })
}

func inPrivate(p netip.Prefix) bool { return within(p, vpcRanges) && !p.Overlaps(linodePrivate) }

// within reports whether one of the networks contains another.
func within(p netip.Prefix, networks []string) bool {
	return slices.ContainsFunc(networks, func(text string) bool {
		outer, err := netip.ParsePrefix(text)
		return err == nil && outer.Contains(p.Addr()) && outer.Bits() <= p.Bits()
	})
}

func checkSubnets(bad *reasons, ranges []string, subnets []api.VPCSubnetCreate, ipv6 bool) {
	var seen []netip.Prefix
	for n, s := range subnets {
		if len(deref(s.IPv6)) > 0 && !ipv6 {
			bad.add(fmt.Sprintf("subnets[%d].ipv6", n), "The VPC has no IPv6 network")
		}
		checkVPCLabel(bad, fmt.Sprintf("subnets[%d].label", n), s.Label)
		p, err := netip.ParsePrefix(s.IPv4)
		inside := err == nil && within(p, ranges)
		field := fmt.Sprintf("subnets[%d].ipv4", n)
		switch {
		case err != nil || p != p.Masked() || p.Bits() > 29 || !inside || p.Overlaps(linodePrivate):
			bad.add(field, "Must be a private network of prefix length 1-29 apart from %s", linodePrivate)
		case slices.ContainsFunc(seen, p.Overlaps):
			bad.add(field, "Overlaps with another subnet")
		default:
			seen = append(seen, p)
		}
	}
}

// newSubnet makes the next subnet of a VPC.
func (w VPCs) newSubnet(v api.VPC, s api.VPCSubnetCreate) api.VPCSubnet {
	made := api.VPCSubnet{
		ID: w.sideID(&w.seq.subnet), Label: s.Label, IPv4: s.IPv4, IPv6: nullable.NewNullNullable[[]api.AddressRange](), VPCType: v.VPCType,
		Linodes: []api.VPCSubnetLinode{}, Databases: &[]map[string]any{}, Nodebalancers: &[]api.VPCSubnetNodeBalancer{}, Created: w.stamp(),
		Updated: w.stamp(),
	}
	if len(deref(s.IPv6)) > 0 {
		bits, _ := subnetBits((*s.IPv6)[0].Range)
		made.IPv6.Set(networkRanges(nextIPv6(v, bits).String()))
	}
	return made
}

// customRanges is the capability of regions where a VPC may have networks of its own choice.
const customRanges = "Custom VPC IPv4 Ranges"

// checkRanges reads the networks that a request names. The words for a region without customRanges are recorded (FACTS
// 18, third table, 12).
func (w VPCs) checkRanges(bad *reasons, region string, given []api.AddressRange) []string {
	ranges := each(given, func(r api.AddressRange) string { return r.Range })
	if r, known := w.Offers().region(region); len(ranges) > 0 && known && !catalog.Has(r, customRanges) {
		bad.add("ipv4[0].range", "Customer defined IPv4 ranges are not supported in this region")
		bad.add("ipv4[0].range", "You must not use any custom IPv4 range for VPCs.")
		return ranges
	}
	for n, r := range ranges {
		if p, err := netip.ParsePrefix(r); err != nil || p != p.Masked() || !inPrivate(p) {
			bad.add(fmt.Sprintf("ipv4[%d].range", n), "Must be a private network")
		}
	}
	return ranges
}

// UpdateVPC changes label, description and the networks that subnets are cut from.
func (w VPCs) UpdateVPC(vpcID int, b *api.VPCUpdate) (api.VPC, error) {
	v, err := lookup(w.assets.vpcs, vpcID)
	if err != nil {
		return v, err
	}
	var bad reasons
	if b.Label != nil {
		w.checkVPCName(&bad, vpcID, *b.Label)
	}
	checkLength(&bad, "description", deref(b.Description), 0, 255)
	// The vendor's client sends the VPC's present networks with each update of its label. They do not count as custom
	// networks.
	if b.IPv4 != nil && !slices.Equal(*b.IPv4, deref(v.IPv4)) {
		w.changeRanges(&bad, &v, *b.IPv4)
	}
	if err := bad.err(); err != nil {
		return api.VPC{}, err
	}
	set(&v.Label, b.Label)
	set(&v.Description, b.Description)
	return w.changed(v, "vpc_update"), nil
}

// changeRanges gives a VPC other networks, within which its subnets must stay.
func (w VPCs) changeRanges(bad *reasons, v *api.VPC, given []api.AddressRange) {
	ranges := w.checkRanges(bad, v.Region, given)
	if len(*bad) > 0 {
		return
	}
	for _, s := range v.Subnets {
		if p, err := netip.ParsePrefix(s.IPv4); err != nil || !within(p, ranges) {
			bad.add("ipv4", "Subnet %d has %s, which must stay within the networks of the VPC", s.ID, s.IPv4)
		}
	}
	v.IPv4 = new(networkRanges(ranges...))
}

func (w VPCs) checkVPCName(bad *reasons, self int, label string) {
	checkVPCLabel(bad, "label", label)
	for _, v := range w.assets.vpcs {
		if v.ID != self && v.Label == label {
			bad.add("label", "Label must be unique among your VPCs")
		}
	}
}

// checkVPCLabel refuses the name of a VPC or a subnet in the API's words (FACTS 17, and 18, third table, 11).
func checkVPCLabel(bad *reasons, field, label string) {
	checkLength(bad, field, label, 1, 64)
	if !vpcLabel.MatchString(label) {
		bad.add(field, "Must only use ASCII letters, numbers, and underscores")
	}
}

// changed stores a VPC, with an event.
func (w VPCs) changed(v api.VPC, event string) api.VPC {
	v.Updated = w.stamp()
	w.assets.vpcs[v.ID] = v
	w.note(account.AssetChanged, fmt.Sprintf("vpc %d", v.ID), 0)
	w.happened(w.User, event, onObject("vpc", v.ID, v.Label, "/v4/vpcs/%d"), nil)
	return w.populated(v)
}

// CreateVPCSubnet adds a subnet that overlaps with no other subnet of its VPC.
func (w VPCs) CreateVPCSubnet(vpcID int, b *api.VPCSubnetCreate) (api.VPCSubnet, error) {
	v, err := lookup(w.assets.vpcs, vpcID)
	if err != nil {
		return api.VPCSubnet{}, err
	}
	var bad reasons
	for _, network := range deref(b.IPv6) {
		if _, ok := subnetBits(network.Range); !ok {
			bad.add("subnets[0].ipv6[0].range", "A network of length /%d to /%d can be asked for", least6, most6)
		}
	}
	all := each(v.Subnets, func(s api.VPCSubnet) api.VPCSubnetCreate { return api.VPCSubnetCreate{Label: s.Label, IPv4: s.IPv4} })
	networks, _ := v.IPv6.Get()
	ranges := each(deref(v.IPv4), func(r api.AddressRange) string { return r.Range })
	checkSubnets(&bad, ranges, append(all, *b), len(networks) > 0)
	for n := range bad {
		_, bad[n].Field, _ = strings.Cut(bad[n].Field, "].")
	}
	if slices.ContainsFunc(v.Subnets, func(s api.VPCSubnet) bool { return s.Label == b.Label }) {
		bad.add("label", "Label must be unique among the subnets of the VPC")
	}
	if err := bad.err(); err != nil {
		return api.VPCSubnet{}, err
	}
	made := w.newSubnet(v, *b)
	v.Subnets = append(slices.Clone(v.Subnets), made)
	w.changed(v, "subnet_create")
	return made, nil
}

// UpdateVPCSubnet changes the label.
func (w VPCs) UpdateVPCSubnet(vpcID, subnetID int, b *api.VPCSubnetUpdate) (api.VPCSubnet, error) {
	if _, err := w.GetVPCSubnet(vpcID, subnetID); err != nil {
		return api.VPCSubnet{}, err
	}
	var bad reasons
	checkVPCLabel(&bad, "label", b.Label)
	if err := bad.err(); err != nil {
		return api.VPCSubnet{}, err
	}
	v := w.assets.vpcs[vpcID]
	v.Subnets = slices.Clone(v.Subnets)
	for n := range v.Subnets {
		if v.Subnets[n].ID == subnetID {
			v.Subnets[n].Label, v.Subnets[n].Updated = b.Label, w.stamp()
		}
	}
	w.changed(v, "subnet_update")
	return w.GetVPCSubnet(vpcID, subnetID)
}

// DeleteVPCSubnet removes a subnet without Linodes and NodeBalancers.
func (w VPCs) DeleteVPCSubnet(vpcID, subnetID int) error {
	s, err := w.GetVPCSubnet(vpcID, subnetID)
	switch {
	case err != nil:
		return err
	case len(s.Linodes) > 0:
		return Refuse("", "Linodes are still in subnet %d of this VPC.", subnetID)
	case len(deref(s.Nodebalancers)) > 0: // in the simulator's own words
		return Refuse("", "NodeBalancers are still in subnet %d of this VPC.", subnetID)
	}
	v := w.assets.vpcs[vpcID]
	v.Subnets = slices.DeleteFunc(slices.Clone(v.Subnets), func(s api.VPCSubnet) bool { return s.ID == subnetID })
	w.changed(v, "subnet_delete")
	return nil
}

// ListVPCIPs lists the addresses in a VPC.
func (w VPCs) ListVPCIPs(vpcID int) ([]api.VPCAddress, error) {
	_, err := lookup(w.assets.vpcs, vpcID)
	return w.addressesIn(vpcID, false), err
}

// ListVPCIPv6s lists the IPv6 networks in a VPC.
func (w VPCs) ListVPCIPv6s(vpcID int) ([]api.VPCAddress, error) {
	_, err := lookup(w.assets.vpcs, vpcID)
	return w.addressesIn(vpcID, true), err
}

// ListAllVPCIPs lists the addresses in all VPCs of the account.
func (w VPCs) ListAllVPCIPs() ([]api.VPCAddress, error) { return w.addressesIn(0, false), nil }

// ListVPCDefaultRanges lists the networks that the subnets of a VPC are cut from unless the VPC names other networks.
func (w VPCs) ListVPCDefaultRanges() (api.VPCDefaultRanges, error) {
	return api.VPCDefaultRanges{DefaultIPv4Ranges: vpcRanges, ForbiddenIPv4Ranges: []string{linodePrivate.String()}}, nil
}

// addressesIn lists addresses in a VPC, 0 for all, of one family.
func (w VPCs) addressesIn(vpc int, ipv6 bool) []api.VPCAddress {
	out := []api.VPCAddress{}
	for _, i := range sorted(w.instances) {
		for _, f := range w.Interfaces().attachments(i) {
			if vpc != 0 && f.vpcID != vpc {
				continue
			}
			if ipv6 {
				out = append(out, w.Interfaces().inVPC6(f)...)
			} else {
				out = append(out, w.Interfaces().inVPC(f)...)
			}
		}
	}
	return out
}

// DeleteVPC removes a VPC without Linodes and NodeBalancers.
func (w VPCs) DeleteVPC(vpcID int) error {
	v, err := lookup(w.assets.vpcs, vpcID)
	if err != nil {
		return err
	}
	for _, s := range v.Subnets {
		if len(w.members(s.ID)) > 0 {
			return Refuse("", "Linodes are still in subnet %d of this VPC.", s.ID)
		}
		if len(w.shownBalancers(s.ID)) > 0 { // in the simulator's own words
			return Refuse("", "NodeBalancers are still in subnet %d of this VPC.", s.ID)
		}
	}
	delete(w.assets.vpcs, vpcID)
	w.note(account.AssetDeleted, fmt.Sprintf("vpc %d", vpcID), 0)
	w.Nodes().serve()
	return nil
}

// ListVPCs lists them by ID.
func (w VPCs) ListVPCs() ([]api.VPC, error) {
	return each(sorted(w.assets.vpcs), w.populated), nil
}

// GetVPC finds one.
func (w VPCs) GetVPC(vpcID int) (api.VPC, error) {
	v, err := lookup(w.assets.vpcs, vpcID)
	return w.populated(v), err
}

// ListVPCSubnets lists the subnets of a VPC.
func (w VPCs) ListVPCSubnets(vpcID int) ([]api.VPCSubnet, error) {
	v, err := w.GetVPC(vpcID)
	return v.Subnets, err
}

// GetVPCSubnet finds one.
func (w VPCs) GetVPCSubnet(vpcID, subnetID int) (api.VPCSubnet, error) {
	v, s, ok := w.subnet(subnetID)
	if !ok || v.ID != vpcID {
		return api.VPCSubnet{}, NotFound()
	}
	return w.inhabited(s), nil
}

// inhabited fills in the Linodes and NodeBalancers of a subnet.
func (w VPCs) inhabited(s api.VPCSubnet) api.VPCSubnet {
	s.Linodes, s.Nodebalancers = w.members(s.ID), new(w.shownBalancers(s.ID))
	return s
}

// populated fills in the Linodes and NodeBalancers.
func (w VPCs) populated(v api.VPC) api.VPC {
	v.Subnets = each(v.Subnets, w.inhabited)
	return v
}

// members lists the Linodes of a subnet with their interfaces in it.
func (w VPCs) members(subnet int) []api.VPCSubnetLinode {
	out := []api.VPCSubnetLinode{}
	add := func(linode int, config *int, nics []nic) {
		for _, f := range nics {
			if f.subnetID != subnet || f.purpose != "vpc" {
				continue
			}
			if n := len(out); n == 0 || out[n-1].ID != linode {
				out = append(out, api.VPCSubnetLinode{ID: linode})
			}
			last := &out[len(out)-1]
			active := w.instances[linode].Status == account.StatusRunning
			last.Interfaces = append(last.Interfaces, api.VPCSubnetInterface{ID: f.id, Active: active, ConfigID: config})
		}
	}
	for _, linode := range slices.Sorted(maps.Keys(w.assets.configs)) {
		for _, c := range w.assets.configs[linode] {
			add(linode, &c.ID, c.nics)
		}
	}
	for _, linode := range slices.Sorted(maps.Keys(w.assets.interfaces)) {
		add(linode, nil, w.assets.interfaces[linode])
	}
	return out
}

func (w VPCs) subnet(id int) (api.VPC, api.VPCSubnet, bool) {
	for _, v := range w.assets.vpcs {
		for _, s := range v.Subnets {
			if s.ID == id {
				return v, s, true
			}
		}
	}
	return api.VPC{}, api.VPCSubnet{}, false
}

// usable returns the nth address of a network that a Linode can have. A Linode cannot have the first two addresses.
func usable(network string, n int) string {
	p, err := netip.ParsePrefix(network)
	if err != nil {
		return ""
	}
	a := p.Addr()
	for range n + 2 {
		a = a.Next()
	}
	return a.String()
}
