package linodesim

import (
	"sync/atomic"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/world"
)

// Faults makes the platform or single requests fail: it has rules for requests, and faults of the platform itself. A Sim
// has the methods of Faults.
type Faults struct {
	world       *world.World
	clock       Clock
	rules       *ruleSet
	floors      map[RuleID]floor // guarded by the world's lock
	maintenance atomic.Bool
}

// floor is the world as it was when a rule with Stale was added: reads under the rule show no older state.
type floor struct {
	at    time.Time
	world *world.World
}

// past returns the earlier world that a stale request reads, and nil for a request that reads the present.
func (f *Faults) past(live *world.Moment, d decision) *world.World {
	if d.Rule.Stale <= 0 {
		return nil
	}
	then := f.clock.Now().Add(-d.Rule.Stale)
	if first, ok := f.floors[d.ID]; ok && then.Before(first.at) {
		return first.world
	}
	return live.History().At(then)
}

// Fail puts a fault rule in force, after the rules of earlier calls. It does not call Rule.Check.
func (f *Faults) Fail(rule Rule) RuleID {
	return at(f.world, owner, func(w *world.Moment) RuleID {
		id := f.rules.Add(rule)
		if rule.Stale > 0 {
			w.History().Remember(f.rules.Stale())
			f.floors[id] = floor{at: f.clock.Now(), world: w.History().Freeze()}
		}
		return id
	})
}

// Heal ends one rule. An unknown ID is no error. Late writes that it has begun are still carried out.
func (f *Faults) Heal(id RuleID) {
	do(f.world, func(w *world.Moment) {
		f.rules.Remove(id)
		delete(f.floors, id)
		w.History().Remember(f.rules.Stale())
	})
}

// HealAll ends all faults: the rules, including the profile's, and the faults of the
// platform, which are capacity, capabilities, limits of the account, maintenance, Linodes that do not boot or do not come.
func (f *Faults) HealAll() {
	f.SetMaintenance(false)
	do(f.world, func(w *world.Moment) {
		f.rules.Clear()
		clear(f.floors)
		w.History().Remember(0)
		w.Faults().Clear()
	})
}

// Active describes the faults in force in one line each; a healthy platform has none. The rules of the profile come last.
func (f *Faults) Active() []string {
	var all []string
	if f.maintenance.Load() {
		all = append(all, "maintenance: every request is answered 503")
	}
	all = append(all, at(f.world, owner, func(w *world.Moment) []string { return w.Faults().Describe() })...)
	added, profile := f.rules.inForce()
	for _, r := range added {
		all = append(all, r.String())
	}
	for _, r := range profile {
		all = append(all, "profile: "+r.String())
	}
	return all
}

// Hits returns how many requests a rule in force has hit.
func (f *Faults) Hits(id RuleID) int { return f.rules.Hits(id) }

// SetMaintenance makes every request answer 503 with X-Maintenance-Mode.
func (f *Faults) SetMaintenance(on bool) { f.maintenance.Store(on) }

// RefuseCapacity takes away the capacity for a plan, in a region or everywhere.
func (f *Faults) RefuseCapacity(c NoCapacity) {
	do(f.world, func(w *world.Moment) { w.Faults().RefuseCapacity(c) })
}

// RestoreCapacity ends all refusals of RefuseCapacity.
func (f *Faults) RestoreCapacity() {
	do(f.world, func(w *world.Moment) { w.Faults().RestoreCapacity() })
}

// WithdrawCapability makes a region lack a capability such as Metadata.
func (f *Faults) WithdrawCapability(c NoCapability) {
	do(f.world, func(w *world.Moment) { w.Faults().WithdrawCapability(c) })
}

// RestoreCapabilities ends all effects of WithdrawCapability.
func (f *Faults) RestoreCapabilities() {
	do(f.world, func(w *world.Moment) { w.Faults().RestoreCapabilities() })
}

// SetAccountLimit bounds the Linodes of the account; 0 = no bound. A request beyond the bound is refused. An Enterprise
// cluster accepts pools beyond it (unless Behaviour.RefuseBeyondLimits is set), and their nodes get no Linode until there
// is room.
func (f *Faults) SetAccountLimit(n int) {
	do(f.world, func(w *world.Moment) { w.Faults().SetAccountLimit(n) })
}

// SetVCPULimit bounds the vCPUs of the account's Linodes in the same way; 0 = no bound.
func (f *Faults) SetVCPULimit(n int) {
	do(f.world, func(w *world.Moment) { w.Faults().SetVCPULimit(n) })
}

// SetVPCLimit bounds the VPCs of the account; 0 = no bound. POST /vpcs beyond the bound is refused. A new Enterprise
// cluster that names no VPC is accepted (unless Behaviour.RefuseBeyondLimits is set). Until there is room, it has no
// control plane, no VPC and no Linodes.
func (f *Faults) SetVPCLimit(n int) {
	do(f.world, func(w *world.Moment) { w.Faults().SetVPCLimit(n) })
}

// OfferEnterpriseVersions chooses the versions of LKE Enterprise that the account is offered, newest first. Versions
// are exact builds and differ by account and by day. Without a version the account is offered the catalogue's versions.
func (f *Faults) OfferEnterpriseVersions(versions ...string) {
	do(f.world, func(w *world.Moment) { w.Faults().OfferEnterpriseVersions(versions...) })
}

// NeverBoot makes the next n Linodes of a pool (0 = any) stay offline for ever.
func (f *Faults) NeverBoot(poolID, n int) {
	do(f.world, func(w *world.Moment) { w.Faults().NeverBoot(poolID, n) })
}

// StallNodes makes the next n nodes of a pool (0 = any) never get a Linode.
func (f *Faults) StallNodes(poolID, n int) {
	do(f.world, func(w *world.Moment) { w.Faults().StallNodes(poolID, n) })
}
