package engine

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// Tagging adds the tags of pools to those of claims. Tags are the only durable
// record there is.
type Tagging struct {
	claims.Tags
	managed              string
	claimedAtKey, keyKey string
}

// NewTagging returns the tags with the given keys.
func NewTagging(tags claims.Tags) Tagging {
	return Tagging{
		Tags: tags, managed: lkepool.ManagedTagOf(tags), claimedAtKey: tags.Prefix("claimed-at"), keyKey: lkepool.KeyPrefix(tags),
	}
}

// Own reports whether only the engine may add or remove the tag.
func (t Tagging) Own(tag string) bool {
	return tag == t.managed || t.ofClaim(tag) || strings.HasPrefix(tag, t.keyKey)
}

// ofClaim reports whether the tag is part of a claim.
func (t Tagging) ofClaim(tag string) bool {
	return t.IsClaim(tag) || strings.HasPrefix(tag, t.claimedAtKey)
}

// claimedAtOf returns the zero time for a missing or unreadable tag.
func (t Tagging) claimedAtOf(tags []string) time.Time {
	seconds, err := strconv.ParseInt(claims.ValueOf(tags, t.claimedAtKey), 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}

// claimTags returns the tags that claim an instance: those that it carries
// already, without an older claim, and everything that the request adds.
func (t Tagging) claimTags(present []string, who claims.ClaimID, at time.Time, more ...[]string) []string {
	tags := slices.DeleteFunc(slices.Clone(present), t.ofClaim)
	claim := []string{t.NameTag(who), t.claimedAtKey + strconv.FormatInt(at.Unix(), 10), t.managed}
	if who.UID != "" {
		claim = append(claim, t.UIDTag(who))
	}
	return claims.Union(append([][]string{tags, claim}, more...)...)
}

// poolTags returns the tags of a new pool.
func (t Tagging) poolTags(request lkepool.Request) []string {
	return claims.Union([]string{request.Key.Tag(t.Tags), t.managed}, request.PoolTags)
}

// keyHash returns the hash of the key that a pool was made for, "" if it was not
// made by this engine.
func (t Tagging) keyHash(tags []string) string {
	hash := claims.ValueOf(tags, t.keyKey)
	if len(hash) != 16 || !slices.Contains(tags, t.managed) {
		return ""
	}
	for i := range len(hash) {
		if c := hash[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return ""
		}
	}
	return hash
}
