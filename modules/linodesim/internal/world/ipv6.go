package world

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// nicIPv6 holds the IPv6 networks of an interface; a public interface has ranges alone.
// Nothing was recorded: the fields come from the vendor's Go client and public
// documentation. A network is requested by its length. Two things are not modelled: a
// request that names a network, and the limit of one public range for an account and a
// region, which Linode's support can raise.
type nicIPv6 struct {
	slaac, ranges []string // lengths as requested, and networks after allot or route
	public        bool
}

// readIPv6 reads the field ipv6 of an interface, which has one form in both
// generations; nil if the field is missing.
func readIPv6(of map[string]any) *nicIPv6 {
	from, ok := of["ipv6"].(map[string]any)
	if !ok {
		return nil
	}
	out := &nicIPv6{slaac: rangesIn(from["slaac"]), ranges: rangesIn(from["ranges"])}
	out.public, _ = from["is_public"].(bool)
	return out
}

func rangesIn(list any) []string {
	var ranges []string
	entries, _ := list.([]any)
	for _, entry := range entries {
		fields, _ := entry.(map[string]any)
		text, _ := fields["range"].(string)
		if text == "auto" {
			text = "/64"
		}
		ranges = append(ranges, text)
	}
	return ranges
}

// check refuses networks that the subnet, whose network is given, cannot provide.
func (v *nicIPv6) check(bad *reasons, field string, network netip.Prefix) {
	switch {
	case v == nil:
		return
	case !network.IsValid():
		bad.add(field, "The subnet has no IPv6 network")
	case len(v.slaac) > 1 || slices.ContainsFunc(v.slaac, func(length string) bool { return length != "/64" }):
		bad.add(field+".slaac", "One range of length /64 can be asked for")
	}
	for n, length := range v.ranges {
		bits, err := strconv.Atoi(strings.TrimPrefix(length, "/"))
		if err != nil || !strings.HasPrefix(length, "/") || network.IsValid() && bits <= network.Bits() || bits > 128 {
			bad.add(fmt.Sprintf("%s.ranges[%d].range", field, n), "range is not valid")
		}
	}
}

// allot chooses the networks of the interface with an ID. Each of them begins at a /64
// of its own in the subnet's network.
func (v *nicIPv6) allot(network netip.Prefix, id int) *nicIPv6 {
	if v == nil || !network.IsValid() {
		return nil
	}
	out := &nicIPv6{public: v.public}
	n := 4 * id
	if network.Bits() > auto6 {
		n = id // a small subnet has no room for four networks each
	}
	room := 1<<(64-network.Bits()) - 1
	next := func(length string) string {
		bytes := network.Addr().As16()
		bytes[6], bytes[7] = bytes[6]|byte((n&room)>>8), bytes[7]|byte(n&room)
		n++
		return netip.AddrFrom16(bytes).String() + length
	}
	for _, length := range v.slaac {
		out.slaac = append(out.slaac, next(length))
	}
	for _, length := range v.ranges {
		out.ranges = append(out.ranges, next(length))
	}
	return out
}

// ipv6Of is the IPv6 network of a subnet, invalid without one.
func ipv6Of(s api.VPCSubnet) netip.Prefix {
	if networks, err := s.IPv6.Get(); err == nil && len(networks) > 0 {
		return netip.MustParsePrefix(networks[0].Range)
	}
	return netip.Prefix{}
}

// shown returns the field ipv6 of answers.
func (v *nicIPv6) shown() map[string]any {
	slaac, ranges := []any{}, []any{}
	for _, network := range v.slaac {
		p := netip.MustParsePrefix(network)
		slaac = append(slaac, map[string]any{"range": network, "address": p.Addr().Next().String()})
	}
	for _, network := range v.ranges {
		ranges = append(ranges, map[string]any{"range": network})
	}
	return map[string]any{"slaac": slaac, "ranges": ranges, "is_public": v.public}
}

// checkPublic refuses networks that a public interface cannot have.
func (v *nicIPv6) checkPublic(bad *reasons, field, generation string) {
	if v == nil {
		return
	}
	if generation != linodeInterfaces {
		bad.add(field+"ipv6", "ipv6 is only for interfaces of the generation linode")
	}
	for n, length := range v.ranges {
		if length != "/56" && length != "/64" {
			bad.add(fmt.Sprintf("%spublic.ipv6.ranges[%d].range", field, n), "range is not valid")
		}
	}
}

// route chooses the ranges of the public interface with an ID. Each range begins a /56
// of its own.
func (v *nicIPv6) route(id int) *nicIPv6 {
	if v == nil {
		return nil
	}
	out := &nicIPv6{}
	for n, length := range v.ranges {
		out.ranges = append(out.ranges, fmt.Sprintf("2001:db8:%x:%x::%s", id&0xffff, n<<8, length))
	}
	return out
}

// routed returns the ranges of a public interface for answers.
func (v *nicIPv6) routed(to *Instance) []any {
	out := []any{}
	if v == nil {
		return out
	}
	target, _, _ := strings.Cut(to.IPv6, "/")
	for _, network := range v.ranges {
		out = append(out, map[string]any{"range": network, "route_target": target})
	}
	return out
}
