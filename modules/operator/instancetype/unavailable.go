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
	AccountLimit: 5 * time.Minute,
}

type place struct{ instanceType, region string }

// Unavailable remembers what could not be bought, by plan and region, each for as long as its cause is
// believed. The zero value is not usable.
type Unavailable struct {
	mu    sync.Mutex
	until map[place]time.Time
}

// NewUnavailable returns an empty memory.
func NewUnavailable() *Unavailable { return &Unavailable{until: map[place]time.Time{}} }

// Mark remembers a refusal. A later end is never shortened.
func (u *Unavailable) Mark(instanceType, region string, cause Cause) {
	end := time.Now().Add(beliefs[cause])
	u.mu.Lock()
	defer u.mu.Unlock()
	if p := (place{instanceType, region}); u.until[p].Before(end) {
		u.until[p] = end
	}
}

// In returns the plans that are marked in a region, sorted.
func (u *Unavailable) In(region string) []string {
	now := time.Now()
	u.mu.Lock()
	defer u.mu.Unlock()
	var marked []string
	for p, end := range u.until {
		switch {
		case !end.After(now):
			delete(u.until, p)
		case p.region == region:
			marked = append(marked, p.instanceType)
		}
	}
	slices.SortFunc(marked, strings.Compare)
	return marked
}
