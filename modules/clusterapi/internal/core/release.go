package core

import (
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi"
)

// release marks the Machines that calls release, and answers calls whose Machine is being deleted.
func (d *decider) release() {
	for _, call := range d.calls {
		if call.ask.Kind == KindRelease {
			d.releaseOne(call)
		}
	}
}

func (d *decider) releaseOne(call *call) {
	const op = "release"
	m := d.find(call.ask)
	if m == nil {
		d.answer(call, Answer{Err: claims.Errorf(claims.KindNotFound, op, call.ask.ProviderID+call.ask.UID,
			"no Machine of the cluster has this provider ID or UID")})
		return
	}
	p := d.pools[m.Deployment]
	switch owner := d.owner(m); {
	case !same(owner, call.ask.By):
		d.answer(call, Answer{Err: claims.Errorf(claims.KindConflict, op, m.Name, "its claimant is %q, not %q",
			clusterapi.ClaimValue(owner), clusterapi.ClaimValue(call.ask.By))})
	case m.Deleting:
		d.answer(call, Answer{Machine: *m})
	case p == nil:
		d.answer(call, Answer{Err: claims.Errorf(claims.KindConflict, op, m.Name,
			"its MachineDeployment %q does not exist or lacks the label %s: \"true\"; add it, or delete the Machine", m.Deployment,
			clusterapi.EnabledLabel)})
	case !p.usable():
		d.answer(call, Answer{Err: claims.Errorf(claims.KindConflict, op, m.Name, "MachineDeployment %s: %s", p.Name, p.Refusal)})
	default:
		call.waits(m.Name, "it is marked for deletion; replicas of MachineDeployment %s is lowered next", p.Name)
		if err := d.mark(m, "its claimant released it"); err != nil {
			d.refuse(call, err)
		}
	}
}

// same compares claimants; UIDs count only where both have one.
func same(a, b claims.Claimant) bool {
	return a.Name == b.Name && (a.UID == b.UID || a.UID == "" || b.UID == "")
}

func (d *decider) find(a Ask) *clusterapi.Machine {
	for _, m := range d.machines {
		if a.UID != "" && m.UID == a.UID || a.UID == "" && m.ProviderID == a.ProviderID && m.ProviderID != "" {
			return m
		}
	}
	return nil
}

// mark marks a Machine for deletion, once.
func (d *decider) mark(m *clusterapi.Machine, reason string) error {
	if m.Released || !d.pools[m.Deployment].usable() {
		return nil
	}
	return d.write(clusterapi.Write{Op: clusterapi.OpRelease, Object: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion,
		Value: clusterapi.ReleasedValue, Reason: reason})
}

// Orphans returns the Machines of a reading that no claimant needs: Machines that have been free, or whose claimant has not
// existed, for Config.OrphanTTL. The Claim of each Machine is the last claim that was seen.
func (c *Core) Orphans(w clusterapi.World, alive []claims.Claimant, now time.Time) []clusterapi.Machine {
	living := map[claims.Claimant]bool{}
	for _, claimant := range alive {
		living[claimant] = true
	}
	var found []clusterapi.Machine
	for _, m := range w.Machines {
		is, known := c.memory.seen[m.UID]
		enabled := slices.ContainsFunc(w.Deployments, func(d clusterapi.Deployment) bool { return d.Name == m.Deployment && d.Refusal == "" })
		if known && enabled && !m.Deleting && !living[is.claim] && now.Sub(is.since) >= c.cfg.OrphanTTL {
			m.Claim = is.claim
			found = append(found, m)
		}
	}
	return found
}
