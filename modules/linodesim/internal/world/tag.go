package world

import (
	"maps"
	"slices"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"
)

// ListTags lists the labels in use, and labels that were made and never used.
func (w Tags) ListTags() ([]api.TagObject, error) {
	return each(w.tagLabels(), func(t string) api.TagObject { return api.TagObject{Label: t} }), nil
}

func (w Tags) tagLabels() []string {
	all := maps.Clone(w.assets.tags)
	add := func(tags []string) {
		for _, t := range tags {
			all[t] = true
		}
	}
	for _, i := range w.instances {
		add(i.Tags)
	}
	for _, c := range w.clusters {
		add(c.Tags)
	}
	for _, f := range w.assets.firewalls {
		add(f.Tags)
	}
	for _, i := range w.assets.images {
		add(i.Tags)
	}
	for _, v := range w.assets.volumes {
		add(v.Tags)
	}
	for _, b := range w.assets.balancers {
		add(b.Tags)
	}
	return slices.Sorted(maps.Keys(all))
}

// CreateTag makes a tag and puts it on objects.
func (w Tags) CreateTag(b *api.TagCreate) (api.TagObject, error) {
	none := api.TagObject{}
	label, linodes, clusters := b.Label, deref(b.Linodes), deref(b.LKEClusters)
	var bad reasons
	checkTags(&bad, []string{label})
	for n := range bad {
		bad[n].Field = "label"
	}
	for _, id := range linodes {
		if w.instances[id] == nil {
			bad.add("linodes", "Linode %d is not valid", id)
		}
	}
	for _, id := range clusters {
		if w.clusters[id] == nil {
			bad.add("lke_clusters", "Cluster %d is not valid", id)
		}
	}
	for _, id := range deref(b.Volumes) {
		if _, there := w.assets.volumes[id]; !there {
			bad.add("volumes", "Volume %d is not valid", id)
		}
	}
	for _, id := range deref(b.Nodebalancers) {
		if _, there := w.assets.balancers[id]; !there {
			bad.add("nodebalancers", "NodeBalancer %d is not valid", id)
		}
	}
	if slices.Contains(w.tagLabels(), label) {
		bad.add("label", "Tag %q exists already", label)
	}
	if err := bad.err(); err != nil {
		return none, err
	}
	w.assets.tags[label] = true
	w.note(account.AssetCreated, "tag "+label, 0)
	for _, id := range linodes {
		w.Linodes().retag(w.Actor, w.instances[id], union(w.instances[id].Tags, []string{label}))
	}
	for _, id := range clusters {
		w.Clusters().retagCluster(w.clusters[id], union(w.clusters[id].Tags, []string{label}))
	}
	for _, id := range deref(b.Volumes) {
		v := w.assets.volumes[id]
		v.Tags = union(v.Tags, []string{label})
		w.assets.volumes[id] = v
	}
	for _, id := range deref(b.Nodebalancers) {
		n := w.assets.balancers[id]
		n.Tags = union(n.Tags, []string{label})
		w.assets.balancers[id] = n
	}
	return api.TagObject{Label: label}, nil
}

func (w Clusters) retagCluster(c *cluster, tags []string) {
	if slices.Equal(c.Tags, tags) {
		return
	}
	w.record(w.Actor, account.Entry{
		Action: account.AssetChanged, ClusterID: c.ID, Before: strings.Join(c.Tags, ","), After: strings.Join(tags, ","),
	})
	c.Tags, c.Updated = tags, w.now
}

// DeleteTag takes a tag off all objects.
func (w Tags) DeleteTag(tagLabel string) error {
	if !slices.Contains(w.tagLabels(), tagLabel) {
		return NotFound()
	}
	drop := func(tags []string) []string {
		return slices.DeleteFunc(slices.Clone(tags), func(t string) bool { return t == tagLabel })
	}
	for _, i := range sorted(w.instances) { // by ID, so that two runs record the same
		w.Linodes().retag(w.Actor, i, drop(i.Tags))
	}
	for _, c := range sorted(w.clusters) {
		w.Clusters().retagCluster(c, drop(c.Tags))
	}
	for id, f := range w.assets.firewalls {
		f.Tags = drop(f.Tags)
		w.assets.firewalls[id] = f
	}
	for id, i := range w.assets.images {
		i.Tags = drop(i.Tags)
		w.assets.images[id] = i
	}
	for id, v := range w.assets.volumes {
		v.Tags = drop(v.Tags)
		w.assets.volumes[id] = v
	}
	for id, b := range w.assets.balancers {
		b.Tags = drop(b.Tags)
		w.assets.balancers[id] = b
	}
	delete(w.assets.tags, tagLabel)
	w.note(account.AssetDeleted, "tag "+tagLabel, 0)
	return nil
}
