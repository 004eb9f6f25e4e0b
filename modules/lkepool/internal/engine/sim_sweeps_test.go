package engine

import (
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

const simSweepEvery = 2 * time.Minute

// sweeps runs what a controller does regularly: it lists the claimed nodes,
// looks after those of its claimants that are missing, and collects orphans.
func (s *sim) sweeps() {
	s.After(simSweepEvery, func() {
		s.sweeps()
		s.sweep()
	})
}

func (s *sim) sweep() {
	process := s.process.life
	asked := s.Now
	s.ask("list", Ask{Kind: AskList}, time.Minute, func(a Answer) {
		if a.Err == nil {
			s.checkList(a.Nodes, process, asked)
			for _, c := range s.claimants {
				if c.alive && c.instance != 0 && !slices.ContainsFunc(a.Nodes, func(n lkepool.Node) bool { return n.InstanceID == c.instance }) {
					s.verify(c)
				}
			}
		}
		if process == s.process.life && s.process.core != nil {
			s.orphans()
		}
	})
}

func (s *sim) orphans() {
	alive := s.alive()
	s.ask("orphans", Ask{Kind: AskOrphans, Alive: alive}, time.Minute, func(a Answer) {
		if a.Err != nil {
			return
		}
		var ids []int
		for _, n := range a.Nodes {
			if s.Now >= simChaos || s.random.IntN(3) > 0 {
				ids = append(ids, n.InstanceID)
			}
		}
		s.ask("evict", Ask{Kind: AskEvict, Orphans: ids, Alive: alive}, time.Minute, func(Answer) {})
	})
}

// alive are the claimants that exist by the caller's own records, which lag in both directions.
func (s *sim) alive() []claims.Claimant {
	var alive []claims.Claimant
	for _, c := range s.claimants {
		since := c.first
		if !c.alive {
			since = c.ended
		}
		if late := s.Now-since < s.plan.aliveLag; c.alive != late {
			alive = append(alive, c.Claimant)
		}
	}
	return alive
}
