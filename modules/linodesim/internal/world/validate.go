package world

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
)

var (
	poolLabel  = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])$`)
	keyName    = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`)
	keyPrefix  = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	labelValue = regexp.MustCompile(`^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`)
	linodeName = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9-_.]*[a-zA-Z0-9]$`)
)

var (
	effects    = []string{"NoSchedule", "PreferNoSchedule", "NoExecute"}
	strategies = []string{"rolling_update", "on_recycle"}
	reserved   = []string{"kubernetes.io", "linode.com"}
)

func (w Pools) checkPoolCreate(c *cluster, p account.PoolSpec) error {
	var bad reasons
	if t, ok := w.catalog.Type(p.Type); !ok {
		bad.invalid("type")
	} else if !w.catalog.AllowedInLKE(t.ID) {
		bad.add("type", "The Linode type %s is currently not supported by LKE", p.Type)
	}
	w.checkCount(&bad, c, p.Count)
	if p.Label != "" {
		checkPoolLabel(&bad, p.Label)
	}
	if p.DiskEncryption != "" && p.DiskEncryption != "enabled" && p.DiskEncryption != "disabled" {
		bad.add("disk_encryption", "Must be one of enabled, disabled")
	}
	if p.Isolation != nil && !w.behaviour.AllowIsolation {
		// Inferred from the vendor's Terraform provider, which refuses it on other tiers (FACTS 18.14); the API's answer is not recorded.
		if c.Tier == catalog.Standard {
			bad.enterpriseOnly("isolation")
		} else {
			bad.add("isolation", "isolation is not available to this account")
		}
	}
	checkDisks(&bad, p.Disks)
	w.checkCommon(&bad, c, p.Labels, p.Taints, p.Tags, p.Autoscaler)
	w.checkEnterprise(&bad, c, p.FirewallID, p.K8sVersion, p.UpdateStrategy)
	return bad.err()
}

func (w Pools) checkPoolUpdate(p *pool, u *api.LKENodePoolUpdate, a *api.LKEAutoscaler) error {
	var bad reasons
	if u.Count != nil {
		w.checkCount(&bad, p.cluster, *u.Count)
	}
	if u.Label != nil && *u.Label != "" {
		checkPoolLabel(&bad, *u.Label)
	}
	w.checkCommon(&bad, p.cluster, deref(u.Labels), deref(u.Taints), deref(u.Tags), a)
	w.checkEnterprise(&bad, p.cluster, u.FirewallID, deref(u.K8SVersion), string(deref(u.UpdateStrategy)))
	if v := deref(u.K8SVersion); v != "" && v != p.K8sVersion && len(bad) == 0 {
		checkUpgrade(&bad, v, cmp.Or(deref(u.Count), p.Count))
	}
	return bad.err()
}

// checkUpgrade refuses a new version for an Enterprise pool that has fewer nodes than
// the upgrade needs; the words of the real API are not known.
func checkUpgrade(bad *reasons, version string, nodes int) {
	if least := nodesForUpgrade(version); nodes < least {
		bad.add("k8s_version", "A node pool needs at least %d nodes for an upgrade to %s; this one has %d", least, version, nodes)
	}
}

// nodesForUpgrade returns how many nodes an upgrade needs, as documented: 3 for v1.33
// and later, 2 for v1.32.
func nodesForUpgrade(version string) int {
	var major, minor int
	if n, _ := fmt.Sscanf(version, "v%d.%d", &major, &minor); n < 2 || minor < 32 {
		return 1
	}
	return min(3, minor-30)
}

func (w Pools) checkCommon(bad *reasons, c *cluster, labels map[string]string, taints []account.Taint, tags []string,
	a *api.LKEAutoscaler,
) {
	checkLabels(bad, labels)
	w.checkTaints(bad, taints)
	checkTags(bad, tags)
	if a == nil {
		return
	}
	// The words and the limit are the API's, for both tiers.
	low, _ := w.countRange(c)
	if a.Min < low || a.Min > maxPoolNodesEnterprise {
		bad.add("autoscaler.min", "Must be %d-%d", low, maxPoolNodesEnterprise)
	}
	if a.Max < low || a.Max > maxPoolNodesEnterprise {
		bad.add("autoscaler.max", "Must be %d-%d", low, maxPoolNodesEnterprise)
	} else if a.Max < a.Min {
		bad.add("autoscaler.max", "Must be at least min")
	}
}

func (w Pools) countRange(c *cluster) (low, high int) {
	low, high = 1, maxPoolNodes
	if c.Tier == catalog.Enterprise {
		high = maxPoolNodesEnterprise
		if w.behaviour.AllowZeroCount {
			low = 0
		}
	}
	return low, high
}

func (w Pools) checkCount(bad *reasons, c *cluster, count int) {
	if low, high := w.countRange(c); count < low || count > high {
		bad.add("count", "Must be %d-%d", low, high)
	}
}

func checkPoolLabel(bad *reasons, label string) {
	if len(label) > 32 || !poolLabel.MatchString(label) {
		bad.add("label", "Must be 2-32 characters: lower case letters, digits and dashes, no dash at either end")
	}
}

func checkDisks(bad *reasons, disks []api.LKEPoolDisk) {
	if len(disks) > 7 {
		bad.add("disks", "At most 7 disks are allowed")
	}
	for i, d := range disks {
		if d.Size < 1 {
			bad.add(fmt.Sprintf("disks[%d].size", i), "Must be at least 1")
		}
		if d.Type != "raw" && d.Type != "ext4" {
			bad.add(fmt.Sprintf("disks[%d].type", i), "Must be one of raw, ext4")
		}
	}
}

// checkEnterprise refuses the fields of Enterprise on Standard, and wrong values of
// these fields on Enterprise.
func (w Pools) checkEnterprise(bad *reasons, c *cluster, firewallID *int, version, strategy string) {
	if c.Tier != catalog.Enterprise {
		for field, given := range map[string]bool{"firewall_id": firewallID != nil, "k8s_version": version != "",
			"update_strategy": strategy != ""} {
			if given {
				bad.enterpriseOnly(field)
			}
		}
		bad.sort()
		return
	}
	if _, err := lookup(w.assets.firewalls, deref(firewallID)); firewallID != nil && err != nil {
		bad.invalid("firewall_id")
	}
	if version != "" && !slices.Contains(w.Offers().versions(catalog.Enterprise), version) {
		bad.invalid("k8s_version")
	}
	if strategy != "" && !slices.Contains(strategies, strategy) {
		bad.add("update_strategy", "Must be one of %s", strings.Join(strategies, ", "))
	}
}

// checkTags refuses tags that do not have 3 to 50 characters; the API's reason names
// the tag.
func checkTags(bad *reasons, tags []string) {
	for i, t := range tags {
		if n := utf8.RuneCountInString(t); n < 3 || n > 50 {
			bad.add(fmt.Sprintf("tags[%d]", i), "Tag %q must be 3-50 characters", t)
		}
	}
}

func checkLabels(bad *reasons, labels map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		field := "labels." + key
		if why := badLabelKey(key); why != "" {
			bad.add(field, "%s", why)
		}
		if why := badValue(labels[key]); why != "" {
			bad.add(field, "%s", why)
		}
	}
}

// badLabelKey returns the reason against a label key, or "". A key without a prefix has
// at most 63 characters. A key with a prefix has at most 128 characters, of which at
// most 62 follow the slash. Keys of Kubernetes and Linode themselves are reserved (a
// rule of the Cloud Manager; whether the API has it too is not known).
func badLabelKey(key string) string {
	prefix, name, found := strings.Cut(key, "/")
	limit := 62
	if !found {
		prefix, name, limit = "", key, 63
	}
	switch {
	case len(name) > limit || len(key) > 128:
		return "Label key is too long: 63 characters without a prefix; 128 with one, 62 of them after the slash"
	case !keyName.MatchString(name) || found && !keyPrefix.MatchString(prefix):
		return "Label key must be alphanumeric with -, _ and . inside, and may have one DNS prefix before a slash"
	case isReserved(key):
		return "Label keys containing kubernetes.io or linode.com are reserved"
	}
	return ""
}

func badValue(value string) string {
	if len(value) > 63 || !labelValue.MatchString(value) {
		return "Value must be at most 63 characters, alphanumeric at both ends with -, _ and . inside"
	}
	return ""
}

func isReserved(s string) bool {
	return slices.ContainsFunc(reserved, func(r string) bool { return strings.Contains(s, r) })
}

func (w Pools) checkTaints(bad *reasons, taints []account.Taint) {
	for i, t := range taints {
		field := func(name string) string { return fmt.Sprintf("taints[%d].%s", i, name) }
		prefix, name, found := strings.Cut(t.Key, "/")
		if !found {
			prefix, name = "", t.Key
		}
		switch {
		case len(t.Key) > 63:
			bad.add(field("key"), "Taint key must be at most 63 characters")
		case !keyName.MatchString(name) || found && !keyPrefix.MatchString(prefix):
			bad.add(field("key"), "Taint key must be alphanumeric with -, _ and . inside, and may have one DNS prefix before a slash")
		case w.behaviour.RefuseReservedTaintKeys && isReserved(t.Key):
			bad.add(field("key"), "Taint keys containing kubernetes.io or linode.com are reserved")
		}
		if why := badValue(t.Value); why != "" {
			bad.add(field("value"), "%s", why)
		} else if slices.Contains(reserved, t.Value) {
			bad.add(field("value"), "Taint values kubernetes.io and linode.com are reserved")
		}
		if !slices.Contains(effects, string(t.Effect)) {
			bad.add(field("effect"), "Must be one of %s", strings.Join(effects, ", "))
		}
	}
}

func validInstanceLabel(label string) bool {
	if len(label) < 3 || len(label) > 64 || !linodeName.MatchString(label) {
		return false
	}
	return !strings.Contains(label, "--") && !strings.Contains(label, "__") && !strings.Contains(label, "..")
}

func checkLength(bad *reasons, field, value string, low, high int) {
	if len(value) < low || len(value) > high {
		bad.add(field, "Length must be %d-%d characters", low, high)
	}
}
