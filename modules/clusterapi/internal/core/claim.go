package core

import (
	"fmt"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi"
)

// serve gives each claimant the Machine that it has, or a free Machine, and counts the missing Machines.
func (d *decider) serve() {
	taken, served := map[string]bool{}, map[claims.Claimant]bool{}
	for _, call := range d.calls {
		if call.ask.Kind != KindClaim {
			continue
		}
		if served[call.ask.Request.Claimant] {
			call.waits("", "an earlier call of the same claimant is being served")
			continue
		}
		served[call.ask.Request.Claimant] = true
		if m := d.held(call.ask.Request.Claimant); m != nil {
			d.hold(call, m)
			continue
		}
		if m := d.unfinished(call.ask.Request.Claimant); m != nil && !d.pools[m.Deployment].usable() {
			call.waits(m.Name, "an earlier claim of this Machine may still take effect, and its MachineDeployment cannot be used any more")
			continue
		} else if m != nil {
			d.take(call, m)
			continue
		}
		if m := d.free(call.ask.Request, taken); m != nil {
			taken[m.UID] = true
			d.take(call, m)
			continue
		}
		d.want(call)
	}
}

// held returns the claimant's Machine. Of several Machines it returns the Machine in the caller's records. A Machine that is
// released or being deleted does not count.
func (d *decider) held(by claims.Claimant) *clusterapi.Machine {
	var found *clusterapi.Machine
	for _, m := range d.machines {
		if d.owner(m) != by || m.Released || m.Deleting {
			continue
		}
		holder, known := d.cfg.Holder(m.ProviderID)
		if found == nil || known && holder == by {
			found = m
		}
	}
	return found
}

// hold answers a claimant that has a Machine.
func (d *decider) hold(call *call, m *clusterapi.Machine) {
	switch {
	case m.Failure != nil:
		d.fail(call, m)
	case m.Claim != call.ask.Request.Claimant:
		call.waits(m.Name, "its claim is written again")
	case m.ProviderID != "":
		d.answer(call, Answer{Machine: *m})
	default:
		call.waits(m.Name, "the Machine of %s has no provider ID yet (%s): %s", m.Deployment, m.Phase, m.Pending)
	}
}

// fail refuses a claimant whose Machine cannot be made, and releases it.
func (d *decider) fail(call *call, m *clusterapi.Machine) {
	err := *m.Failure
	err.Op = call.ask.Kind.String()
	d.answer(call, Answer{Err: &err})
	_ = d.mark(m, "the infrastructure provider cannot make it")
}

// unfinished returns the Machine on which a claim of the claimant may still take effect.
func (d *decider) unfinished(by claims.Claimant) *clusterapi.Machine {
	last, under := d.memory.attempts[by]
	if !under {
		return nil
	}
	return d.find(Ask{UID: last.uid})
}

// free returns the first free Machine that serves a request.
func (d *decider) free(r clusterapi.Request, taken map[string]bool) *clusterapi.Machine {
	for _, name := range r.Deployments {
		for _, m := range d.machines {
			if m.Deployment == name && !taken[m.UID] && d.serves(m) {
				return m
			}
		}
	}
	return nil
}

// serves reports whether a Machine may be handed out. So may a free Machine that failed: its claimant gets the failure.
func (d *decider) serves(m *clusterapi.Machine) bool {
	p := d.pools[m.Deployment]
	failed := *m
	failed.Failure = nil
	return p.usable() && m.Set == p.current && failed.Free() && d.owner(m) == (claims.Claimant{}) && !d.attempted(m)
}

// attempted reports whether a claim of the Machine may still take effect.
func (d *decider) attempted(m *clusterapi.Machine) bool {
	for _, a := range d.memory.attempts {
		if a.uid == m.UID {
			return true
		}
	}
	return false
}

// take claims a Machine.
func (d *decider) take(call *call, m *clusterapi.Machine) {
	if m.Failure != nil {
		d.fail(call, m)
		return
	}
	call.waits(m.Name, "the claim is being written")
	if err := d.claim(m, call.ask.Request.Claimant, "a claimant waits"); err != nil {
		d.refuse(call, err)
	}
}

// want counts a Machine that is on its way for a claimant, or a Machine to buy.
func (d *decider) want(call *call) {
	var (
		refusals []string
		first    *pool
		stuck    bool
	)
	for _, name := range call.ask.Request.Deployments {
		p := d.pools[name]
		switch {
		case p == nil:
			refusals = append(refusals, fmt.Sprintf("MachineDeployment %s does not exist", name))
		case !p.usable():
			refusals = append(refusals, fmt.Sprintf("MachineDeployment %s: %s", name, p.Refusal))
		case p.stuck:
			stuck = true
		case p.incoming > p.wanted:
			p.wanted++
			call.waits(p.Name, "a Machine is being made")
			return
		case first == nil:
			first = p
		}
	}
	const op = "claim"
	switch {
	case first != nil:
		first.missing++
		call.waits(first.Name, "replicas is being raised")
	case stuck:
		d.answer(call, Answer{Err: claims.Errorf(claims.KindInsufficientCapacity, op, strings.Join(call.ask.Request.Deployments, ", "),
			"Cluster API has made no Machine for %s although replicas was raised", d.cfg.StuckTimeout)})
	default:
		d.answer(call, Answer{Err: claims.Errorf(claims.KindConflict, op, "", "no MachineDeployment can be used: %s",
			strings.Join(refusals, "; "))})
	}
}

// buy raises the counts by the number of missing Machines, within the ceilings. A count is not raised while a MachineSet has
// not acted on a lower count yet, because that would keep the Machine that is to be deleted.
func (d *decider) buy() {
	for _, call := range d.calls {
		if call.ask.Kind != KindClaim {
			continue
		}
		for _, name := range call.ask.Request.Deployments {
			p := d.pools[name]
			if p.usable() && p.missing > 0 && p.Removal.Set == "" && p.Replicas >= p.active+p.marked {
				d.raise(call, p)
			}
		}
	}
}

// raise buys the missing Machines of a pool. The request of call has the instance type.
func (d *decider) raise(call *call, p *pool) {
	const op = "claim"
	instanceType := call.ask.Request.InstanceType
	count, err := d.cfg.Ceilings.Fit(op, instanceType, p.missing, d.owned())
	if err == nil {
		err = d.write(clusterapi.Write{Op: clusterapi.OpScale, Object: p.Name, UID: p.UID, ResourceVersion: p.ResourceVersion,
			Replicas: p.Replicas + count, Bought: count, InstanceType: instanceType, Reason: "claimants wait"})
	}
	if err == nil {
		p.missing, p.incoming, p.wanted = 0, p.incoming+count, p.wanted+count
		return
	}
	for _, other := range d.calls {
		if other.ask.Kind == KindClaim && waitsFor(other, p.Name) && claims.KindOf(err) == claims.KindQuotaExceeded {
			d.answer(other, Answer{Err: err})
		} else if other.ask.Kind == KindClaim && waitsFor(other, p.Name) {
			d.refuse(other, err)
		}
	}
}

// waitsFor reports whether a call waits for an object.
func waitsFor(c *call, object string) bool {
	e, is := c.why.(*claims.Error) //nolint:errorlint // the call's own
	return is && e.Object == object
}

// owned counts the Machines that exist or were bought, by type.
func (d *decider) owned() map[string]int {
	owned := map[string]int{}
	for _, p := range d.pools {
		if p.usable() {
			owned[d.cfg.InstanceType(p.Name)] += max(p.incoming+p.active+p.marked, p.Replicas)
		}
	}
	return owned
}
