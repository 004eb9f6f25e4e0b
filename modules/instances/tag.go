package instances

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Tags are the only durable record there is. A tag has 3 to 50 characters
// (Linode API facts: anything else is refused with 400 on field tags[n]).
const (
	// MinTagLength and MaxTagLength bound a tag, in characters.
	MinTagLength = 3
	MaxTagLength = 50

	clusterPrefix  = "karpenter.k8s.linode/cluster="
	claimPrefix    = "karpenter.sh/nodeclaim="
	claimUIDPrefix = "karpenter.k8s.linode/claim-uid="
	// unfinishedTag is on an instance whose disks, configuration or boot are still
	// to be made.
	unfinishedTag = "karpenter.k8s.linode/unfinished=true"

	hashLength = 8
	// cutMark stands before the hash of a value that was cut. No name of a
	// Kubernetes object contains it, so a cut name is never another's.
	cutMark = "_"
)

// claimID is a claimant as tags record it.
type claimID struct {
	value string // its name, or a part and a hash
	uid   string // a hash, "" if there is none
}

func (a claimID) none() bool { return a.value == "" }

// is reports whether both mean the same claimant. Without a UID the name counts.
func (a claimID) is(b claimID) bool {
	return a.value == b.value && (a.uid == b.uid || a.uid == "" || b.uid == "")
}

// id is the claimant as tags record it.
func (c Claimant) id() claimID {
	id := claimID{value: ClaimValue(c.Name)}
	if c.UID != "" {
		id.uid = hash(c.UID, 16)
	}
	return id
}

// ClusterTag is the tag that all instances of a cluster have, and no other.
func ClusterTag(cluster, uid string) string {
	room := MaxTagLength - len(clusterPrefix)
	if uid == "" {
		return clusterPrefix + shorten(cluster, room)
	}
	return clusterPrefix + cluster[:min(len(cluster), room-hashLength-1)] + cutMark + hash(cluster+"\x00"+uid, hashLength)
}

// ClaimValue returns what Instance.Claim is for a claimant: its name, or a
// part and a hash of it when it does not fit into a tag.
func ClaimValue(claimant string) string {
	return shorten(claimant, MaxTagLength-len(claimPrefix))
}

func shorten(value string, room int) string {
	if len(value) <= room {
		return value
	}
	return value[:room-hashLength-1] + cutMark + hash(value, hashLength)
}

func hash(text string, digits int) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:digits]
}

// claimIn returns whose claim the tags are, the zero claimID for none.
func claimIn(tags []string) claimID {
	return claimID{value: valueOf(tags, claimPrefix), uid: valueOf(tags, claimUIDPrefix)}
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

// ownTag reports whether only the engine may add or remove the tag.
func ownTag(tag string) bool {
	return tag == unfinishedTag || slices.ContainsFunc([]string{clusterPrefix, claimPrefix, claimUIDPrefix}, func(prefix string) bool {
		return strings.HasPrefix(tag, prefix)
	})
}

// claimTags returns the tags that make an instance the claimant's, and more.
func (c *Config) claimTags(who claimID, more ...string) []string {
	tags := []string{ClusterTag(c.Cluster, c.ClusterUID), claimPrefix + who.value}
	if who.uid != "" {
		tags = append(tags, claimUIDPrefix+who.uid)
	}
	return union(tags, more)
}

// ours reports whether an instance belongs to this cluster and has a claim.
func (c *Config) ours(i Instance) bool {
	return !i.Foreign && slices.Contains(i.Tags, ClusterTag(c.Cluster, c.ClusterUID)) && !claimIn(i.Tags).none()
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
