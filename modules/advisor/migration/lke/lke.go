// Package lke turns the node pools of an LKE cluster, and the settings of LKE's own autoscaler, into NodePools and LinodeNodeClasses, with
// the steps of the hand-over.
//
// Read reads the cluster, New decides without effects, and Write and WriteSteps print. One pool stays as it is, because the operator must
// not run on nodes that it has made. Each other pool becomes a NodePool of the same plan, labels and taints, with at most as many nodes
// as the autoscaler, or the pool, may have.
//
// Guarantees: the package changes nothing in the cluster or the account; the steps are commands for the user. Pools that Karpenter
// manages are left out. Not translated: the autoscaler's minimum, because Karpenter holds no empty nodes; labels that belong to LKE or
// Kubernetes; an Enterprise pool's Kubernetes version and update strategy, because Karpenter's nodes get the control plane's version.
//
// The caller is the command karpenter-linode import lke. Read makes two or three requests and returns an error if no cluster, or more
// than one, has the label. New returns an error if no pool would be left for the operator, or if there is no other pool to take over.
// With keep 0 it chooses the cheapest pool that LKE does not scale.
//
// A NodePool has the name of the pool's label, or of its plan if the pool has no label. If two NodePools would have the same name, the
// later one gets the pool's ID. Prices are USD a month.
package lke

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
)

// Cluster is an LKE cluster with its pools.
type Cluster struct {
	ID     int               `json:"id"`
	Label  string            `json:"label"`
	Region string            `json:"region"`
	Tier   string            `json:"tier"`
	Pools  []api.LKENodePool `json:"-"`
}

// Read reads the cluster with a label or an ID.
func Read(ctx context.Context, client *linode.Client, name string) (Cluster, error) {
	var found []api.LKECluster
	var labels []string
	for cluster, err := range client.ListClusters(ctx, linode.Filter{}) {
		if err != nil {
			return Cluster{}, fmt.Errorf("reading LKE clusters: %w", err)
		}
		if cluster.Label == name || strconv.Itoa(cluster.ID) == name {
			found = append(found, cluster)
		}
		labels = append(labels, cluster.Label)
	}
	switch {
	case len(found) == 0:
		slices.Sort(labels)
		return Cluster{}, fmt.Errorf("no LKE cluster has the label or ID %q; there are: %s", name, strings.Join(labels, ", "))
	case len(found) > 1:
		return Cluster{}, fmt.Errorf("%d LKE clusters have the label %q: name one by its ID", len(found), name)
	}
	cluster := Cluster{ID: found[0].ID, Label: found[0].Label, Region: found[0].Region,
		Tier: string(ptr.Deref(found[0].Tier, api.LKETierStandard))}
	for pool, err := range client.ListPools(ctx, cluster.ID, linode.Filter{}) {
		if err != nil {
			return Cluster{}, fmt.Errorf("reading the node pools of %s: %w", cluster.Label, err)
		}
		cluster.Pools = append(cluster.Pools, pool)
	}
	return cluster, nil
}

// Import is the translation of a cluster.
type Import struct {
	API     string          `json:"-"` // base URL for the commands of the steps
	Cluster Cluster         `json:"cluster"`
	Stays   api.LKENodePool `json:"stays"`
	Classes []Class         `json:"nodeClasses"`
	Pools   []Pool          `json:"pools"`          // cheapest first, which is the order of the hand-over
	Left    []int           `json:"left,omitempty"` // pools that Karpenter manages already
}

// Class is a LinodeNodeClass.
type Class struct {
	Name           string    `json:"name"`
	Tags           []string  `json:"tags,omitempty"`
	FirewallID     int       `json:"firewallID,omitempty"`
	DiskEncryption string    `json:"diskEncryption,omitempty"`
	Isolation      Isolation `json:"isolation,omitzero"`
}

// Isolation tells which public addresses nodes have; nil = not set.
type Isolation struct {
	PublicIPv4 *bool `json:"publicIPv4,omitempty"`
	PublicIPv6 *bool `json:"publicIPv6,omitempty"`
}

func (i Isolation) text() string {
	return fmt.Sprint(ptr.Deref(i.PublicIPv4, true), i.PublicIPv4 == nil, ptr.Deref(i.PublicIPv6, true), i.PublicIPv6 == nil)
}

// same returns whether two classes differ at most in their names.
func (c Class) same(other Class) bool {
	return slices.Equal(c.Tags, other.Tags) && c.FirewallID == other.FirewallID && c.DiskEncryption == other.DiskEncryption &&
		c.Isolation.text() == other.Isolation.text()
}

// Pool is an LKE pool and the NodePool that it becomes.
type Pool struct {
	api.LKENodePool `json:"pool"`

	Name    string            `json:"nodePool"`
	Class   string            `json:"nodeClass"`
	Max     int               `json:"maxNodes"`
	Labels  map[string]string `json:"labels,omitempty"`
	Dropped []string          `json:"droppedLabels,omitempty"` // that a NodePool must not set
	Monthly float64           `json:"monthly"`                 // of all its nodes; 0 = the plan's price is not known
}

// New decides what each pool of a cluster becomes. keep is the ID of the pool that stays. With 0, New chooses the cheapest pool that has
// no taints and that LKE does not scale. If LKE scales every pool without taints, it chooses the cheapest of them.
func New(cluster Cluster, plans []catalog.Plan, keep int) (*Import, error) {
	price := func(pool api.LKENodePool) float64 {
		i := slices.IndexFunc(plans, func(p catalog.Plan) bool { return p.ID == pool.Type })
		if i < 0 {
			return 0
		}
		return plans[i].PriceIn(cluster.Region).Monthly * float64(pool.Count)
	}
	im := &Import{API: "https://api.linode.com", Cluster: cluster}
	var own []api.LKENodePool
	for _, pool := range cluster.Pools {
		if managed(pool) {
			im.Left = append(im.Left, pool.ID)
		} else {
			own = append(own, pool)
		}
	}
	slices.SortFunc(own, func(a, b api.LKENodePool) int {
		return cmp.Or(cmp.Compare(price(a), price(b)), cmp.Compare(a.ID, b.ID))
	})
	i, err := stays(own, keep)
	if err != nil {
		return nil, err
	}
	im.Stays = own[i]
	for _, pool := range slices.Delete(slices.Clone(own), i, i+1) {
		im.add(pool, price(pool))
	}
	if len(im.Pools) == 0 {
		return nil, fmt.Errorf("cluster %s has no pool but %d, which stays for the operator: nothing to take over", cluster.Label, im.Stays.ID)
	}
	return im, nil
}

// Scaled returns the pools that LKE scales today, including the pool that stays.
func (im *Import) Scaled() (pools []api.LKENodePool) {
	if im.Stays.Autoscaler.Enabled {
		pools = append(pools, im.Stays)
	}
	for _, pool := range im.Pools {
		if pool.Autoscaler.Enabled {
			pools = append(pools, pool.LKENodePool)
		}
	}
	return pools
}

// managed returns whether a pool has Karpenter's tags.
func managed(pool api.LKENodePool) bool {
	return slices.ContainsFunc(pool.Tags, func(tag string) bool {
		key, _, _ := strings.Cut(tag, "=")
		return strings.HasPrefix(key, v1alpha1.Group+"/") || key == v1alpha1.TagNodePool
	})
}

// stays returns the index of the pool that stays.
func stays(own []api.LKENodePool, keep int) (int, error) {
	if len(own) == 0 {
		return 0, fmt.Errorf("the cluster has no node pool of its own; the operator needs one")
	}
	if keep != 0 {
		if i := slices.IndexFunc(own, func(p api.LKENodePool) bool { return p.ID == keep }); i >= 0 {
			return i, nil
		}
		return 0, fmt.Errorf("the cluster has no node pool %d of its own", keep)
	}
	for _, suits := range []func(api.LKENodePool) bool{
		func(p api.LKENodePool) bool { return !p.Autoscaler.Enabled && len(p.Taints) == 0 },
		func(p api.LKENodePool) bool { return len(p.Taints) == 0 },
	} {
		if i := slices.IndexFunc(own, suits); i >= 0 {
			return i, nil
		}
	}
	return 0, fmt.Errorf("every pool has taints: name the one that stays, on which the operator can run")
}

func (im *Import) add(pool api.LKENodePool, monthly float64) {
	p := Pool{LKENodePool: pool, Max: pool.Count, Labels: map[string]string{}, Monthly: monthly}
	if pool.Autoscaler.Enabled {
		p.Max = max(pool.Autoscaler.Max, pool.Count)
	}
	for key, value := range pool.Labels {
		if err := karpv1.IsRestrictedLabel(key); err != nil || karpv1.WellKnownLabels.Has(key) {
			p.Dropped = append(p.Dropped, key+"="+value)
			continue
		}
		p.Labels[key] = value
	}
	slices.Sort(p.Dropped)
	p.Name = im.name(pool)
	p.Class = im.class(pool, p.Name)
	im.Pools = append(im.Pools, p)
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// name makes the NodePool's name from the pool's label or plan. If the name is taken, it adds the pool's ID.
func (im *Import) name(pool api.LKENodePool) string {
	text := pool.Type
	if pool.Label != nil && *pool.Label != "" {
		text = *pool.Label
	}
	text = strings.Trim(notInNames.ReplaceAllString(strings.ToLower(text), "-"), "-")
	text = strings.Trim(text[:min(len(text), 40)], "-")
	if text == "" || slices.ContainsFunc(im.Pools, func(p Pool) bool { return p.Name == text }) {
		text = strings.Trim(text+"-"+strconv.Itoa(pool.ID), "-")
	}
	return text
}

// class returns the name of a class with the pool's settings. It makes the class if no class has these settings.
func (im *Import) class(pool api.LKENodePool, name string) string {
	c := Class{Name: "default", Tags: userTags(pool.Tags), DiskEncryption: string(pool.DiskEncryption)}
	if pool.Isolation != nil {
		c.Isolation = Isolation{pool.Isolation.PublicIPv4, pool.Isolation.PublicIPv6}
	}
	if pool.FirewallID.IsSpecified() && !pool.FirewallID.IsNull() {
		c.FirewallID = pool.FirewallID.MustGet()
	}
	if im.Cluster.Tier != string(api.LKETierEnterprise) {
		c.FirewallID = 0 // pools of the Standard tier take none
	}
	if i := slices.IndexFunc(im.Classes, c.same); i >= 0 {
		return im.Classes[i].Name
	}
	if len(im.Classes) > 0 {
		c.Name = name
	}
	im.Classes = append(im.Classes, c)
	return c.Name
}

// userTags returns the tags that a class can have.
func userTags(all []string) (tags []string) {
	for _, tag := range all {
		if n := len([]rune(tag)); n >= v1alpha1.TagMinLength && n <= v1alpha1.TagMaxLength && !v1alpha1.IsRestrictedTag(tag) {
			tags = append(tags, tag)
		}
	}
	slices.Sort(tags)
	return tags
}
