package instances

import (
	"slices"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// ownership reads and writes the tags that make an instance one of this cluster's.
// The tags are the only durable record.
type ownership struct {
	claims.Tags
	// cluster is the tag of all instances of the cluster.
	cluster string
	// unfinished is the tag of instances that lack disks, their configuration or
	// their boot.
	unfinished string
}

func (c Config) ownership() ownership {
	return ownership{Tags: c.Tags, cluster: c.ClusterTag(), unfinished: c.Tags.Prefix("unfinished") + "true"}
}

// ClusterTag returns the tag that all instances of the cluster have, and no other
// instance.
func (c Config) ClusterTag() string {
	prefix := c.Tags.Prefix("cluster")
	room := claims.MaxTagLength - len(prefix)
	if c.ClusterUID == "" {
		return prefix + claims.Shorten(c.Cluster, room)
	}
	return prefix + claims.Cut(c.Cluster, c.Cluster+"\x00"+c.ClusterUID, room)
}

// own reports whether only the engine may add or remove the tag.
func (w *ownership) own(tag string) bool {
	return tag == w.unfinished || strings.HasPrefix(tag, w.Prefix("cluster")) || w.IsClaim(tag)
}

// claimTags returns the tags that make an instance the claimant's, and more.
func (w *ownership) claimTags(who claims.ClaimID, more ...string) []string {
	tags := []string{w.cluster, w.NameTag(who)}
	if who.UID != "" {
		tags = append(tags, w.UIDTag(who))
	}
	return claims.Union(tags, more)
}

// ours reports whether an instance belongs to this cluster and has a claim.
func (w *ownership) ours(i Instance) bool {
	return !i.Foreign && slices.Contains(i.Tags, w.cluster) && !w.ClaimIn(i.Tags).None()
}

// isUnfinished reports whether an instance with these tags is still being made.
func (w *ownership) isUnfinished(tags []string) bool { return slices.Contains(tags, w.unfinished) }

// finished returns the tags without the mark of an unfinished instance.
func (w *ownership) finished(tags []string) []string {
	return slices.DeleteFunc(slices.Clone(tags), func(tag string) bool { return tag == w.unfinished })
}
