package world

import (
	"maps"
	"slices"
	"strings"
)

// Tags lists the labels in use, and those that were made and never used.
func (w *World) Tags() []string {
	defer w.lock()()
	return w.tagLabels()
}

func (w *World) tagLabels() []string {
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
	for _, f := range w.firewalls {
		add(f.Tags)
	}
	for _, i := range w.assets.images {
		add(i.Tags)
	}
	return slices.Sorted(maps.Keys(all))
}

// CreateTag makes a tag and puts it on Linodes and clusters.
func (w *World) CreateTag(by Actor, label string, linodes, clusters []int) error {
	defer w.lock()()
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
	if slices.Contains(w.tagLabels(), label) {
		bad.add("label", "Tag %q exists already", label)
	}
	if err := bad.err(); err != nil {
		return err
	}
	w.assets.tags[label] = true
	w.note(by, AssetCreated, "tag "+label, 0)
	for _, id := range linodes {
		w.retag(by, w.instances[id], union(w.instances[id].Tags, []string{label}))
	}
	for _, id := range clusters {
		w.retagCluster(by, w.clusters[id], union(w.clusters[id].Tags, []string{label}))
	}
	return nil
}

func (w *World) retagCluster(by Actor, c *cluster, tags []string) {
	if slices.Equal(c.Tags, tags) {
		return
	}
	w.record(by, Entry{Action: AssetChanged, ClusterID: c.ID, Before: strings.Join(c.Tags, ","), After: strings.Join(tags, ",")})
	c.Tags, c.Updated = tags, w.now
}

// Tagged finds the Linodes and clusters that carry a tag.
func (w *World) Tagged(label string) ([]Instance, []Cluster, error) {
	defer w.lock()()
	if !slices.Contains(w.tagLabels(), label) {
		return nil, nil, notFound()
	}
	var linodes []Instance
	for _, i := range w.instanceStates() {
		if slices.Contains(i.Tags, label) {
			linodes = append(linodes, i)
		}
	}
	var clusters []Cluster
	for _, c := range w.clusterStates() {
		if slices.Contains(c.Tags, label) {
			clusters = append(clusters, c)
		}
	}
	return linodes, clusters, nil
}

// DeleteTag takes a tag off everything.
func (w *World) DeleteTag(by Actor, label string) error {
	defer w.lock()()
	if !slices.Contains(w.tagLabels(), label) {
		return notFound()
	}
	drop := func(tags []string) []string {
		return slices.DeleteFunc(slices.Clone(tags), func(t string) bool { return t == label })
	}
	for _, i := range sorted(w.instances) { // by ID, so that two runs record the same
		w.retag(by, i, drop(i.Tags))
	}
	for _, c := range sorted(w.clusters) {
		w.retagCluster(by, c, drop(c.Tags))
	}
	for id, f := range w.firewalls {
		changed := *f
		changed.Tags = drop(f.Tags)
		w.firewalls[id] = &changed
	}
	for id, i := range w.assets.images {
		i.Tags = drop(i.Tags)
		w.assets.images[id] = i
	}
	delete(w.assets.tags, label)
	w.note(by, AssetDeleted, "tag "+label, 0)
	return nil
}
