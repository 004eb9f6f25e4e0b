package world

import (
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
)

// Lies hold how late the lies of an account take effect; linodesim's constants explain them.
type Lies struct{ ID, Tags, Count, Return time.Duration }

// Lie makes the account break an assumption from now on.
func (w Faults) Lie(about report.Assumption, delays Lies) {
	if w.faults.lies == nil {
		w.faults.lies = map[report.Assumption]bool{}
	}
	w.faults.lies[about], w.faults.lieDelays = true, delays
}

// Lies reports whether the account breaks an assumption.
func (w Faults) Lies(about report.Assumption) bool { return w.faults.lies[about] }

// platform is this moment with LKE as the caller.
func (w *Moment) platform() *Moment {
	return &Moment{state: w.state, Caller: Caller{Actor: account.LKE}}
}

// loseTags takes away the tags that a client has just written to a pool.
func (w Pools) loseTags(p *pool) {
	if !w.faults.lies[report.LostTags] || len(p.Tags) == 0 {
		return
	}
	w.in(w.faults.lieDelays.Tags, func() {
		if w.pools[p.ID] != p {
			return
		}
		was := describe(p.Pool)
		had := p.Tags
		p.Tags = []string{}
		at := w.platform().Pools()
		at.cascadeTags(p, had)
		w.record(account.LKE, account.Entry{
			Action: account.PoolEdited, ClusterID: p.ClusterID, PoolID: p.ID, Before: was, After: describe(p.Pool),
		})
	})
}

// loseTags takes away the tags that a client has just added to a Linode.
func (w Linodes) loseTags(i *Instance, had []string) {
	if !w.faults.lies[report.LostTags] {
		return
	}
	w.in(w.faults.lieDelays.Tags, func() {
		if w.instances[i.ID] == i {
			w.retag(account.LKE, i, slices.DeleteFunc(slices.Clone(i.Tags), func(t string) bool { return !slices.Contains(had, t) }))
		}
	})
}

// lower takes back one node of a count that a client has just raised.
func (w Pools) lower(p *pool) {
	if !w.faults.lies[report.LoweredCounts] || p.Count < 2 {
		return
	}
	w.in(w.faults.lieDelays.Count, func() {
		if w.pools[p.ID] == p && p.Count > 1 {
			w.platform().Pools().scale(p, p.Count-1)
		}
	})
}

// bringBack makes a node in place of a node that a client has just deleted.
func (w Nodes) bringBack(p *pool) {
	if !w.faults.lies[report.ReturningNodes] {
		return
	}
	w.in(w.faults.lieDelays.Return, func() {
		if w.pools[p.ID] == p {
			w.platform().Pools().scale(p, p.Count+1)
		}
	})
}
