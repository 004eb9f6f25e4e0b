package allocator_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// mostCalls is how many requests one life may send, far above what any needs.
const mostCalls = 50_000

// verify checks the invariants when all is at rest.
func (s *life) verify() {
	s.checkHands()
	s.checkRemovals()
	s.checkPurchases()
	s.checkRest()
	total, _, _ := s.calls()
	if total > mostCalls {
		s.errorf("livelock: %d calls", total)
	}
	time.Sleep(time.Hour)
	if after, _, _ := s.calls(); after != total {
		s.errorf("I7: %d calls while no caller waits", after-total)
	}
}

// allClaimants are the claimants that are and that were, by claim value.
func (s *life) allClaimants() map[string]*claimant {
	all := map[string]*claimant{}
	for _, c := range s.past {
		all[(claims.Tags{}).Value(c.who.Name)] = c
	}
	for _, c := range s.claims {
		all[(claims.Tags{}).Value(c.who.Name)] = c
	}
	return all
}

// histories returns the audited changes of instances, a line each.
func (s *life) histories(instances ...int) string {
	var lines strings.Builder
	for _, e := range s.sim.Audit() {
		if slices.Contains(instances, e.InstanceID) {
			fmt.Fprintf(&lines, "  %s %s %d by %s: %q -> %q\n", moment(e.At), e.Action, e.InstanceID, e.Actor.User, e.Before, e.After)
		}
	}
	return lines.String()
}

// checkHands is I1, I2 and I4 over all tags that were written. A claimant that
// recorded no answer may get a second node while lists lag by minutes; it is
// collected. A tag on an instance that is being deleted, as by a person while the
// write was under way, gives its claimant nothing.
func (s *life) checkHands() {
	all := s.allClaimants()
	owner, holds, ends := map[int]string{}, map[string]int{}, map[int]bool{}
	for _, e := range s.sim.Audit() {
		ours := e.Actor.User == engine
		switch e.Action {
		case linodesim.InstanceTagged:
			if !ours {
				continue
			}
			before, after := owner[e.InstanceID], claimIn(strings.Split(e.After, ","))
			if old := all[before]; before != "" && after != before && old != nil && (old.left.IsZero() || e.At.Before(old.left)) {
				s.errorf("I1: at %s, instance %d was %s's and became %q's", moment(e.At), e.InstanceID, before, after)
			}
			if held := holds[after]; after != "" && held != 0 && held != e.InstanceID && !s.lagging {
				s.errorf("I2: at %s, %s had %d and got %d\n%s", moment(e.At), after, held, e.InstanceID, s.histories(held, e.InstanceID))
			}
			if after != "" {
				owner[e.InstanceID] = after
			}
			if after != "" && !ends[e.InstanceID] {
				holds[after] = e.InstanceID
			}
		case linodesim.InstanceDeleting, linodesim.InstanceGone, linodesim.NodeRemoved:
			ends[e.InstanceID] = true
			if claim := owner[e.InstanceID]; holds[claim] == e.InstanceID {
				delete(holds, claim)
			}
		}
		if ours && (e.ClusterID == s.other.ID || e.PoolID == s.cluster.Pools[0].ID) {
			s.errorf("I4: what is not the engine's was modified: %+v", e)
		}
	}
}

// checkRemovals is I6: the engine removes no instance whose claimant has it on
// record and neither gives it back nor is gone.
func (s *life) checkRemovals() {
	holder := map[int]*claimant{}
	for _, c := range s.allClaimants() {
		if c.instance != 0 {
			holder[c.instance] = c
		}
	}
	for _, e := range s.sim.Audit() {
		if e.Action != linodesim.NodeRemoved || e.Actor.User != engine {
			continue
		}
		c := holder[e.InstanceID]
		if c == nil || e.At.Before(c.got) || !c.left.IsZero() && !e.At.Before(c.left) {
			continue
		}
		if edited := s.events.counted[e.PoolID]; !edited.IsZero() && e.At.Sub(edited) >= 0 && e.At.Sub(edited) < 2*time.Minute {
			continue // a count set while a person raised it: LKE chose who goes
		}
		s.errorf("I6: at %s, node %s with instance %d was taken from %s", moment(e.At), e.NodeID, e.InstanceID, c.who.Name)
	}
}

// checkPurchases is I5. In a calm life as many nodes are bought as there are
// claimants, and one more for each instance that was put aside because writes
// to it failed. In others a claimant may cause one surplus node, and each node
// that the platform or a person took away one more.
func (s *life) checkPurchases() {
	bought, claimants, aside, lost := s.requested(), len(s.allClaimants()), 0, 0
	for _, times := range s.events.failed {
		if times >= 3 {
			aside++
		}
	}
	for _, e := range s.sim.Audit() {
		gone := e.Action == linodesim.NodeRemoved || e.Action == linodesim.InstanceGone
		if _, ours := s.keyOf[e.PoolID]; ours && e.Actor.User != engine && gone {
			lost++
		}
	}
	most := claimants + aside
	if !s.calm {
		most = 2*claimants + aside + lost
	}
	if s.calm && bought < claimants || bought > most {
		s.errorf("I5: %d nodes were bought for %d claimants; %d instances were put aside, %d lost", bought, claimants, aside, lost)
	}
}

// checkRest is I3.
func (s *life) checkRest() {
	held := map[string][]linodesim.Instance{}
	for _, instance := range s.instances() {
		held[claimIn(instance.Tags)] = append(held[claimIn(instance.Tags)], instance)
	}
	for _, instance := range held[""] {
		s.errorf("I3: instance %d of pool %d is left without a claimant", instance.ID, instance.PoolID)
	}
	delete(held, "")
	for name, c := range s.claims {
		if mine := held[(claims.Tags{}).Value(name)]; len(mine) != 1 || mine[0].ID != c.instance {
			s.errorf("I3: %s has %d on record, and has %d instances", name, c.instance, len(mine))
		}
		delete(held, (claims.Tags{}).Value(name))
	}
	for claim, instances := range held {
		s.errorf("I3: %d instances are left of claimant %s, which is gone", len(instances), claim)
	}
	if s.count() != len(s.claims) {
		s.errorf("I3: the pools have a count of %d for %d claimants", s.count(), len(s.claims))
		for _, pool := range s.ours() {
			s.t.Logf("pool %d has a count of %d and %+v", pool.ID, pool.Count, pool.Nodes)
		}
	}
	for _, pool := range s.ours() {
		if pool.Count == 0 {
			s.errorf("I3: pool %d is left empty", pool.ID)
		}
	}
}
