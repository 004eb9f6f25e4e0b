package instances

import (
	"slices"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/claimtag"
)

// Tags are the only durable record there is.
const (
	// MinTagLength and MaxTagLength bound a tag, in characters.
	MinTagLength = claimtag.MinLength
	MaxTagLength = claimtag.MaxLength

	clusterPrefix = "karpenter.k8s.linode/cluster="
	// unfinishedTag is on an instance whose disks, configuration or boot are still
	// to be made.
	unfinishedTag = "karpenter.k8s.linode/unfinished=true"
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
	return claimID{value: ClaimValue(c.Name), uid: claimtag.UIDValue(c.UID)}
}

// ClusterTag is the tag that all instances of a cluster have, and no other.
func ClusterTag(cluster, uid string) string {
	room := MaxTagLength - len(clusterPrefix)
	if uid == "" {
		return clusterPrefix + claimtag.Shorten(cluster, room)
	}
	return clusterPrefix + claimtag.Cut(cluster, cluster+"\x00"+uid, room)
}

// ClaimValue returns what Instance.Claim is for a claimant: its name, or a
// part and a hash of it when it does not fit into a tag.
func ClaimValue(claimant string) string { return claimtag.Value(claimant) }

// claimIn returns whose claim the tags are, the zero claimID for none.
func claimIn(tags []string) claimID {
	return claimID{value: claimtag.ValueOf(tags, claimtag.Name), uid: claimtag.ValueOf(tags, claimtag.UID)}
}

// ownTag reports whether only the engine may add or remove the tag.
func ownTag(tag string) bool {
	return tag == unfinishedTag || slices.ContainsFunc([]string{clusterPrefix, claimtag.Name, claimtag.UID}, func(prefix string) bool {
		return strings.HasPrefix(tag, prefix)
	})
}

// claimTags returns the tags that make an instance the claimant's, and more.
func (c *Config) claimTags(who claimID, more ...string) []string {
	tags := []string{ClusterTag(c.Cluster, c.ClusterUID), claimtag.Name + who.value}
	if who.uid != "" {
		tags = append(tags, claimtag.UID+who.uid)
	}
	return claimtag.Union(tags, more)
}

// ours reports whether an instance belongs to this cluster and has a claim.
func (c *Config) ours(i Instance) bool {
	return !i.Foreign && slices.Contains(i.Tags, ClusterTag(c.Cluster, c.ClusterUID)) && !claimIn(i.Tags).none()
}
