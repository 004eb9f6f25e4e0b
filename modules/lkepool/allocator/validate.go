package allocator

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// longestName is the longest Kubernetes label value, which a NodePool's name
// has to be, and longestClaimant the longest Kubernetes object name.
const (
	longestName     = 63
	longestClaimant = 253
)

// check refuses a request that can never work, before any call.
func (a *Allocator) check(r lkepool.Request) error {
	if err := checkName("Request.Claimant.Name", r.Claimant.Name, longestClaimant); err != nil {
		return err
	}
	// A claimant may have no NodePool.
	if r.Key.NodePool != "" {
		if err := checkName("Key.NodePool", r.Key.NodePool, longestName); err != nil {
			return err
		}
	}
	if err := checkName("Key.InstanceType", r.Key.InstanceType, longestName); err != nil {
		return err
	}
	if r.Key.Template.FirewallID < 0 {
		return claims.Invalid("claim", "Key.Template.FirewallID", "%d is negative; it must be 0 (none) or the ID of a firewall",
			r.Key.Template.FirewallID)
	}
	if !slices.Contains([]string{"", "enabled", "disabled"}, r.Key.Template.DiskEncryption) {
		return claims.Invalid("claim", "Key.Template.DiskEncryption", "%q must be empty, enabled or disabled", r.Key.Template.DiskEncryption)
	}
	for _, set := range []struct {
		field string
		tags  []string
	}{{"Request.PoolTags", r.PoolTags}, {"Request.Tags", r.Tags}} {
		if err := a.checkTags("claim", set.field, set.tags); err != nil {
			return err
		}
	}
	return a.backend.Check(r.Key)
}

func checkName(field, name string, longest int) error {
	switch {
	case name == "":
		return claims.Invalid("claim", field, "is empty")
	case len(name) > longest:
		return claims.Invalid("claim", field, "%q has %d characters; at most %d are allowed", name, len(name), longest)
	case strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return claims.Invalid("claim", field, "%q contains blanks or control characters", name)
	}
	return nil
}

// checkTags refuses tags that the API would refuse, and tags that only the
// engine or the platform may set.
func (a *Allocator) checkTags(op, field string, tags []string) error {
	for i, tag := range tags {
		field := fmt.Sprintf("%s[%d]", field, i)
		switch n := utf8.RuneCountInString(tag); {
		case n < claims.MinTagLength || n > claims.MaxTagLength:
			return claims.Invalid(op, field, "%q has %d characters; a tag has %d to %d", tag, n, claims.MinTagLength, claims.MaxTagLength)
		case tag != lkepool.ManagedTagOf(a.cfg.Tags) && a.tags.Own(tag):
			return claims.Invalid(op, field, "only the allocator may set %q", tag)
		case a.backend.ReservedTag(tag):
			return claims.Invalid(op, field, "only the platform may set %q", tag)
		}
	}
	return nil
}
