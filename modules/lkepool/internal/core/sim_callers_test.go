package core

import (
	"strconv"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// simClaimant simulates a NodeClaim: it exists, calls Claim until it has an instance,
// keeps it, releases it until that is proven gone.
type simClaimant struct {
	claims.Claimant
	id   claims.ClaimID
	life simLife
	key  lkepool.Key
	hash string
	// alive: it exists, or did until ended. releasing: it wants its instance removed.
	alive, releasing bool
	ended            time.Duration
	// first is the time of its first call; leftIt records that a call of it ended unserved.
	first         time.Duration
	asked, leftIt bool
	// handed is the instance that it was given last, instance the one that is in
	// the caller's records as well.
	handed, instance int
	forgot           bool
	// served is when it was given its instance, recorded when the caller's own
	// records had that.
	served, recorded time.Duration
}

// holder is Config.Records. What was stored when the process began to lead is complete, and later records show late.
func (s *sim) holder(instanceID int) (claims.Claimant, bool) {
	for _, c := range s.claimants {
		if c.alive && c.instance == instanceID && (s.Now-c.recorded >= s.plan.holderLag || c.recorded <= s.process.began) {
			return c.Claimant, true
		}
	}
	return claims.Claimant{}, false
}

// admit brings the schedule's claimants.
func (s *sim) admit() {
	for i, life := range s.plan.lives {
		s.At(life.at, func() { s.arrives(i, life) })
	}
}

func (s *sim) arrives(i int, life simLife) *simClaimant {
	name, uid := "c"+strconv.Itoa(i), "uid-"+strconv.Itoa(i)
	if heir := s.predecessor(i); life.heir && heir != "" {
		name = heir
	}
	c := &simClaimant{Claimant: claims.Claimant{Name: name, UID: uid}, life: life, key: simKeys[life.key], hash: simKeys[life.key].Hash(),
		alive: true, first: s.Now}
	c.id = simTags.ID(c.Claimant)
	s.claimants = append(s.claimants, c)
	s.claim(c)
	return c
}

// quit ends a claimant.
func (s *sim) quit(c *simClaimant) { c.alive, c.ended = false, s.Now }

// predecessor is the name of a claimant that does not exist any more.
func (s *sim) predecessor(number int) string {
	for _, c := range s.claimants {
		if !c.alive && !s.named(c.Name) && number > 0 {
			return c.Name
		}
	}
	return ""
}

func (s *sim) named(name string) bool {
	for _, c := range s.claimants {
		if c.alive && c.Name == name {
			return true
		}
	}
	return false
}

func (s *sim) claim(c *simClaimant) {
	if quits := c.life.quits; quits > 0 && s.Now-c.first >= quits && c.handed == 0 {
		s.note("%s does not exist any more", c.Name)
		s.quit(c)
	}
	if !c.alive || c.instance != 0 {
		return
	}
	c.asked = true
	request := lkepool.Request{Claimant: c.Claimant, Key: c.key, PoolTags: []string{"karpenter.sh/nodepool=" + c.key.NodePool},
		Tags: []string{"team=a"}}
	s.ask(c.Name, Ask{Kind: AskClaim, Request: request}, c.life.patience, func(a Answer) { s.claimed(c, a) })
}

func (s *sim) claimed(c *simClaimant, a Answer) {
	if !c.alive {
		return
	}
	if a.Err != nil {
		c.leftIt = true
		s.checkRefusal(c, a.Err)
		if kind := claims.KindOf(a.Err); kind == claims.KindInsufficientCapacity || kind == claims.KindQuotaExceeded {
			s.note("%s tries another type", c.Name)
			s.quit(c)
			return
		}
		s.After(max(c.life.again, claims.RetryAfterOf(a.Err)), func() { s.claim(c) })
		return
	}
	s.checkHanded(c, a.Node)
	c.handed, c.served = a.Node.InstanceID, s.Now
	if c.life.forgets && !c.forgot {
		c.forgot = true
		s.After(c.life.again, func() { s.claim(c) })
		return
	}
	c.instance, c.recorded = c.handed, s.Now
	if c.life.keeps > 0 {
		s.After(c.life.keeps, func() { s.release(c) })
	}
	if c.life.again%(3*time.Second) == 0 {
		s.After(c.life.again, func() { s.tag(c) })
	}
}

func (s *sim) release(c *simClaimant) {
	if !c.alive {
		return
	}
	c.releasing = true
	s.facts.releases++
	s.ask("release by "+c.Name, Ask{Kind: AskRelease, ID: c.instance, By: c.Claimant}, time.Minute, func(a Answer) {
		if claims.KindOf(a.Err) == claims.KindNotFound {
			s.checkGone(c, a.Err)
			s.quit(c)
			return
		}
		s.After(s.between(time.Second, 10*time.Second), func() { s.release(c) })
	})
}

// tag changes the tags of the claimant's instance, once.
func (s *sim) tag(c *simClaimant) {
	if !c.alive || c.releasing {
		return
	}
	change := Ask{Kind: AskTags, ID: c.instance, By: c.Claimant, Remove: []string{"team=a"}, Add: []string{"team=b"}}
	s.ask("tags for "+c.Name, change, 30*time.Second, func(a Answer) {})
}

// verify gets the instance of a claimant that a list lacks. Proven gone, the
// claimant goes as well.
func (s *sim) verify(c *simClaimant) {
	s.ask("get by "+c.Name, Ask{Kind: AskGet, ID: c.instance}, 30*time.Second, func(a Answer) {
		if claims.KindOf(a.Err) == claims.KindNotFound && c.alive && !c.releasing {
			s.checkGone(c, a.Err)
			s.quit(c)
		}
	})
}
