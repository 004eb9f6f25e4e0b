package core

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi"
)

// remove takes the next step in each deployment that has marked Machines. All steps follow from the
// reading alone, so that a process continues where another one ended.
func (d *decider) remove() {
	for _, name := range slices.Sorted(maps.Keys(d.pools)) {
		p := d.pools[name]
		switch {
		case !p.usable():
		case p.Removal.Set != "":
			d.finish(p)
		case p.marked > 0 && p.settled() && (p.wanted == 0 || p.stuck):
			d.lower(p)
		}
	}
}

// settled reports whether the controllers have acted on all counts: no Machine is made any more because of an earlier count.
// The Machines were read after the counts.
func (p *pool) settled() bool {
	total := 0
	for _, s := range p.Sets {
		if !s.Observed {
			return false
		}
		total += s.Replicas
	}
	return p.Observed && total == p.Replicas
}

// lower lowers replicas by the number of marked Machines. If Cluster API would shrink another set, lower shrinks the right set directly.
func (d *decider) lower(p *pool) {
	if m := p.markedByOthers(d); m != nil {
		d.blocked(p, m)
		return
	}
	if d.fresh(p) {
		return
	}
	for count := min(p.marked, p.Replicas-p.active); count > 0; count-- {
		if p.safe(p.after(p.Replicas - count)) {
			d.step(p, clusterapi.Write{Op: clusterapi.OpScale, Object: p.Name, UID: p.UID, ResourceVersion: p.ResourceVersion,
				Replicas: p.Replicas - count, Reason: "Machines are marked for deletion"})
			return
		}
	}
	for _, s := range p.Sets {
		count := min(p.markedIn(s.Name), s.Replicas-p.activeIn(s.Name), p.Replicas-p.active)
		if count > 0 {
			d.step(p, clusterapi.Write{Op: clusterapi.OpPause, Object: p.Name, UID: p.UID, ResourceVersion: p.ResourceVersion,
				Replicas: p.Replicas - count, Value: clusterapi.RemovalValue(clusterapi.Removal{Set: s.Name, Replicas: s.Replicas - count}),
				Reason: fmt.Sprintf("Machines of MachineSet %s are marked, and another MachineSet would shrink", s.Name)})
			return
		}
	}
}

// fresh reports whether a mark is so young that a controller may not see it when it sees the lower count.
func (d *decider) fresh(p *pool) bool {
	return slices.ContainsFunc(p.machines, func(m *clusterapi.Machine) bool {
		return m.Released && !m.Deleting && d.now.Sub(d.memory.seen[m.UID].released) < d.cfg.CacheLag
	})
}

// finish takes the next step of a removal in a paused deployment. Example: two of six Machines of a set are marked, and the set is to have
// four. A person deletes one of the two, and the set replaces it. Five Machines stay, so the removal is written again with five.
func (d *decider) finish(p *pool) {
	i := slices.IndexFunc(p.Sets, func(s clusterapi.Set) bool { return s.Name == p.Removal.Set })
	if i < 0 || p.Sets[i].Replicas <= p.Removal.Replicas {
		d.step(p, clusterapi.Write{Op: clusterapi.OpResume, Object: p.Name, UID: p.UID, ResourceVersion: p.ResourceVersion,
			Reason: "the MachineSet was shrunk"})
		return
	}
	s, stay := p.Sets[i], p.activeIn(p.Removal.Set)
	switch {
	case !p.Paused || !s.Observed || d.fresh(p):
	case p.Removal.Replicas < stay:
		d.step(p, clusterapi.Write{Op: clusterapi.OpPause, Object: p.Name, UID: p.UID, ResourceVersion: p.ResourceVersion,
			Replicas: p.Replicas + stay - p.Removal.Replicas, Value: clusterapi.RemovalValue(clusterapi.Removal{Set: s.Name, Replicas: stay}),
			Reason: fmt.Sprintf("MachineSet %s has replaced a marked Machine, so %d of its Machines stay", s.Name, stay)})
	default:
		d.step(p, clusterapi.Write{Op: clusterapi.OpShrink, Object: s.Name, ResourceVersion: s.ResourceVersion,
			Replicas: p.Removal.Replicas, Reason: "its Machines are marked for deletion"})
	}
}

// step writes, and passes a refusal to the calls that release Machines of the pool.
func (d *decider) step(p *pool, w clusterapi.Write) {
	if err := d.write(w); err != nil {
		for _, call := range d.releasing(p) {
			d.refuse(call, err)
		}
	}
}

// blocked refuses releases while lowering the count could delete a claimed Machine.
func (d *decider) blocked(p *pool, m *clusterapi.Machine) {
	for _, call := range d.releasing(p) {
		d.answer(call, Answer{Err: claims.Errorf(claims.KindConflict, "release", m.Name,
			"another client has put the annotation %s on this Machine, which is claimed; MachineDeployment %s cannot be shrunk until it is removed",
			clusterapi.DeleteMachineAnnotation, p.Name)})
	}
}

// releasing returns the calls that release Machines of a pool.
func (d *decider) releasing(p *pool) []*call {
	var found []*call
	for _, call := range d.calls {
		if call.ask.Kind != KindRelease {
			continue
		}
		if m := d.find(call.ask); m != nil && m.Deployment == p.Name {
			found = append(found, call)
		}
	}
	return found
}

// markedByOthers returns a claimed Machine that another client marked.
func (p *pool) markedByOthers(d *decider) *clusterapi.Machine {
	for _, m := range p.machines {
		if m.Marked && !m.Deleting && d.owner(m) != (claims.Claimant{}) {
			return m
		}
	}
	return nil
}

// after returns the counts of the sets that Cluster API sets for a lower count of the deployment: the current set
// gets at most that many, and then the oldest of the other sets shrink.
func (p *pool) after(replicas int) map[string]int {
	counts, total := map[string]int{}, 0
	for _, s := range p.Sets {
		counts[s.Name] = s.Replicas
		if s.Current {
			counts[s.Name] = min(s.Replicas, replicas)
		}
		total += counts[s.Name]
	}
	sets := slices.SortedFunc(slices.Values(p.Sets), func(a, b clusterapi.Set) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
	})
	for _, s := range sets {
		if !s.Current {
			down := min(counts[s.Name], max(0, total-replicas))
			counts[s.Name] -= down
			total -= down
		}
	}
	return counts
}

// safe reports whether sets with these counts delete only marked Machines.
func (p *pool) safe(counts map[string]int) bool {
	for _, s := range p.Sets {
		down := s.Replicas - counts[s.Name]
		if down > 0 && (down > p.markedIn(s.Name) || counts[s.Name] < p.activeIn(s.Name)) {
			return false
		}
	}
	return true
}

func (p *pool) markedIn(set string) int {
	return p.count(func(m *clusterapi.Machine) bool { return m.Set == set && m.Released && !m.Deleting })
}

func (p *pool) activeIn(set string) int {
	return p.count(func(m *clusterapi.Machine) bool { return m.Set == set && !m.Released && !m.Deleting })
}

func (p *pool) count(which func(*clusterapi.Machine) bool) int {
	n := 0
	for _, m := range p.machines {
		if which(m) {
			n++
		}
	}
	return n
}
