package world

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"
)

// free returns a public address that no Linode has, from a range for documentation. It returns false when all are in use.
func (w Addresses) free() (string, bool) {
	for n := 1; n < 255; n++ {
		a := fmt.Sprintf("203.0.113.%d", n)
		if w.owner(a) == nil {
			return a, true
		}
	}
	return "", false
}

// owner returns the Linode that has an address, nil without one.
func (w Addresses) owner(address string) *Instance {
	for _, i := range sorted(w.instances) {
		if slices.Contains(i.IPv4(), address) {
			return i
		}
	}
	return nil
}

// checkWanted refuses the addresses that a request names for a new Linode: the account has no reserved addresses. Both
// texts are recorded, for an address in use (FACTS 18, third table, 16) and for any other address (FACTS 17).
func (w Addresses) checkWanted(bad *reasons, wanted []string) {
	switch {
	case len(wanted) == 0:
	case len(wanted) == 1 && w.owner(wanted[0]) != nil:
		bad.add("ipv4", "Address must be currently unassigned.")
	default:
		bad.add("ipv4", "Must provide a single valid reserved ipv4 address")
	}
}

// AddInstanceIP gives a Linode another public address, or a private one.
func (w Addresses) AddInstanceIP(linodeID int, b *api.InstanceIPCreate) (api.IPAddress, error) {
	i, err := lookup(w.instances, linodeID)
	if err != nil {
		return api.IPAddress{}, err
	}
	var bad reasons
	if b.Type != "ipv4" {
		bad.add("", "Only addresses of type ipv4 are currently supported.")
	}
	address, bits := "", 24
	switch {
	case b.Address != nil:
		checkAssignable(&bad, b)
	case b.Public:
		var free bool
		if address, free = w.free(); !free {
			bad.add("", "Additional IPv4 addresses require technical justification. Please contact support describing your requirement.")
		}
	case i.PrivateIPv4 != "":
		bad.add("", "The Linode has a private address")
	default:
		_, address, _ = w.addresses()
		bits = 17
	}
	if err := bad.err(); err != nil {
		return api.IPAddress{}, err
	}
	switch {
	case bits == 17:
		i.PrivateIPv4 = address
	case i.PublicIPv4 == "":
		i.PublicIPv4 = address
	default:
		i.MoreIPv4 = append(slices.Clone(i.MoreIPv4), address)
	}
	w.note(account.AssetChanged, "address "+address+" added", i.ID)
	return i.address(address, bits), nil
}

// checkAssignable refuses an address that a request names, because the account has reserved none. The words are recorded
// (TestInstance_AddReservedIPToInstanceVariants of the vendor's Go client).
func checkAssignable(bad *reasons, b *api.InstanceIPCreate) {
	const field = "address"
	_, err := netip.ParseAddr(*b.Address)
	switch {
	case err != nil:
		bad.add(field, "Must provide a valid reserved address")
	case !b.Public:
		bad.add(field, "Cannot reserve a private address.")
	default:
		bad.add(field, "Address must be reserved and must be currently unassigned.")
	}
}

// DeleteInstanceIP takes an address from a Linode, but not its only public address.
func (w Addresses) DeleteInstanceIP(linodeID int, address string) error {
	i, err := lookup(w.instances, linodeID)
	switch {
	case err != nil:
		return err
	case !slices.Contains(i.IPv4(), address) || address == "":
		return NotFound()
	case address == i.PrivateIPv4:
		i.PrivateIPv4 = ""
	case len(i.MoreIPv4) == 0:
		return Refuse("", "A Linode must have at least one public IPv4 address")
	case address == i.PublicIPv4:
		i.PublicIPv4, i.MoreIPv4 = i.MoreIPv4[0], i.MoreIPv4[1:]
	default:
		i.MoreIPv4 = slices.DeleteFunc(slices.Clone(i.MoreIPv4), func(a string) bool { return a == address })
	}
	w.note(account.AssetChanged, "address "+address+" removed", i.ID)
	return nil
}

// ShareIPs replaces the addresses that a Linode has besides its own.
func (w Addresses) ShareIPs(b *api.IPShare) error {
	i, there := w.instances[b.LinodeID]
	if !there {
		return Refuse("linode_id", "Linode is not active")
	}
	var bad reasons
	for n, address := range b.IPs {
		if owner := w.owner(address); owner == nil || owner == i || owner.Region != i.Region || address == owner.PrivateIPv4 {
			bad.add(fmt.Sprintf("ips[%d]", n), "%s is not a public address of another Linode in %s", address, i.Region)
		}
	}
	if err := bad.err(); err != nil {
		return err
	}
	i.SharedIPv4 = union(b.IPs)
	w.note(account.AssetChanged, fmt.Sprintf("%d addresses shared", len(b.IPs)), i.ID)
	return nil
}
