package lkepool

import (
	"slices"
	"time"
)

const simSweepEvery = 2 * time.Minute

// sweeps runs what a controller does regularly: it lists the claimed nodes,
// looks after those of its claimants that are missing, and collects orphans.
func (s *sim) sweeps() {
	s.after(simSweepEvery, func() {
		s.sweeps()
		s.sweep()
	})
}

func (s *sim) sweep() {
	process := s.process.life
	s.ask("list", ask{kind: askList}, time.Minute, func(a answer) {
		if a.err == nil {
			s.checkList(a.nodes, process)
			for _, c := range s.claimants {
				if c.alive && c.instance != 0 && !slices.ContainsFunc(a.nodes, func(n Node) bool { return n.InstanceID == c.instance }) {
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
	s.ask("orphans", ask{kind: askOrphans, alive: alive}, time.Minute, func(a answer) {
		if a.err != nil {
			return
		}
		var ids []int
		for _, n := range a.nodes {
			if s.now >= simChaos || s.random.IntN(3) > 0 {
				ids = append(ids, n.InstanceID)
			}
		}
		s.ask("evict", ask{kind: askEvict, orphans: ids, alive: alive}, time.Minute, func(answer) {})
	})
}

// alive are the claimants that exist.
func (s *sim) alive() []Claimant {
	var alive []Claimant
	for _, c := range s.claimants {
		if c.alive {
			alive = append(alive, c.Claimant)
		}
	}
	return alive
}
