package world

import (
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
)

// VPC is a private network in a region. Nothing is routed.
type VPC struct {
	ID                         int
	Label, Description, Region string
	IPv6                       []string
	Subnets                    []Subnet
	Created, Updated           time.Time
}

// Subnet is a part of a VPC.
type Subnet struct {
	ID               int
	Label, IPv4      string
	IPv6             string // "" = none
	Created, Updated time.Time
}

// SubnetMember is a Linode's interface in a subnet.
type SubnetMember struct {
	LinodeID, InterfaceID, ConfigID int // ConfigID 0: of the generation linode
	Active                          bool
}

// VPCSpec is a VPC to be.
type VPCSpec struct {
	Label, Description, Region string
	IPv6                       bool
	Subnets                    []SubnetSpec
}

// SubnetSpec is a subnet to be.
type SubnetSpec struct {
	Label, IPv4 string
	IPv6        bool // a network of its VPC's
}

// VPCRanges are the networks that subnets are cut from.
var VPCRanges = []string{"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/17"}

// Private addresses of Linodes are in here.
var linodePrivate = netip.MustParsePrefix("192.168.128.0/17")

// CreateVPC makes one with its subnets.
func (w *World) CreateVPC(by Actor, spec VPCSpec) (VPC, error) {
	defer w.lock()()
	var bad reasons
	if r, ok := w.catalog.Region(spec.Region); !ok {
		bad.add("region", "region is not valid")
	} else if !r.Has(catalog.CapVPCs) {
		bad.add("region", "VPCs are not available in region %s", spec.Region)
	}
	checkLength(&bad, "label", spec.Label, 1, 64)
	if !vpcLabel.MatchString(spec.Label) {
		bad.add("label", "Must only use ASCII letters, numbers, and dashes")
	}
	checkLength(&bad, "description", spec.Description, 0, 255)
	for _, v := range w.assets.vpcs {
		if v.Label == spec.Label {
			bad.add("label", "Label must be unique among your VPCs")
		}
	}
	checkSubnets(&bad, spec)
	if err := bad.err(); err != nil {
		return VPC{}, err
	}
	v := VPC{ID: w.sideID(&w.seq.vpc), Label: spec.Label, Description: spec.Description, Region: spec.Region, Created: w.now, Updated: w.now}
	if spec.IPv6 {
		v.IPv6 = []string{fmt.Sprintf("2001:db8:%x::/52", v.ID&0xffff)}
	}
	for n, s := range spec.Subnets {
		made := Subnet{ID: w.sideID(&w.seq.subnet), Label: s.Label, IPv4: s.IPv4, Created: w.now, Updated: w.now}
		if s.IPv6 {
			made.IPv6 = fmt.Sprintf("2001:db8:%x:%x::/56", v.ID&0xffff, n<<8)
		}
		v.Subnets = append(v.Subnets, made)
	}
	w.assets.vpcs[v.ID] = v
	w.note(by, AssetCreated, fmt.Sprintf("vpc %d", v.ID), 0)
	return v, nil
}

func checkLength(bad *reasons, field, value string, low, high int) {
	if len(value) < low || len(value) > high {
		bad.add(field, "Length must be %d-%d characters", low, high)
	}
}

var vpcLabel = regexp.MustCompile(`^[A-Za-z0-9-]*$`)

func checkSubnets(bad *reasons, spec VPCSpec) {
	var seen []netip.Prefix
	for n, s := range spec.Subnets {
		if s.IPv6 && !spec.IPv6 {
			bad.add(fmt.Sprintf("subnets[%d].ipv6", n), "The VPC has no IPv6 network")
		}
		checkLength(bad, fmt.Sprintf("subnets[%d].label", n), s.Label, 1, 64)
		p, err := netip.ParsePrefix(s.IPv4)
		inside := slices.ContainsFunc(VPCRanges, func(r string) bool {
			outer := netip.MustParsePrefix(r)
			return err == nil && outer.Contains(p.Addr()) && outer.Bits() <= p.Bits()
		})
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

// DeleteVPC removes one that no Linode is in.
func (w *World) DeleteVPC(by Actor, id int) error {
	defer w.lock()()
	v, ok := w.assets.vpcs[id]
	if !ok {
		return notFound()
	}
	for _, s := range v.Subnets {
		if len(w.members(s.ID)) > 0 {
			return refuse("", "Linodes are still in subnet %d of this VPC.", s.ID)
		}
	}
	delete(w.assets.vpcs, id)
	w.note(by, AssetDeleted, fmt.Sprintf("vpc %d", id), 0)
	return nil
}

// VPCs lists them by ID.
func (w *World) VPCs() []VPC {
	defer w.lock()()
	return sorted(w.assets.vpcs)
}

// VPC finds one.
func (w *World) VPC(id int) (VPC, error) {
	defer w.lock()()
	v, ok := w.assets.vpcs[id]
	if !ok {
		return VPC{}, notFound()
	}
	return v, nil
}

// Members lists the Linodes of a subnet.
func (w *World) Members(subnet int) []SubnetMember {
	defer w.lock()()
	return w.members(subnet)
}

func (w *World) members(subnet int) []SubnetMember {
	var out []SubnetMember
	for _, id := range slices.Sorted(maps.Keys(w.assets.configs)) {
		for _, c := range w.assets.configs[id] {
			for _, f := range c.Interfaces {
				if f.SubnetID == subnet && f.Purpose == "vpc" {
					out = append(out, SubnetMember{LinodeID: id, InterfaceID: f.ID, ConfigID: c.ID, Active: w.runs(id)})
				}
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.assets.interfaces)) {
		for _, f := range w.assets.interfaces[id] {
			if f.SubnetID == subnet && f.Purpose == "vpc" {
				out = append(out, SubnetMember{LinodeID: id, InterfaceID: f.ID, Active: w.runs(id)})
			}
		}
	}
	return out
}

func (w *World) runs(linode int) bool {
	i := w.instances[linode]
	return i != nil && i.Status == StatusRunning
}

func (w *World) subnet(id int) (VPC, Subnet, bool) {
	for _, v := range w.assets.vpcs {
		for _, s := range v.Subnets {
			if s.ID == id {
				return v, s, true
			}
		}
	}
	return VPC{}, Subnet{}, false
}

// address gives the nth usable one; the first two are not.
func (s Subnet) address(n int) string {
	p, err := netip.ParsePrefix(s.IPv4)
	if err != nil {
		return ""
	}
	a := p.Addr()
	for range n + 2 {
		a = a.Next()
	}
	return a.String()
}
