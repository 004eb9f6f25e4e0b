package instances

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core"
)

// Limits of the API (Linode API facts).
const (
	maxInterfaces = 3
	minBootMB     = 8192
	maxDevices    = 8 // sda to sdh
)

// objectName matches the names of Kubernetes objects, and the names of clusters, which may have upper case.
var objectName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$`)

// check returns an error for a request that can never work.
func (s *Spec) check(op string, own core.Tags) error {
	for _, required := range []struct{ field, value string }{
		{"Spec.InstanceType", s.InstanceType}, {"Spec.Region", s.Region}, {"Spec.Image", s.Image},
	} {
		if required.value == "" {
			return claims.Invalid(op, required.field, "is empty")
		}
	}
	if err := checkClaimant(op, "Spec.Claimant", s.Claimant); err != nil {
		return err
	}
	if err := checkTags(op, "Spec.Tags", s.Tags, own); err != nil {
		return err
	}
	if s.PlacementGroup.ID < 0 {
		return claims.Invalid(op, "Spec.PlacementGroup.ID", "%d is not the ID of a placement group", s.PlacementGroup.ID)
	}
	if policies := []string{"", "linode/migrate", "linode/power_off_on"}; !slices.Contains(policies, s.MaintenancePolicy) {
		return claims.Invalid(op, "Spec.MaintenancePolicy", "%q must be linode/migrate, linode/power_off_on or empty", s.MaintenancePolicy)
	}
	if err := s.Network.check(op); err != nil {
		return err
	}
	return s.Storage.check(op)
}

func checkClaimant(op, field string, c claims.Claimant) error {
	if !objectName.MatchString(c.Name) {
		return claims.Invalid(op, field+".Name", "%q must be letters, digits, '-' and '.', with a letter or digit at both ends", c.Name)
	}
	return nil
}

// checkTags returns an error for tags that the API refuses, and for the engine's own tags.
func checkTags(op, field string, tags []string, own core.Tags) error {
	for i, tag := range tags {
		at := fmt.Sprintf("%s[%d]", field, i)
		if n := utf8.RuneCountInString(tag); n < claims.MinTagLength || n > claims.MaxTagLength {
			return claims.Invalid(op, at, "%q has %d characters; a tag has %d to %d", tag, n, claims.MinTagLength, claims.MaxTagLength)
		}
		if own.Own(tag) {
			return claims.Invalid(op, at, "%q is set by this engine alone", tag)
		}
		if strings.Contains(tag, ",") {
			return claims.Invalid(op, at, "%q has a comma", tag)
		}
	}
	return nil
}

func (n *Network) check(op string) error {
	if n.FirewallID < 0 {
		return claims.Invalid(op, "Spec.Network.FirewallID", "%d is not the ID of a firewall", n.FirewallID)
	}
	switch n.Generation {
	case "", GenerationLegacy, GenerationLinode:
	default:
		return claims.Invalid(op, "Spec.Network.Generation", "%q must be %s, %s or empty", n.Generation, GenerationLegacy, GenerationLinode)
	}
	if len(n.Interfaces) > 0 && n.Generation == "" {
		return claims.Invalid(op, "Spec.Network.Generation", "is empty; interfaces are of the generation %s or %s", GenerationLegacy,
			GenerationLinode)
	}
	if len(n.Interfaces) > maxInterfaces {
		return claims.Invalid(op, "Spec.Network.Interfaces", "has %d interfaces; at most %d are allowed", len(n.Interfaces), maxInterfaces)
	}
	count := map[string]int{}
	for i, f := range n.Interfaces {
		field := fmt.Sprintf("Spec.Network.Interfaces[%d]", i)
		kinds := f.kinds()
		if len(kinds) != 1 {
			return claims.Invalid(op, field, "exactly one of public, VPC and VLAN must be set (set: %s)",
				cmp.Or(strings.Join(kinds, ", "), "none"))
		}
		if count[kinds[0]]++; kinds[0] != "VLAN" && count[kinds[0]] > 1 {
			return claims.Invalid(op, field, "is the second %s interface; one is allowed", kinds[0])
		}
		if err := f.check(op, field, n.Generation); err != nil {
			return err
		}
	}
	return nil
}

func (f Interface) check(op, field string, generation Generation) error {
	switch {
	case len(f.Ranges) > 0 && (!f.Public || generation != GenerationLinode):
		return claims.Invalid(op, field+".Ranges", "are for public interfaces of the generation %s; interfaces in a VPC have their own",
			GenerationLinode)
	case slices.ContainsFunc(f.Ranges, func(length string) bool { return length != "/56" && length != "/64" }):
		return claims.Invalid(op, field+".Ranges", "%q must be /56 and /64", f.Ranges)
	case f.VPC != nil && f.VPC.SubnetID <= 0:
		return claims.Invalid(op, field+".VPC.SubnetID", "%d is not the ID of a subnet", f.VPC.SubnetID)
	case f.VPC != nil && f.VPC.IPv6 != nil:
		return f.VPC.IPv6.check(op, field+".VPC.IPv6")
	case f.VLAN != nil && f.VLAN.Label == "":
		return claims.Invalid(op, field+".VLAN.Label", "is empty")
	}
	return nil
}

func (v *VPCIPv6) check(op, field string) error {
	if !v.SLAAC && len(v.Ranges) == 0 {
		return claims.Invalid(op, field, "has neither SLAAC nor Ranges")
	}
	for i, length := range v.Ranges {
		if bits, err := strconv.Atoi(strings.TrimPrefix(length, "/")); err != nil || bits < 1 || bits > 128 || length != fmt.Sprint("/", bits) {
			return claims.Invalid(op, fmt.Sprintf("%s.Ranges[%d]", field, i), "%q is not a prefix length from /1 to /128", length)
		}
	}
	return nil
}

func (f Interface) kinds() []string {
	var kinds []string
	if f.Public {
		kinds = append(kinds, "public")
	}
	if f.VPC != nil {
		kinds = append(kinds, "VPC")
	}
	if f.VLAN != nil {
		kinds = append(kinds, "VLAN")
	}
	return kinds
}

func (s *Storage) check(op string) error {
	switch {
	case s.BootMB != 0 && s.BootMB < minBootMB:
		return claims.Invalid(op, "Spec.Storage.BootMB", "%d is too small; a boot disk has at least %d MB", s.BootMB, minBootMB)
	case s.SwapMB != nil && *s.SwapMB < 0:
		return claims.Invalid(op, "Spec.Storage.SwapMB", "%d is negative", *s.SwapMB)
	case !slices.Contains([]string{"", "enabled", "disabled"}, s.Encryption):
		return claims.Invalid(op, "Spec.Storage.Encryption", "%q must be enabled, disabled or empty", s.Encryption)
	case len(s.Data) > 0 && s.BootMB == 0:
		return claims.Invalid(op, "Spec.Storage.BootMB", "is 0, so the boot disk takes the plan's whole disk; set it if there are data disks")
	case len(s.Data) > maxDevices-2:
		return claims.Invalid(op, "Spec.Storage.Data", "has %d disks; at most %d fit in addition to the boot and the swap disk",
			len(s.Data), maxDevices-2)
	}
	seen := map[string]bool{}
	for i, disk := range s.Data {
		field := fmt.Sprintf("Spec.Storage.Data[%d]", i)
		switch {
		case disk.Label == "" || seen[disk.Label]:
			return claims.Invalid(op, field+".Label", "%q must not be empty, and must be unique in the instance", disk.Label)
		case disk.SizeMB <= 0:
			return claims.Invalid(op, field+".SizeMB", "%d must be positive", disk.SizeMB)
		case !slices.Contains([]string{"", "raw", "ext4"}, disk.Filesystem):
			return claims.Invalid(op, field+".Filesystem", "%q must be raw, ext4 or empty", disk.Filesystem)
		}
		seen[disk.Label] = true
	}
	return nil
}

func checkID(op string, instanceID int) error {
	if instanceID <= 0 {
		return claims.Invalid(op, "instanceID", "%d is not an instance ID", instanceID)
	}
	return nil
}

// Validate returns the error with which Create refuses a Spec before it sends a request,
// for a Manager with the default Config.Tags.
func (s *Spec) Validate() error {
	const op = "validate"
	if err := s.check(op, Config{}.tags()); err != nil {
		return err
	}
	_, err := s.UserData.encode(op)
	return err
}
