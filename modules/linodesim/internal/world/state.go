package world

import (
	"maps"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"
)

// Instance is a Linode, with properties that the API does not show.
type Instance struct {
	account.Instance

	busyUntil time.Time           // jobs are refused until then
	given     string              // label of a worker in a pool with a label; "" = the node's name
	userData  string              // base64, as it was sent; the API shows only that there is some
	keys      map[string][]string // for SSH, by user
}

func cloneCluster(c account.Cluster) account.Cluster {
	c.Tags = slices.Clone(c.Tags)
	return c
}

func clonePool(p account.Pool) account.Pool {
	p.Disks = slices.Clone(p.Disks)
	p.Labels = maps.Clone(p.Labels)
	p.Taints = slices.Clone(p.Taints)
	p.Tags = slices.Clone(p.Tags)
	if p.FirewallID != nil {
		id := *p.FirewallID
		p.FirewallID = &id
	}
	return p
}

func (i *Instance) clone() Instance {
	out := *i
	out.Tags = slices.Clone(i.Tags)
	return out
}

func (i *Instance) state() account.Instance { return i.clone().Instance }
