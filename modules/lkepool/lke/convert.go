package lke

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

func poolOf(p api.LKENodePool) lkepool.Pool {
	pool := lkepool.Pool{
		ID: p.ID, Count: p.Count, InstanceType: p.Type, Tags: slices.Clone(p.Tags), Autoscaled: p.Autoscaler.Enabled,
		Template: lkepool.Template{Labels: maps.Clone(p.Labels), DiskEncryption: string(p.DiskEncryption)},
	}
	for _, taint := range p.Taints {
		pool.Template.Taints = append(pool.Template.Taints, lkepool.Taint{Key: taint.Key, Value: taint.Value, Effect: string(taint.Effect)})
	}
	if id, err := p.FirewallID.Get(); err == nil {
		pool.Template.FirewallID = id
	}
	if p.Isolation != nil {
		pool.Template.Isolation = lkepool.Isolation{PublicIPv4: asText(p.Isolation.PublicIPv4), PublicIPv6: asText(p.Isolation.PublicIPv6)}
	}
	if p.K8SVersion != nil {
		pool.Template.KubernetesVersion = *p.K8SVersion
	}
	for _, node := range p.Nodes {
		slot := lkepool.Slot{NodeID: node.ID}
		if node.InstanceID != nil {
			slot.InstanceID = *node.InstanceID
		}
		pool.Slots = append(pool.Slots, slot)
	}
	return pool
}

func (b *base) instanceOf(i api.Instance) lkepool.Instance {
	instance := lkepool.Instance{
		ID: i.ID, Name: i.Label, InstanceType: i.Type, Region: i.Region, Status: string(i.Status),
		State: stateOf(i.Status), Tags: slices.Clone(i.Tags), Created: i.Created.Time,
		Foreign: i.LKEClusterID == nil || *i.LKEClusterID != b.cluster.ID,
	}
	for _, tag := range i.Tags {
		if id := poolIn(tag); id != 0 {
			instance.PoolID = id
		}
	}
	return instance
}

// poolIn returns the pool that a tag of an Enterprise worker names, 0 if the tag does not have the form that
// LKE writes.
func poolIn(tag string) int {
	value, ok := strings.CutPrefix(tag, poolTagPrefix)
	if id, err := strconv.Atoi(value); ok && err == nil && id > 0 && strconv.Itoa(id) == value {
		return id
	}
	return 0
}

// stateOf classifies a status. A new worker is offline before its first boot
// (recorded), so offline proves nothing about a young instance. An instance that is
// busy with a job is up.
func stateOf(status api.InstanceStatus) lkepool.State {
	switch status {
	case "deleting":
		return lkepool.Leaving
	case "offline", "stopped", "shutting_down", "billing_suspension":
		return lkepool.Down
	}
	return lkepool.Up
}

// creation leaves out empty fields, because the API's defaults differ by tier.
func (b *base) creation(spec lkepool.PoolSpec, version string) api.LKENodePoolCreate {
	template := spec.Key.Template
	pool := api.LKENodePoolCreate{Type: spec.Key.InstanceType, Count: spec.Count, Tags: &spec.Tags}
	if len(template.Labels) > 0 {
		labels := maps.Clone(template.Labels)
		pool.Labels = &labels
	}
	if len(template.Taints) > 0 {
		taints := make([]api.LKETaint, 0, len(template.Taints))
		for _, taint := range template.Taints {
			taints = append(taints, api.LKETaint{Key: taint.Key, Value: taint.Value, Effect: api.LKETaintEffect(taint.Effect)})
		}
		pool.Taints = &taints
	}
	if template.DiskEncryption != "" {
		encryption := api.DiskEncryption(template.DiskEncryption)
		pool.DiskEncryption = &encryption
	}
	if template.FirewallID != 0 {
		pool.FirewallID = &template.FirewallID
	}
	if isolation := template.Isolation; isolation != (lkepool.Isolation{}) {
		pool.Isolation = &api.LKEIsolation{PublicIPv4: asBool(isolation.PublicIPv4), PublicIPv6: asBool(isolation.PublicIPv6)}
	}
	if version != "" {
		pool.K8SVersion = &version
		// Karpenter replaces nodes to give them a new version. A rolling update would
		// recycle nodes that have claims.
		strategy := api.LKEUpdateStrategy("on_recycle")
		pool.UpdateStrategy = &strategy
	}
	return pool
}

// asText and asBool convert optional fields: "" stands for a field that is left out.
func asText(b *bool) string {
	if b == nil {
		return ""
	}
	return strconv.FormatBool(*b)
}

func asBool(text string) *bool {
	if text == "" {
		return nil
	}
	b := text == "true"
	return &b
}
