package allocator_test

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// mostCalls is how many requests one life may send, far above what any needs.
const mostCalls = 50_000

// readBefore is how long before a count is sent the pool may have changed unseen: reads may be
// settle old, and are right before.
const readBefore = 4 * settle

// verify checks the invariants when all is at rest.
func (s *life) verify() {
	s.checkHands()
	s.checkRemovals(s.checkCounts())
	s.checkPurchases()
	s.countLanded()
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

// claimsOf returns the audited changes of all instances that ever carried the claimant's claim.
func (s *life) claimsOf(c *claimant) string {
	var instances []int
	for _, e := range s.sim.Audit() {
		if e.Action == linodesim.InstanceTagged && claimIn(strings.Split(e.After, ",")) == (claims.Tags{}).Value(c.who.Name) {
			instances = append(instances, e.InstanceID)
		}
	}
	return s.histories(instances...)
}

// checkHands is I1, I2 and I4 over all tags that were written. A claimant that
// recorded no answer may get a second node while lists lag by minutes; it is
// collected. So is an instance whose claim landed after it was given up. A tag on
// an instance that is being deleted, as by a person while the write was under way,
// gives its claimant nothing, and so does a claim that lands after its sender died.
func (s *life) checkHands() {
	all := s.allClaimants()
	owner, holds, ends, givenUp := map[int]string{}, map[string]int{}, map[int]bool{}, map[int]bool{}
	for _, e := range s.sim.Audit() {
		ours := e.Actor.User == engine
		switch e.Action {
		case linodesim.InstanceTagged:
			if !ours {
				continue
			}
			if s.outranked(e) {
				continue
			}
			before, after := owner[e.InstanceID], claimIn(strings.Split(e.After, ","))
			if after == claimIn(strings.Split(e.Before, ",")) {
				owner[e.InstanceID], before = after, after // a claim of a sender that had died landed before, and this write keeps it
			}
			givenUp[e.InstanceID] = givenUp[e.InstanceID] || after != before && s.afterGivingUp(e)
			if old := all[before]; before != "" && after != before && old != nil && (old.left.IsZero() || e.At.Before(old.left)) {
				s.errorf("I1: at %s, instance %d was %s's and became %q's", moment(e.At), e.InstanceID, before, after)
			}
			if held := holds[after]; after != "" && held != 0 && held != e.InstanceID && !s.lagging &&
				!givenUp[held] && !givenUp[e.InstanceID] {
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

// checkCounts is I9 when a count lands: none is lower than the one before, unless a person
// raised it since the reading that it rests on. What a removal of a node by its name takes off
// is not meant. It returns the writes that lowered one, by the IDs of their requests.
func (s *life) checkCounts() (lowering map[string]*sentWrite) {
	named := map[string]bool{}
	for _, w := range s.writes {
		if w.method == http.MethodDelete {
			named[path.Base(w.path)] = true
		}
	}
	byName := map[string]bool{}
	lowering = map[string]*sentWrite{}
	for _, e := range s.sim.Audit() {
		if e.Action == linodesim.NodeRemoved && e.Actor.User == engine && named[e.NodeID] {
			byName[e.Actor.RequestID] = true
		}
	}
	for _, e := range s.sim.Audit() {
		if e.Action != linodesim.PoolCount || e.Actor.User != engine {
			continue
		}
		from, late := s.landing(e)
		before, _ := strconv.Atoi(e.Before) // the simulator's own
		after, _ := strconv.Atoi(e.After)
		if after >= before || byName[e.Actor.RequestID] {
			continue
		}
		lowering[e.Actor.RequestID] = from
		if !s.editedSince(e.PoolID, from, e.At) {
			s.errorf("I9: at %s, the count of pool %d goes from %d to %d, landed late: %t\n%s", moment(e.At), e.PoolID, before, after, late,
				s.counts(e.PoolID))
		}
	}
	return lowering
}

// editedSince reports whether a person changed a pool's count after what a write rests on was
// read, readBefore it was sent at the earliest, and before it landed.
func (s *life) editedSince(poolID int, from *sentWrite, landed time.Time) bool {
	read := landed.Add(-readBefore)
	if from != nil {
		read = from.sent.Add(-readBefore)
	}
	return slices.ContainsFunc(s.sim.Audit(), func(e linodesim.Entry) bool {
		byHand := e.Action == linodesim.PoolCount && e.PoolID == poolID && e.Actor.User != engine && e.Actor != linodesim.LKE
		return byHand && e.At.After(read) && !e.At.After(landed)
	})
}

// checkRemovals is I6: the engine removes no instance whose claimant has it on
// record and neither gives it back nor is gone. In a calm life no instance of a claimant vanishes.
func (s *life) checkRemovals(lowering map[string]*sentWrite) {
	holder, doubled := map[int]*claimant{}, map[*claimant]bool{}
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
		if from, counted := lowering[e.Actor.RequestID]; counted && s.editedSince(e.PoolID, from, e.At) {
			continue // a count set while a person raised it: LKE chose who goes
		}
		if s.doubled(c, e) {
			doubled[c] = true
			continue
		}
		s.errorf("I6: at %s, node %s with instance %d was taken from %s\n%s", moment(e.At), e.NodeID, e.InstanceID, c.who.Name,
			s.claimsOf(c))
	}
	for _, c := range s.allClaimants() {
		if c.vanished && !doubled[c] {
			s.errorf("the instance %d of %s vanished", c.instance, c.who.Name)
		}
	}
}

// checkPurchases is I5. In a calm life as many nodes are bought for each key as it
// has claimants, and one more for each instance that was put aside because writes
// to it failed, for each node of a purchase that landed after its answer, because
// it may have been made again before, and for each claim that landed after its
// instance was given up, because its claimant may have another one. In others a
// claimant may cause one surplus node, and each node that the platform or a person
// took away one more.
func (s *life) checkPurchases() {
	keys, aside, bought, late := s.keysOfPools(), map[string]int{}, map[string]int{}, s.lateNodes()
	lost, tried := 0, map[int]bool{}
	for _, e := range s.sim.Audit() {
		key, ours := keys[e.PoolID]
		gone := e.Action == linodesim.NodeRemoved || e.Action == linodesim.InstanceGone
		switch {
		case !ours:
		case e.Actor.User != engine && gone:
			lost++
		case e.Actor.User != engine:
		case e.Action == linodesim.NodeRequested:
			bought[key]++
		case e.Action == linodesim.InstanceTagged && s.afterGivingUp(e):
			late[key]++
		}
		if ours && s.events.failed[e.InstanceID] >= 3 && !tried[e.InstanceID] {
			tried[e.InstanceID] = true
			aside[key]++
		}
	}
	claimants := map[string]int{}
	for _, c := range s.allClaimants() {
		claimants[c.key.Hash()]++
	}
	total := func(of map[string]int) (n int) {
		for _, some := range of {
			n += some
		}
		return n
	}
	most := 2*total(claimants) + total(aside) + total(late) + lost
	if total(bought) > most {
		s.errorf("I5: %d nodes were bought for %d claimants; %d instances were put aside, %d lost, %d bought late",
			total(bought), total(claimants), total(aside), lost, total(late))
	}
	if !s.calm {
		return
	}
	for _, k := range s.keys {
		key := k.Hash()
		if n := bought[key]; n < claimants[key] || n > claimants[key]+aside[key]+late[key] {
			s.errorf("I5: %d nodes were bought for %d claimants of %s; %d instances were put aside, %d bought late",
				n, claimants[key], k.NodePool, aside[key], late[key])
		}
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
