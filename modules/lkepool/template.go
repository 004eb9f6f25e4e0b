package lkepool

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
)

// Template contains what an LKE pool fixes for all of its nodes. A changed template
// is another key, hence another pool; the old pool goes with its last node. A new
// field also needs a row in templateFields.
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
	// Isolation determines which public addresses the nodes have.
	Isolation Isolation
}

// Taint is a Kubernetes taint. It is declared here so that this module needs
// no Kubernetes API package.
type Taint struct {
	Key, Value, Effect string
}

// Isolation determines whether nodes have public addresses: "true", "false", or ""
// to leave the choice to the platform.
type Isolation struct {
	PublicIPv4, PublicIPv6 string
}

// templateField describes one field of a Template.
type templateField struct {
	// value returns the field in the form that Hash encodes and Equal compares.
	value func(Template) any
	// later marks a field that was added when pools without it existed. While the
	// field is zero, Hash leaves it out, so that these pools keep their hash.
	later bool
	// fits reports whether a pool that has the first value serves a key that wants
	// the second value. Nil accepts any value.
	fits func(has, want Template) bool
	// clone copies the part that a copy of the struct would share. Nil for plain values.
	clone func(*Template)
}

// templateFields lists the fields of a Template, in the order that Hash encodes.
var templateFields = []templateField{
	{
		value: func(t Template) any { return sortedLabels(t.Labels) },
		// Additional labels do no harm and may be the platform's own.
		fits: func(has, want Template) bool {
			for name, value := range want.Labels {
				if other, ok := has.Labels[name]; !ok || other != value {
					return false
				}
			}
			return true
		},
		clone: func(t *Template) { t.Labels = maps.Clone(t.Labels) },
	},
	{
		value: func(t Template) any { return sortedTaints(t.Taints) },
		// An additional taint keeps away the pods that the node is meant for.
		fits: func(has, want Template) bool {
			return slices.Equal(sortedTaints(has.Taints), sortedTaints(want.Taints))
		},
		clone: func(t *Template) { t.Taints = slices.Clone(t.Taints) },
	},
	{
		value: func(t Template) any { return t.FirewallID },
		fits:  func(has, want Template) bool { return want.FirewallID == 0 || has.FirewallID == want.FirewallID },
	},
	{value: func(t Template) any { return t.DiskEncryption }},
	{
		value: func(t Template) any { return t.KubernetesVersion },
		fits: func(has, want Template) bool {
			return want.KubernetesVersion == "" || has.KubernetesVersion == "" || has.KubernetesVersion == want.KubernetesVersion
		},
	},
	{value: func(t Template) any { return t.Isolation }, later: true},
}

// Clone returns a copy that shares nothing.
func (t Template) Clone() Template {
	for _, field := range templateFields {
		if field.clone != nil {
			field.clone(&t)
		}
	}
	return t
}

// Equal reports whether two templates are the same; the order of lists does not count.
func (t Template) Equal(other Template) bool {
	return !slices.ContainsFunc(templateFields, func(f templateField) bool { return !sameValue(f.value(t), f.value(other)) })
}

// Fits reports whether nodes of a pool with this template meet the requirements of a
// key with the wanted template. A pool that another client edited so that its nodes
// do not meet them gets no new claimants; the engine does not change it back.
func (t Template) Fits(want Template) bool {
	return !slices.ContainsFunc(templateFields, func(f templateField) bool { return f.fits != nil && !f.fits(t, want) })
}

// zero reports whether a template lacks the field.
func (f templateField) zero(t Template) bool { return sameValue(f.value(t), f.value(Template{})) }

// sameValue compares two values of one field; an empty slice equals a nil one.
func sameValue(a, b any) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	if x.Kind() == reflect.Slice && x.Len() == 0 && y.Len() == 0 {
		return true
	}
	return reflect.DeepEqual(a, b)
}

func sortedLabels(labels map[string]string) [][2]string {
	sorted := make([][2]string, 0, len(labels))
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		sorted = append(sorted, [2]string{name, labels[name]})
	}
	return sorted
}

func sortedTaints(taints []Taint) []Taint {
	sorted := slices.Clone(taints)
	slices.SortFunc(sorted, func(a, b Taint) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value), cmp.Compare(a.Effect, b.Effect))
	})
	return slices.Compact(sorted)
}
