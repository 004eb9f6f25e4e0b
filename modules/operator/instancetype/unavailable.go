package instancetype

import (
	"slices"
	"time"
)

// A Cause is why a plan cannot be bought for a while.
type Cause string

// The causes, and how long a plan is unavailable for each.
const (
	NoCapacity   Cause = "NoCapacity"   // the region has none left
	PlanRefused  Cause = "PlanRefused"  // LKE does not take the plan here
	AccountLimit Cause = "AccountLimit" // the account may not have more of it
	Ceiling      Cause = "Ceiling"      // it would be beyond the settings' own bound on nodes or on their price
)

var unavailableTTL = map[Cause]time.Duration{
	NoCapacity:   3 * time.Minute,
	PlanRefused:  30 * time.Minute,
	AccountLimit: 3 * time.Minute,
	Ceiling:      time.Minute,
}

// Causes lists all causes.
func Causes() []Cause { return []Cause{AccountLimit, Ceiling, NoCapacity, PlanRefused} }

// A Refusal is what the Linode API would not sell.
type Refusal struct {
	InstanceType string
	Region       string
	Cause        Cause
	Lasts        time.Duration // how long the plan is unavailable
	Others       int           // how many larger instance types it takes out as well
}

// MarkUnavailable remembers that a plan was refused in the catalog's region, and returns what that means.
//
// An account's limit concerns more than the plan that was refused: an account that may not have one more Linode of 4
// GiB may not have one of 8 GiB either, whether its limit is on the number of Linodes or on their size. Every plan
// that is at least as large in all respects is marked with it. Without that core would try every plan in turn, each
// dearer than the last, with a NodeClaim and a refused request each. Smaller plans stay: the limit may be on large
// plans alone, or on GPUs. The same holds for a ceiling of the settings.
func (c *Catalog) MarkUnavailable(instanceType string, cause Cause) Refusal {
	refusal := Refusal{InstanceType: instanceType, Region: c.cfg.Region, Cause: cause, Lasts: unavailableTTL[cause]}
	plans := []string{instanceType}
	if cause == AccountLimit || cause == Ceiling {
		larger := c.atLeastAsLarge(instanceType)
		refusal.Others = len(larger)
		plans = append(plans, larger...)
	}
	if news := c.mark(cause, plans...); news && c.cfg.OnRefused != nil {
		c.cfg.OnRefused(refusal)
	}
	return refusal
}

// atLeastAsLarge names the other plans that have at least as much of everything as one.
func (c *Catalog) atLeastAsLarge(instanceType string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.snapshot.plans, func(p Plan) bool { return p.ID == instanceType })
	if i < 0 {
		return nil
	}
	refused, names := c.snapshot.plans[i], []string(nil)
	for _, p := range c.snapshot.plans {
		if p.ID != instanceType && p.VCPUs >= refused.VCPUs && p.MemoryMB >= refused.MemoryMB && p.GPUs >= refused.GPUs {
			names = append(names, p.ID)
		}
	}
	return names
}

// marked is the cause of a plan's mark, and when it ends.
type marked struct {
	cause Cause
	ends  time.Time
}

// mark remembers a refusal of plans; a mark is never shortened. It returns whether the first of them was not marked with this cause.
func (c *Catalog) mark(cause Cause, plans ...string) (news bool) {
	ends := time.Now().Add(unavailableTTL[cause])
	for i, plan := range plans {
		known, found := c.unavailable.Get(plan)
		old, _ := known.(marked)
		if i == 0 {
			news = !found || old.cause != cause
		}
		if old.ends.Before(ends) {
			c.unavailable.Set(plan, marked{cause, ends}, unavailableTTL[cause])
		}
	}
	return news
}
