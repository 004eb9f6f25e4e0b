package catalog

import (
	"cmp"
	"slices"
	"time"
)

// A Cause is why a plan cannot be bought for a while.
type Cause string

// The causes. rest says how long a plan is unavailable for each.
const (
	NoCapacity   Cause = "NoCapacity"   // the region has none left
	PlanRefused  Cause = "PlanRefused"  // LKE does not take the plan here
	AccountLimit Cause = "AccountLimit" // the account may not have more of it
	Ceiling      Cause = "Ceiling"      // it would be beyond the settings' own bound on nodes or on their price
	Overdue      Cause = "Overdue"      // LKE has accepted a purchase, and no Linode came
)

// PlanRest is the default of Config.PlanRest.
const PlanRest = 3 * time.Minute

// rest is how long a plan is not bought after it was refused. Capacity and an account's limit change from one minute to the next; which
// plans LKE takes does not. A ceiling of the settings ends with the next node that goes. A plan of which nothing came rests for longer:
// each try costs minutes, and with a short rest two such plans would be tried in turn, and never a third one.
func (c *Catalog) rest(cause Cause) time.Duration {
	switch cause {
	case NoCapacity, AccountLimit:
		return cmp.Or(c.cfg.PlanRest, PlanRest)
	case Overdue:
		return 5 * cmp.Or(c.cfg.PlanRest, PlanRest)
	case PlanRefused:
		return 30 * time.Minute
	case Ceiling:
		return time.Minute
	}
	return 0
}

// Causes lists all causes.
func Causes() []Cause { return []Cause{AccountLimit, Ceiling, NoCapacity, Overdue, PlanRefused} }

// A Refusal describes an instance type that the Linode API would not sell.
type Refusal struct {
	InstanceType string
	Region       string
	Cause        Cause
	Lasts        time.Duration // how long the plan is unavailable
	Others       int           // how many larger instance types it takes out as well
}

// MarkUnavailable remembers that a plan was refused in the catalog's region, and returns what that means.
//
// A limit, of the account or of the settings, concerns every plan that is at least as large in all respects: without marking these plans,
// core would try them in turn, each dearer than the last. Smaller plans stay: the limit may be on large plans alone, or on GPUs.
func (c *Catalog) MarkUnavailable(instanceType string, cause Cause) Refusal {
	refusal := Refusal{InstanceType: instanceType, Region: c.cfg.Region, Cause: cause, Lasts: c.rest(cause)}
	news := c.mark(instanceType, cause)
	if cause == AccountLimit || cause == Ceiling {
		larger := c.atLeastAsLarge(instanceType)
		for _, plan := range larger {
			c.mark(plan, cause)
		}
		refusal.Others = len(larger)
	}
	if news && c.cfg.OnRefused != nil {
		c.cfg.OnRefused(refusal)
	}
	return refusal
}

// atLeastAsLarge names the other plans that have at least as much of everything as one.
func (c *Catalog) atLeastAsLarge(instanceType string) (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.plans, func(p Plan) bool { return p.ID == instanceType })
	for _, p := range c.plans {
		if i >= 0 && p.ID != instanceType && p.VCPUs >= c.plans[i].VCPUs && p.Memory >= c.plans[i].Memory && p.GPUs >= c.plans[i].GPUs {
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

// mark remembers the refusal of a plan, and returns whether it was not marked with this cause. A mark is never shortened.
func (c *Catalog) mark(plan string, cause Cause) (news bool) {
	known, _ := c.unavailable.Get(plan)
	old, _ := known.(marked)
	if ends := time.Now().Add(c.rest(cause)); old.ends.Before(ends) {
		c.unavailable.Set(plan, marked{cause, ends}, c.rest(cause))
	}
	return old.cause != cause
}

// Unavailable returns why a plan is marked as unavailable, false if it is not.
func (c *Catalog) Unavailable(plan string) (cause Cause, is bool) {
	known, is := c.unavailable.Get(plan)
	mark, _ := known.(marked)
	return mark.cause, is
}

// A Mark is the mark of one plan in a form that can be stored.
type Mark struct {
	Plan  string    `json:"plan"`
	Cause Cause     `json:"cause"`
	Ends  time.Time `json:"ends"`
}

// Marks returns the plans that are marked as unavailable, in a fixed order. A plan that is not listed any more is left out.
func (c *Catalog) Marks() (marks []Mark) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.plans { // by name
		known, is := c.unavailable.Get(p.ID)
		if mark, _ := known.(marked); is {
			marks = append(marks, Mark{p.ID, mark.cause, mark.ends.UTC().Round(time.Second)})
		}
	}
	return marks
}

// TakeUp adds marks of another process. What cannot be, such as one that lasts longer than its cause lets it, is left out, and a mark of
// this process stays.
func (c *Catalog) TakeUp(marks []Mark) {
	for _, m := range marks {
		left, most := time.Until(m.Ends), c.rest(m.Cause)
		if _, known := c.unavailable.Get(m.Plan); !known && m.Plan != "" && left > 0 && left <= most+time.Second {
			c.unavailable.Set(m.Plan, marked{m.Cause, m.Ends}, left)
		}
	}
}
