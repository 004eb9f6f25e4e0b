package engine

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
)

// Key identifies a set of interchangeable nodes. All nodes of one pool share
// one key, and a claimant never gets a node of a pool with another key.
type Key struct {
	// NodePool is the name of the Karpenter NodePool the nodes belong to.
	NodePool string
	// InstanceType is the plan, for example "g6-standard-2".
	InstanceType string
	// Template is what the platform fixes for every node of a pool.
	Template Template
}

// Template is what an LKE pool fixes for all of its nodes. A changed template
// is another key, hence another pool; the old pool drains and goes.
type Template struct {
	Labels map[string]string
	Taints []Taint
	// FirewallID is the Cloud Firewall, 0 for none. Enterprise only.
	FirewallID int
	// DiskEncryption is "", "enabled" or "disabled"; "" leaves the choice to the platform.
	DiskEncryption string
	// KubernetesVersion is the worker version, for example "v1.33.6+lke7"; ""
	// leaves the choice to the platform. Enterprise only.
	KubernetesVersion string
	// Isolation is which public addresses the nodes have.
	Isolation Isolation
}

// Isolation is whether nodes have public addresses: "true", "false", or "" to
// leave the choice to the platform.
type Isolation struct {
	PublicIPv4, PublicIPv6 string
}

// clone returns a copy that shares nothing.
func (t Template) clone() Template {
	t.Labels, t.Taints = maps.Clone(t.Labels), slices.Clone(t.Taints)
	return t
}

// equal reports whether two templates are the same, in whatever order.
func (t Template) equal(other Template) bool {
	return maps.Equal(t.Labels, other.Labels) && slices.Equal(sortedTaints(t.Taints), sortedTaints(other.Taints)) &&
		t.FirewallID == other.FirewallID && t.DiskEncryption == other.DiskEncryption && t.KubernetesVersion == other.KubernetesVersion &&
		t.Isolation == other.Isolation
}

// Taint is a Kubernetes taint. It is declared here so that this module needs
// no Kubernetes API package.
type Taint struct {
	Key, Value, Effect string
}

// Hash returns 16 hexadecimal digits over the whole key. It does not depend on
// the order of the taints, and it is stored on pools: changing how it is
// computed orphans every existing pool.
func (k Key) Hash() string {
	labels := make([][2]string, 0, len(k.Template.Labels))
	for _, name := range slices.Sorted(maps.Keys(k.Template.Labels)) {
		labels = append(labels, [2]string{name, k.Template.Labels[name]})
	}
	fields := []any{
		"v1", k.NodePool, k.InstanceType, labels, sortedTaints(k.Template.Taints),
		k.Template.FirewallID, k.Template.DiskEncryption, k.Template.KubernetesVersion,
	}
	if k.Template.Isolation != (Isolation{}) { // pools made before there was isolation keep their hash
		fields = append(fields, k.Template.Isolation)
	}
	text, err := json.Marshal(fields)
	if err != nil {
		// Strings, integers and slices of them always encode.
		panic(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Tag is the tag that marks a pool as made for this key.
func (k Key) Tag() string { return poolKeyPrefix + k.Hash() }

func sortedTaints(taints []Taint) []Taint {
	sorted := slices.Clone(taints)
	slices.SortFunc(sorted, func(a, b Taint) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value), cmp.Compare(a.Effect, b.Effect))
	})
	return slices.Compact(sorted)
}
