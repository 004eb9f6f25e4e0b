package world

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// keptAddress is an IPv4 address that the account keeps beyond the life of a Linode.
type keptAddress struct {
	address, region string
	linode          int // 0 = free
	tags            []string
}

// mostReserved is how many a recorded account had when the next was refused
// (recording TestReservedIPAddresses_ExceedLimit of the vendor's Go client). The
// real limit is the account's.
const mostReserved = 14

// The words are recorded in the same tests, but those of a Linode's last address
// and of sharing, which are guesses.
const (
	onlyIPv4  = "Only addresses of type ipv4 are currently supported."
	justified = "Additional Reserved IPv4 addresses require technical justification. Please contact support describing your requirement."
)

// free returns a public address that nothing has, from a range for
// documentation; none when all are in use.
func (w Addresses) free() (string, bool) {
	for n := 1; n < 255; n++ {
		a := fmt.Sprintf("203.0.113.%d", n)
		if _, taken := w.assets.addresses[a]; !taken && w.owner(a) == nil {
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

// reserved marks an address that the account keeps.
func (w Addresses) reserved(a api.IPAddress) api.IPAddress {
	if r, is := w.assets.addresses[a.Address]; is {
		a.Reserved, a.Tags = true, &r.tags
	}
	return a
}

func (w Addresses) shown(r keptAddress) api.IPAddress {
	i := w.instances[r.linode]
	if i == nil {
		i = &Instance{Region: r.region}
	}
	out := i.address(r.address, 24)
	if r.linode == 0 {
		out.LinodeID, out.AssignedEntity, out.Rdns = nil, nil, nil
	}
	return w.reserved(out)
}

// ListReservedIPs lists them by address.
func (w Addresses) ListReservedIPs() ([]api.IPAddress, error) {
	return each(sorted(w.assets.addresses), w.shown), nil
}

// GetReservedIP finds one.
func (w Addresses) GetReservedIP(address string) (api.IPAddress, error) {
	r, err := lookup(w.assets.addresses, address)
	if err != nil {
		return api.IPAddress{}, err
	}
	return w.shown(r), nil
}

// ReserveIP takes an address for the account. Its tags were recorded with two characters (TestReservedIPAddress_ReserveWithTags), which
// other objects refuse.
func (w Addresses) ReserveIP(b *api.ReservedIPCreate) (api.IPAddress, error) {
	var bad reasons
	w.Offers().checkRegion(&bad, b.Region, "Linodes", "Reserved addresses are")
	address, free := w.free()
	if len(bad) == 0 && (len(w.assets.addresses) >= mostReserved || !free) {
		bad.add("", justified)
	}
	if err := bad.err(); err != nil {
		return api.IPAddress{}, err
	}
	r := keptAddress{address: address, region: b.Region, tags: union(deref(b.Tags))}
	w.assets.addresses[address] = r
	w.note(AssetCreated, "reserved address "+address, 0)
	return w.shown(r), nil
}

// DeleteReservedIP gives an address back; a Linode that has it keeps it as an ordinary one.
func (w Addresses) DeleteReservedIP(address string) error {
	if _, err := lookup(w.assets.addresses, address); err != nil {
		return err
	}
	delete(w.assets.addresses, address)
	w.note(AssetDeleted, "reserved address "+address, 0)
	return nil
}

// assign gives a reserved address to a Linode.
func (w Addresses) assign(address string, linode int) {
	r := w.assets.addresses[address]
	r.linode = linode
	w.assets.addresses[address] = r
}

// checkWanted refuses addresses for a new Linode that are not one that is reserved, free and in its region.
func (w Addresses) checkWanted(bad *reasons, wanted []string, region string) {
	if len(wanted) == 0 {
		return
	}
	if r, is := w.assets.addresses[wanted[0]]; len(wanted) > 1 || !is || r.linode != 0 || r.region != region {
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
		bad.add("", onlyIPv4)
	}
	address, bits := deref(b.Address), 24
	switch {
	case b.Address != nil:
		w.checkAssignable(&bad, b, i.Region)
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
	if b.Address != nil {
		w.assign(address, i.ID)
	}
	w.note(AssetChanged, "address "+address+" added", i.ID)
	return w.reserved(i.address(address, bits)), nil
}

// checkAssignable refuses an address that is not reserved, free and in the region.
func (w Addresses) checkAssignable(bad *reasons, b *api.InstanceIPCreate, region string) {
	const field = "address"
	_, err := netip.ParseAddr(*b.Address)
	r, is := w.assets.addresses[*b.Address]
	switch {
	case err != nil:
		bad.add(field, "Must provide a valid reserved address")
	case !b.Public:
		bad.add(field, "Cannot reserve a private address.")
	case !is || r.linode != 0:
		bad.add(field, "Address must be reserved and must be currently unassigned.")
	case r.region != region:
		bad.add(field, "Address must belong to same region as linode.")
	}
}

// DeleteInstanceIP takes an address from a Linode, but its only public one.
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
	if _, is := w.assets.addresses[address]; is {
		w.assign(address, 0)
	}
	w.note(AssetChanged, "address "+address+" removed", i.ID)
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
			bad.add(fmt.Sprintf("ips[%d]", n), "%s is no public address of another Linode in %s", address, i.Region)
		}
	}
	if err := bad.err(); err != nil {
		return err
	}
	i.SharedIPv4 = union(b.IPs)
	w.note(AssetChanged, fmt.Sprintf("%d addresses shared", len(b.IPs)), i.ID)
	return nil
}
