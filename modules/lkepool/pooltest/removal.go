package pooltest

import (
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// The suite's tests of removals: of nodes, of places, of pools.

func (s *suite) remove() {
	pool := s.made(3)
	victim := pool.Members[1]
	if err := s.Backend.Remove(s.Context(), pool.ID, victim.NodeID); err != nil {
		s.Fatal(err)
	}
	read, err := s.Backend.Pool(s.Context(), pool.ID)
	if err != nil || read.Count != 2 {
		s.Fatalf("got %+v, %v", read, err)
	}
	for _, slot := range read.Slots {
		if slot.InstanceID == victim.ID {
			s.Errorf("the pool still lists %+v", slot)
		}
	}
	s.gone(victim.ID)
	left := s.eventually("two members", pool.ID, func(p joined) bool { return len(p.Members) == 2 })
	for _, member := range left.Members {
		if member.ID != pool.Members[0].ID && member.ID != pool.Members[2].ID {
			s.Errorf("%d was not there before", member.ID)
		}
	}
}

// gone waits until an instance is proven not to exist.
func (s *suite) gone(id int) {
	s.Helper()
	for waited := time.Duration(0); waited <= s.Patience; waited += time.Second {
		instance, err := s.Backend.Instance(s.Context(), id)
		if claims.KindOf(err) == claims.KindNotFound {
			return
		}
		if err != nil {
			s.Fatal(err)
		}
		if instance.ID != id {
			s.Fatalf("got %+v", instance)
		}
		s.pause()
	}
	s.Errorf("instance %d still exists after %s", id, s.Patience)
}

func (s *suite) removeGone() {
	pool := s.made(2)
	for range 2 {
		if err := s.Backend.Remove(s.Context(), pool.ID, pool.Members[0].NodeID); err != nil {
			s.Fatal(err)
		}
	}
	if read, err := s.Backend.Pool(s.Context(), pool.ID); err != nil || read.Count != 1 {
		s.Errorf("removed twice, the count is %d, %v", read.Count, err)
	}
}

func (s *suite) removePlace() {
	pool := s.made(1)
	s.Stall()
	if _, err := s.Backend.Scale(s.Context(), pool.ID, 2); err != nil {
		s.Fatal(err)
	}
	vacant := func(slot lkepool.Slot) bool { return slot.InstanceID == 0 }
	waiting := s.eventually("a place without an instance", pool.ID, func(p joined) bool {
		return len(p.Members) == 1 && slices.ContainsFunc(p.Slots, vacant)
	})
	place := waiting.Slots[slices.IndexFunc(waiting.Slots, vacant)]
	if place.NodeID == "" || waiting.Count != 2 {
		s.Fatalf("the pool is %+v", waiting)
	}
	for range 2 {
		if err := s.Backend.Remove(s.Context(), pool.ID, place.NodeID); err != nil {
			s.Fatal(err)
		}
	}
	read, err := s.Backend.Pool(s.Context(), pool.ID)
	if err != nil || read.Count != 1 || len(read.Slots) != 1 || read.Slots[0].InstanceID != pool.Members[0].ID {
		s.Errorf("the pool is %+v, %v", read, err)
	}
	seen, _ := s.observed(pool.ID)
	if seen.Count != 1 || len(seen.Members) != 1 || seen.Members[0].ID != pool.Members[0].ID {
		s.Errorf("observed %+v", seen)
	}
}

func (s *suite) drop() {
	pool := s.made(1)
	for range 2 {
		if err := s.Backend.Drop(s.Context(), pool.ID); err != nil {
			s.Fatal(err)
		}
	}
	if _, err := s.Backend.Pool(s.Context(), pool.ID); claims.KindOf(err) != claims.KindNotFound {
		s.Errorf("the pool: %v", err)
	}
	if _, ok := s.observed(pool.ID); ok {
		s.Error("the pool is observed")
	}
	s.gone(pool.Members[0].ID)
}
