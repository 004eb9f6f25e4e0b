package engine

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/claimtag"
)

// Tags are the only durable record there is.
const (
	// MinTagLength and MaxTagLength bound a tag, in characters.
	MinTagLength = claimtag.MinLength
	MaxTagLength = claimtag.MaxLength

	// ManagedTag is on every pool made here and on every claimed instance.
	ManagedTag = "karpenter.k8s.linode/lke-managed=true"

	claimedAtPrefix = "karpenter.k8s.linode/claimed-at="
	poolKeyPrefix   = "karpenter.k8s.linode/pool-key="
)

// Tag joins key and value with "=" and shortens the value when the whole would
// exceed MaxTagLength: it then keeps a prefix and ends in "_" and a hash of the
// full value, so that two long values never become one tag, and none becomes
// that of a short name. A key that leaves
// no room for a hash is kept as it is, and validation refuses the tag.
func Tag(key, value string) string {
	return key + "=" + claimtag.Shorten(value, MaxTagLength-len(key)-1)
}

// ClaimValue returns what Node.Claim holds for a claimant: its name, or a
// prefix and a hash of it when it does not fit into a tag.
func ClaimValue(claimant string) string { return claimtag.Value(claimant) }

// id is the claimant as tags record it.
func (c Claimant) id() claimID {
	return claimID{value: ClaimValue(c.Name), uid: claimtag.UIDValue(c.UID)}
}

// claimIn returns whose claim the tags are, the zero claimID for none.
func claimIn(tags []string) claimID {
	return claimID{value: claimtag.ValueOf(tags, claimtag.Name), uid: claimtag.ValueOf(tags, claimtag.UID)}
}

// claimedAtOf returns the zero time for a missing or unreadable tag.
func claimedAtOf(tags []string) time.Time {
	seconds, err := strconv.ParseInt(claimtag.ValueOf(tags, claimedAtPrefix), 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}

// OwnTag reports whether only the engine may add or remove the tag.
func OwnTag(tag string) bool {
	return tag == ManagedTag || claimTag(tag) || strings.HasPrefix(tag, poolKeyPrefix)
}

// claimTag reports whether the tag is part of a claim.
func claimTag(tag string) bool {
	return strings.HasPrefix(tag, claimtag.Name) || strings.HasPrefix(tag, claimtag.UID) || strings.HasPrefix(tag, claimedAtPrefix)
}

// claimTags returns what is written on an instance to claim it: what it carries
// already, without an older claim, and everything that the request asks for.
func claimTags(present []string, who claimID, at time.Time, more ...[]string) []string {
	tags := slices.DeleteFunc(slices.Clone(present), claimTag)
	claim := []string{claimtag.Name + who.value, claimedAtPrefix + strconv.FormatInt(at.Unix(), 10), ManagedTag}
	if who.uid != "" {
		claim = append(claim, claimtag.UID+who.uid)
	}
	return claimtag.Union(append([][]string{tags, claim}, more...)...)
}

// poolTags returns the tags of a new pool.
func poolTags(request Request) []string {
	return claimtag.Union([]string{request.Key.Tag(), ManagedTag}, request.PoolTags)
}
