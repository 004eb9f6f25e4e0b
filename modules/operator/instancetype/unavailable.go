package instancetype

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// A Cause is why a plan cannot be bought for a while.
type Cause string

// The causes, and how long each is believed.
const (
	NoCapacity   Cause = "NoCapacity"   // the region has none left
	PlanRefused  Cause = "PlanRefused"  // LKE does not take the plan here
	AccountLimit Cause = "AccountLimit" // the account may not have more of it
)

var beliefs = map[Cause]time.Duration{
	NoCapacity:   3 * time.Minute,
	PlanRefused:  30 * time.Minute,
	AccountLimit: 3 * time.Minute,
}

// Causes lists all causes.
func Causes() []Cause { return []Cause{AccountLimit, NoCapacity, PlanRefused} }

// A Refusal is what the Linode API would not sell.
type Refusal struct {
	InstanceType string
	Region       string
	Cause        Cause
	Lasts        time.Duration // how long it is believed
	Others       int           // how many larger instance types it takes out as well
}

// MarkUnavailable remembers that a plan was refused in the catalog's region, and says what that means.
//
// An account's limit concerns more than the plan that was refused: an account that may not have one more Linode of 4
// GiB may not have one of 8 GiB either, whether its limit is on the number of Linodes or on their size. Every plan
// that is at least as large in all respects is marked with it. Without that core would try every plan in turn, each
// dearer than the last, with a NodeClaim and a refused request each. Smaller plans stay: the limit may be on large
// plans alone, or on GPUs.
func (c *Catalog) MarkUnavailable(instanceType string, cause Cause) Refusal {
	refusal := Refusal{InstanceType: instanceType, Region: c.cfg.Region, Cause: cause, Lasts: beliefs[cause]}
	marked := []string{instanceType}
	if cause == AccountLimit {
		larger := c.atLeastAsLarge(instanceType)
		refusal.Others = len(larger)
		marked = append(marked, larger...)
	}
	if news := c.unavailable.Mark(c.cfg.Region, cause, marked...); news && c.cfg.OnRefused != nil {
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

type place struct{ instanceType, region string }

type mark struct {
	end   time.Time
	cause Cause
}

// Unavailable remembers what could not be bought, by plan and region, each for as long as its cause is
// believed. The zero value is not usable.
type Unavailable struct {
	mu    sync.Mutex
	marks map[place]mark
}

// NewUnavailable returns an empty memory.
func NewUnavailable() *Unavailable { return &Unavailable{marks: map[place]mark{}} }

// Mark remembers a refusal of plans in a region. A later end is never shortened. It returns whether the first of them
// was not marked with this cause before.
func (u *Unavailable) Mark(region string, cause Cause, instanceTypes ...string) (news bool) {
	now := time.Now()
	end := now.Add(beliefs[cause])
	u.mu.Lock()
	defer u.mu.Unlock()
	for i, instanceType := range instanceTypes {
		p := place{instanceType, region}
		old := u.marks[p]
		if i == 0 {
			news = old.cause != cause || !old.end.After(now)
		}
		if old.end.Before(end) {
			u.marks[p] = mark{end, cause}
		}
	}
	return news
}

// In returns the plans that are marked in a region, sorted.
func (u *Unavailable) In(region string) []string {
	now := time.Now()
	u.mu.Lock()
	defer u.mu.Unlock()
	var marked []string
	for p, m := range u.marks {
		switch {
		case !m.end.After(now):
			delete(u.marks, p)
		case p.region == region:
			marked = append(marked, p.instanceType)
		}
	}
	slices.SortFunc(marked, strings.Compare)
	return marked
}
