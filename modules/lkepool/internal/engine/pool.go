package engine

import (
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/claimtag"
)

// ours reports whether the pool was made by this engine.
func (p Pool) ours() bool { return slices.Contains(p.Tags, ManagedTag) && p.keyHash() != "" }

// keyHash returns the hash of the key that the pool was made for, "" if the
// pool is not ours.
func (p Pool) keyHash() string {
	hash := claimtag.ValueOf(p.Tags, poolKeyPrefix)
	if len(hash) != 16 {
		return ""
	}
	for i := range len(hash) {
		if c := hash[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return ""
		}
	}
	return hash
}

// fits reports whether a node of the pool is what the key asks for. A pool that
// was edited so that it does not, or whose count the platform's autoscaler
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
		(want.KubernetesVersion == "" || p.Template.KubernetesVersion == "" || p.Template.KubernetesVersion == want.KubernetesVersion)
}
