package allocator_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// claimant simulates a NodeClaim: it exists, then it has an instance, which it
// records, then it is deleted.
type claimant struct {
	who      claims.Claimant
	key      lkepool.Key
	instance int
	missing  int
	vanished bool // in a calm life
	// got is when it had its node, left when it began to give it back or ended.
	got, left time.Time
}

// crowd is a burst of claimants, at most so many, that comes within a time.
func (s *life) crowd(number, most int, within time.Duration, random *rand.Rand) {
	time.Sleep(time.Duration(random.Int64N(int64(within))))
	k := s.keys[random.IntN(len(s.keys))]
	var group sync.WaitGroup
	for i := range 1 + random.IntN(most) {
		seed := random.Uint64()
		name := fmt.Sprintf("%s-%d-%d", k.NodePool, number, i)
		c := &claimant{who: claims.Claimant{Name: name, UID: "uid of " + name}, key: k}
		s.mu.Lock()
		s.claims[name] = c
		s.mu.Unlock()
		group.Go(func() { s.live(c, rand.New(rand.NewPCG(seed, 3))) })
	}
	group.Wait()
}

func (s *life) live(c *claimant, random *rand.Rand) {
	time.Sleep(time.Duration(random.Int64N(int64(3 * time.Second))))
	if !s.obtain(c, random) {
		return
	}
	if random.IntN(4) == 0 {
		time.Sleep(time.Duration(random.Int64N(int64(chaos / 4))))
		s.again(c, random)
	}
	if s.calm || random.IntN(3) > 0 {
		return
	}
	time.Sleep(time.Duration(random.Int64N(int64(chaos / 3))))
	if s.there(c) {
		s.mu.Lock()
		c.left = time.Now()
		s.mu.Unlock()
		s.giveUp(c, random)
		s.forget(c, "has given its node back")
	}
}

// there reports whether the claimant has not ended.
func (s *life) there(c *claimant) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.claims[c.who.Name] == c
}

// forget ends a claimant.
func (s *life) forget(c *claimant, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetLocked(c, why)
}

func (s *life) forgetLocked(c *claimant, why string) {
	if s.claims[c.who.Name] != c {
		return
	}
	if c.left.IsZero() {
		c.left = time.Now()
	}
	delete(s.claims, c.who.Name)
	s.past = append(s.past, c)
	s.noteLocked("%s ends: %s", c.who.Name, why)
}

// obtain claims until there is a node, or until it makes no sense.
func (s *life) obtain(c *claimant, random *rand.Rand) bool {
	for s.there(c) {
		p, began, hollow := s.current(), time.Now(), s.hollow(c.key)
		ctx, cancel := bound(p, 5*time.Second+time.Duration(random.Int64N(int64(time.Minute))))
		node, err := p.Claim(ctx, lkepool.Request{
			Claimant: c.who, Key: c.key, Tags: []string{"team=a"},
			PoolTags: []string{"karpenter.sh/nodepool=" + c.key.NodePool},
		})
		cancel()
		if p.ctx.Err() != nil {
			// No process was left to record what was answered.
			time.Sleep(100 * time.Millisecond)
			continue
		}
		if err == nil {
			s.record(c, node)
			return true
		}
		if s.gaveUp(c, err, began, hollow) || s.late(c.who.Name+" has no node", err) {
			return false
		}
		time.Sleep(time.Second + time.Duration(random.Int64N(int64(20*time.Second))))
	}
	return false
}

// record stores the answer to a claim, and compares it with what others have.
func (s *life) record(c *claimant, node lkepool.Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noteLocked("%s has %d of pool %d", c.who.Name, node.InstanceID, node.PoolID)
	for _, other := range s.claims {
		if other != c && other.instance == node.InstanceID {
			s.errorf("I1: at %s, %d is %s's, and was handed to %s", moment(time.Now()), node.InstanceID, other.who.Name, c.who.Name)
		}
	}
	c.instance, c.got = node.InstanceID, time.Now()
}

// gaveUp handles the error of a claim, and reports whether the claimant ends.
func (s *life) gaveUp(c *claimant, err error, began time.Time, hollow bool) bool {
	switch kind := claims.KindOf(err); kind {
	case claims.KindInsufficientCapacity, claims.KindQuotaExceeded:
		waited := hollow && kind == claims.KindInsufficientCapacity
		if !waited && !s.refused(kind, c.key.InstanceType, began) {
			s.errorf("%s was answered %v, and nothing was refused since %s", c.who.Name, err, moment(began))
		}
		s.forget(c, err.Error())
		return true
	case claims.KindProvisioning, claims.KindRateLimited, claims.KindUnavailable:
	case claims.KindConflict:
		if !s.lossy { // a scale-up without effect looks like another client's lowering
			s.errorf("%s: %v", c.who.Name, err)
		}
	case claims.KindForbidden:
		s.mu.Lock()
		forbidden := s.events.forbidden
		s.mu.Unlock()
		if forbidden.IsZero() || began.Sub(forbidden) > 15*time.Minute {
			s.errorf("%s: %v", c.who.Name, err)
		}
	default:
		s.errorf("%s: %v", c.who.Name, err)
	}
	return false
}

// again claims once more for a claimant that has a node: it is the same one, as
// long as it exists and lists are not out of date by minutes. Then it may be
// another one, and the claimant stores the newest answer, as a caller of Claim does.
func (s *life) again(c *claimant, random *rand.Rand) {
	s.mu.Lock()
	had := c.instance
	s.mu.Unlock()
	s.note("%s asks again", c.who.Name)
	if !s.obtain(c, random) || s.lagging || !s.exists(had) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.instance != had && s.claims[c.who.Name] == c && !s.events.stripped[had] && !s.lossy {
		s.errorf("I2: at %s, %s had %d and was given %d", moment(time.Now()), c.who.Name, had, c.instance)
	}
}

// exists reports whether there is such an instance that is not going.
func (s *life) exists(id int) bool {
	return slices.ContainsFunc(s.instances(), func(i linodesim.Instance) bool { return i.ID == id })
}

// untagged reports whether all writes of an instance's tags were without effect. Out of its pool,
// when its removal was accepted, nothing shows another process whose it is.
func (s *life) untagged(id int) bool {
	return s.lossy && !slices.ContainsFunc(s.sim.Audit(), func(e linodesim.Entry) bool {
		return e.Action == linodesim.InstanceTagged && e.InstanceID == id
	})
}

// giveUp releases an instance until it is proven gone.
func (s *life) giveUp(c *claimant, random *rand.Rand) {
	for {
		p := s.current()
		ctx, cancel := bound(p, time.Minute)
		err := p.Release(ctx, c.instance, c.who)
		cancel()
		if p.ctx.Err() != nil {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		s.note("release of %d: %v", c.instance, err)
		switch claims.KindOf(err) {
		case claims.KindNotFound:
			if s.exists(c.instance) {
				s.errorf("at %s, release of %d, which exists: %v", moment(time.Now()), c.instance, err)
			}
			return
		case "", claims.KindProvisioning, claims.KindRateLimited, claims.KindUnavailable, claims.KindForbidden:
		case claims.KindConflict:
			if !s.untagged(c.instance) {
				s.errorf("release of %d: %v\n%s", c.instance, err, s.histories(c.instance))
			}
		default:
			s.errorf("release of %d: %v", c.instance, err)
		}
		if s.late(fmt.Sprintf("instance %d is not proven gone", c.instance), err) {
			return
		}
		time.Sleep(time.Second + time.Duration(random.Int64N(int64(10*time.Second))))
	}
}
