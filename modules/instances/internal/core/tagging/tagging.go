// Package tagging reads and writes the tags that record the cluster and the claimant of an
// instance. Only these tags and the records of the caller survive a restart: from them a
// restarted process learns which instances are its own, and the claimant of each. All
// functions are pure.
package tagging

import (
	"slices"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
)

// Tags adds the tags of a cluster to the tags of claims.
type Tags struct {
	claims.Tags
	// Cluster is the tag of all instances of the cluster.
	Cluster string
	// Unfinished is the tag of instances that lack disks, their configuration or
	// their boot.
	Unfinished string
}

// New returns the tags of a cluster with the given keys. uid distinguishes clusters of
// one name, and may be empty.
func New(tags claims.Tags, cluster, uid string) Tags {
	prefix := tags.Prefix("cluster")
	room := claims.MaxTagLength - len(prefix)
	t := Tags{Tags: tags, Cluster: prefix + claims.Shorten(cluster, room), Unfinished: tags.Prefix("unfinished") + "true"}
	if uid != "" {
		t.Cluster = prefix + claims.Cut(cluster, cluster+"\x00"+uid, room)
	}
	return t
}

// Own reports whether only the engine may add or remove the tag.
func (t Tags) Own(tag string) bool {
	return tag == t.Unfinished || strings.HasPrefix(tag, t.Prefix("cluster")) || t.IsClaim(tag)
}

// ClaimTags returns the tags that make an instance the claimant's, and the tags in more.
func (t Tags) ClaimTags(who claims.ClaimID, more ...string) []string {
	tags := []string{t.Cluster, t.NameTag(who)}
	if who.UID != "" {
		tags = append(tags, t.UIDTag(who))
	}
	return claims.Union(tags, more)
}

// Ours reports whether an instance belongs to this cluster and has a claim.
func (t Tags) Ours(i event.Instance) bool {
	return !i.Foreign && slices.Contains(i.Tags, t.Cluster) && !t.ClaimIn(i.Tags).None()
}

// IsUnfinished reports whether an instance with these tags is still being made.
func (t Tags) IsUnfinished(tags []string) bool { return slices.Contains(tags, t.Unfinished) }

// Finished returns the tags without the mark of an unfinished instance.
func (t Tags) Finished(tags []string) []string {
	return slices.DeleteFunc(slices.Clone(tags), func(tag string) bool { return tag == t.Unfinished })
}
