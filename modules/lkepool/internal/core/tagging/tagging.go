// Package tagging reads and writes the tags of pools and claims. Only these tags and the records of the caller survive a restart: a
// restarted process learns from them which pools are its own, of which key each pool is, and which claimant has an instance. Its functions
// are pure.
package tagging

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// Tags adds the tags of pools to the tags of claims.
type Tags struct {
	claims.Tags
	// Managed is the tag of each pool that the engine made and each instance that it claimed.
	Managed              string
	claimedAtKey, keyKey string
	// removing is the tag of an instance that is being removed: it is written before the removal is sent.
	removing string
	// retired is the tag of a pool that is to be deleted: it is written before the deletion is sent.
	retired string
}

// New returns the tags with the given keys.
func New(tags claims.Tags) Tags {
	return Tags{
		Tags: tags, Managed: lkepool.ManagedTagOf(tags), claimedAtKey: tags.Prefix("claimed-at"), keyKey: lkepool.KeyPrefix(tags),
		removing: tags.Prefix("removing") + "true", retired: tags.Prefix("retired") + "true",
	}
}

// Own reports whether only the engine may add or remove the tag.
func (t Tags) Own(tag string) bool {
	return tag == t.Managed || tag == t.removing || tag == t.retired || t.OfClaim(tag) || strings.HasPrefix(tag, t.keyKey)
}

// OfClaim reports whether the tag is part of a claim.
func (t Tags) OfClaim(tag string) bool {
	return t.IsClaim(tag) || strings.HasPrefix(tag, t.claimedAtKey)
}

// Removing reports whether the tags announce the removal of the instance.
func (t Tags) Removing(tags []string) bool { return slices.Contains(tags, t.removing) }

// RemovingTags returns the tags of an instance that is being removed.
func (t Tags) RemovingTags(present []string) []string {
	return claims.Union(present, []string{t.removing})
}

// Retired reports whether the tags of a pool announce its deletion.
func (t Tags) Retired(tags []string) bool { return slices.Contains(tags, t.retired) }

// RetiredTags returns the tags of a pool that is to be deleted.
func (t Tags) RetiredTags(present []string) []string {
	return claims.Union(present, []string{t.retired})
}

// ClaimedAtOf returns the time of the claim, the zero time for a missing or unreadable tag.
func (t Tags) ClaimedAtOf(tags []string) time.Time {
	seconds, err := strconv.ParseInt(claims.ValueOf(tags, t.claimedAtKey), 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}

// ClaimTags returns the tags that claim an instance: the tags that it
// carries already, without an older claim, and everything that the request adds.
func (t Tags) ClaimTags(present []string, who claims.ClaimID, at time.Time, more ...[]string) []string {
	tags := slices.DeleteFunc(slices.Clone(present), func(tag string) bool { return t.OfClaim(tag) || tag == t.removing })
	claim := []string{t.NameTag(who), t.claimedAtKey + strconv.FormatInt(at.Unix(), 10), t.Managed}
	if who.UID != "" {
		claim = append(claim, t.UIDTag(who))
	}
	return claims.Union(append([][]string{tags, claim}, more...)...)
}

// PoolTags returns the tags of a new pool.
func (t Tags) PoolTags(request lkepool.Request) []string {
	return claims.Union([]string{request.Key.Tag(t.Tags), t.Managed}, request.PoolTags)
}

// KeyHash returns the hash of the key that a pool was made for, "" if it was not
// made by this engine.
func (t Tags) KeyHash(tags []string) string {
	hash := claims.ValueOf(tags, t.keyKey)
	if len(hash) != 16 || !slices.Contains(tags, t.Managed) {
		return ""
	}
	for i := range len(hash) {
		if c := hash[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return ""
		}
	}
	return hash
}
