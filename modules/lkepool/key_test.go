package lkepool_test

import (
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// Hashes are stored on pools, so they stay what they were when the first pools
// were made.
func TestHashesOfKeysStay(t *testing.T) {
	only := lkepool.Taint{Key: "example.com/only", Value: "a", Effect: "NoSchedule"}
	dedicated := lkepool.Taint{Key: "dedicated", Effect: "NoExecute"}
	for want, key := range map[string]lkepool.Key{
		"eda0fab19f163afe": {},
		"0d2dbf670e093de3": {NodePool: "default", InstanceType: "g6-standard-2"},
		"661b3c1e015ce87a": {NodePool: "default", InstanceType: "g6-standard-2", Template: lkepool.Template{
			Labels: map[string]string{"b": "2", "a": "1"}, Taints: []lkepool.Taint{only, dedicated, only}}},
		"286afdd02e6573de": {NodePool: "default", InstanceType: "g6-standard-2", Template: lkepool.Template{Taints: []lkepool.Taint{}}},
		"24e38056d7077c0d": {NodePool: "web", InstanceType: "g6-dedicated-4", Template: lkepool.Template{
			FirewallID: 7, DiskEncryption: "enabled", KubernetesVersion: "v1.33.6+lke7"}},
		"f36e7c7cec8c170f": {NodePool: "web", InstanceType: "g6-dedicated-4", Template: lkepool.Template{
			Isolation: lkepool.Isolation{PublicIPv4: "false"}}},
	} {
		if got := key.Hash(); got != want {
			t.Errorf("%+v: %s, want %s", key, got, want)
		}
	}
	key := lkepool.Key{NodePool: "default", InstanceType: "g6-standard-2"}
	if got, want := key.Tag(claims.Tags{}), "karpenter.k8s.linode/pool-key=0d2dbf670e093de3"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := lkepool.ManagedTagOf(claims.Tags{}); got != lkepool.ManagedTag {
		t.Errorf("got %s", got)
	}
}

// A changed field makes another template, and a pool that was edited in a field
// that nodes show does not fit any more.
func TestEachFieldOfATemplateCounts(t *testing.T) {
	base := lkepool.Template{
		Labels: map[string]string{"a": "1"}, Taints: []lkepool.Taint{{Key: "k", Value: "v", Effect: "NoSchedule"}}, FirewallID: 1,
		DiskEncryption: "enabled", KubernetesVersion: "v1", Isolation: lkepool.Isolation{PublicIPv4: "false"},
	}
	for name, c := range map[string]struct {
		edit func(*lkepool.Template)
		fits bool
	}{
		"a label's value":  {func(t *lkepool.Template) { t.Labels["a"] = "2" }, false},
		"one label more":   {func(t *lkepool.Template) { t.Labels["b"] = "2" }, true},
		"a taint's value":  {func(t *lkepool.Template) { t.Taints[0].Value = "w" }, false},
		"no taint":         {func(t *lkepool.Template) { t.Taints = nil }, false},
		"the firewall":     {func(t *lkepool.Template) { t.FirewallID = 2 }, false},
		"disk encryption":  {func(t *lkepool.Template) { t.DiskEncryption = "disabled" }, true},
		"the version":      {func(t *lkepool.Template) { t.KubernetesVersion = "v2" }, false},
		"public addresses": {func(t *lkepool.Template) { t.Isolation.PublicIPv6 = "true" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			edited := base.Clone()
			c.edit(&edited)
			if edited.Equal(base) || (lkepool.Key{Template: edited}).Hash() == (lkepool.Key{Template: base}).Hash() {
				t.Error("it makes no difference")
			}
			if got := edited.Fits(base); got != c.fits {
				t.Errorf("fits: %t, want %t", got, c.fits)
			}
		})
	}
	if !base.Clone().Equal(base) || !base.Fits(base) {
		t.Error("a copy differs")
	}
}
