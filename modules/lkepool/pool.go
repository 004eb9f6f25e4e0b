package lkepool

import (
	"maps"
	"slices"
	"strings"
)

// ours says whether the pool was made by this engine.
func (p Pool) ours() bool {
	return slices.Contains(p.Tags, ManagedTag) && p.keyHash() != ""
}

// keyHash returns the hash of the key that the pool was made for, "" if the
// pool is not ours.
func (p Pool) keyHash() string {
	hash := valueOf(p.Tags, poolKeyPrefix)
	if len(hash) != 16 || strings.Trim(hash, "0123456789abcdef") != "" {
		return ""
	}
	return hash
}

func (p Pool) belongsTo(key Key) bool {
	return p.ours() && p.keyHash() == key.Hash()
}

// fits says whether a node of the pool is what the key asks for. A pool that
// somebody edited so that it does not, or whose count the platform's autoscaler
// changes, gets no new claimants; it is not changed back.
//
// Additional labels do no harm and may be the platform's own. Taints have to be
// the same: one more keeps away the pods that the node is meant for.
func (p Pool) fits(key Key) bool {
	want := key.Template
	for name, value := range want.Labels {
		if has, ok := p.Template.Labels[name]; !ok || has != value {
			return false
		}
	}
	return !p.Autoscaled && p.InstanceType == key.InstanceType &&
		slices.Equal(sortedTaints(p.Template.Taints), sortedTaints(want.Taints)) &&
		(want.FirewallID == 0 || p.Template.FirewallID == want.FirewallID) &&
		(want.KubernetesVersion == "" || p.Template.KubernetesVersion == want.KubernetesVersion)
}

// absent counts the places that none of the members holds.
func (p Pool) absent() int {
	members := map[int]bool{}
	for _, member := range p.Members {
		members[member.ID] = true
	}
	n := 0
	for _, slot := range p.Slots {
		if !members[slot.InstanceID] {
			n++
		}
	}
	return n
}

// slot returns the node ID under which the pool lists an instance.
func (p Pool) slot(instanceID int) (string, bool) {
	for _, s := range p.Slots {
		if s.InstanceID == instanceID {
			return s.NodeID, true
		}
	}
	return "", false
}

// node describes a member of the pool.
func (a *Allocator) node(pool Pool, nodeID string, i Instance) Node {
	template := pool.Template
	template.Labels = maps.Clone(template.Labels)
	template.Taints = slices.Clone(template.Taints)
	return Node{
		InstanceID: i.ID, NodeID: nodeID, PoolID: pool.ID, Name: i.Name, InstanceType: i.InstanceType,
		Region: i.Region, Status: i.Status, Health: a.health(i),
		Claim:     a.ledger.claim(i.ID, claimOf(i.Tags)),
		ClaimedAt: claimedAtOf(i.Tags), Created: i.Created, Tags: slices.Clone(i.Tags), Template: template,
	}
}
