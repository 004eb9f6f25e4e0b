package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Tags are the only durable record there is. A tag has 3 to 50 characters
// (Linode API facts: anything else is refused with 400 on field tags[n]).
const (
	// MinTagLength and MaxTagLength bound a tag, in characters.
	MinTagLength = 3
	MaxTagLength = 50

	// ManagedTag is on every pool made here and on every claimed instance.
	ManagedTag = "karpenter.k8s.linode/lke-managed=true"

	claimPrefix     = "karpenter.sh/nodeclaim="
	claimUIDPrefix  = "karpenter.k8s.linode/claim-uid="
	claimedAtPrefix = "karpenter.k8s.linode/claimed-at="
	poolKeyPrefix   = "karpenter.k8s.linode/pool-key="
	hashLength      = 8
	// cutMark stands before the hash of a shortened value. No name of a
	// Kubernetes object contains it, so a shortened name is never another's.
	cutMark = "_"
)

// Tag joins key and value with "=" and shortens the value when the whole would
// exceed MaxTagLength: it then keeps a prefix and ends in "_" and a hash of the
// full value, so that two long values never become one tag, and none becomes
// that of a short name. A key that leaves
// no room for a hash is kept as it is, and validation refuses the tag.
func Tag(key, value string) string {
	return key + "=" + Shorten(value, MaxTagLength-len(key)-1)
}

// ClaimValue returns what Node.Claim holds for a claimant: its name, or a
// prefix and a hash of it when it does not fit into a tag.
func ClaimValue(claimant string) string {
	return Shorten(claimant, MaxTagLength-len(claimPrefix))
}

// Shorten keeps a prefix of a value that is longer than room, "_" and a hash of the whole.
func Shorten(value string, room int) string {
	if len(value) <= room || room <= hashLength+1 {
		return value
	}
	sum := sha256.Sum256([]byte(value))
	kept := strings.ToValidUTF8(value[:room-hashLength-1], "") // a character that the cut would split goes
	return kept + cutMark + hex.EncodeToString(sum[:])[:hashLength]
}

// id is the claimant as tags record it.
func (c Claimant) id() claimID {
	id := claimID{value: ClaimValue(c.Name)}
	if c.UID != "" {
		sum := sha256.Sum256([]byte(c.UID))
		id.uid = hex.EncodeToString(sum[:8])
	}
	return id
}

// valueOf returns the value of the first tag with the given prefix, "" if there is none.
func valueOf(tags []string, prefix string) string {
	for _, tag := range tags {
		if value, ok := strings.CutPrefix(tag, prefix); ok {
			return value
		}
	}
	return ""
}

// claimIn returns whose claim the tags are, the zero claimID for none.
func claimIn(tags []string) claimID {
	return claimID{value: valueOf(tags, claimPrefix), uid: valueOf(tags, claimUIDPrefix)}
}

// claimedAtOf returns the zero time for a missing or unreadable tag.
func claimedAtOf(tags []string) time.Time {
	seconds, err := strconv.ParseInt(valueOf(tags, claimedAtPrefix), 10, 64)
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
	return strings.HasPrefix(tag, claimPrefix) || strings.HasPrefix(tag, claimUIDPrefix) || strings.HasPrefix(tag, claimedAtPrefix)
}

// claimTags returns what is written on an instance to claim it: what it carries
// already, without an older claim, and everything that the request asks for.
func claimTags(present []string, who claimID, at time.Time, more ...[]string) []string {
	tags := slices.DeleteFunc(slices.Clone(present), claimTag)
	claim := []string{claimPrefix + who.value, claimedAtPrefix + strconv.FormatInt(at.Unix(), 10), ManagedTag}
	if who.uid != "" {
		claim = append(claim, claimUIDPrefix+who.uid)
	}
	return union(append([][]string{tags, claim}, more...)...)
}

// poolTags returns the tags of a new pool.
func poolTags(request Request) []string {
	return union([]string{request.Key.Tag(), ManagedTag}, request.PoolTags)
}

// union keeps the first occurrence of each tag, in order.
func union(sets ...[]string) []string {
	var tags []string
	for _, tag := range slices.Concat(sets...) {
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return tags
}
