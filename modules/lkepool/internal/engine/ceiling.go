package engine

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// The fields of the errors of claims that Settings' ceilings refuse.
const (
	FieldMaxNodes       = "Config.MaxNodes"
	FieldMaxHourlyPrice = "Config.MaxHourlyPrice"
)

// underCeilings returns how many of the wanted nodes Settings' ceilings leave
// room for, and the error for the claimants where that is none.
func (c *Core) underCeilings(instanceType string, wanted int) (int, error) {
	owned := c.owning()
	if c.cfg.MaxNodes > 0 {
		total := 0
		for _, n := range owned {
			total += n
		}
		if wanted = min(wanted, c.cfg.MaxNodes-total); wanted <= 0 {
			return 0, ceiling(FieldMaxNodes, "the pools have %d nodes, and at most %d are allowed", total, c.cfg.MaxNodes)
		}
	}
	if c.cfg.MaxHourlyPrice > 0 {
		return c.affordable(instanceType, wanted, owned)
	}
	return wanted, nil
}

// affordable bounds what is wanted by MaxHourlyPrice.
func (c *Core) affordable(instanceType string, wanted int, owned map[string]int) (int, error) {
	const rounding = 1e-9
	price, known := c.cfg.HourlyPrice(instanceType)
	if !known {
		return 0, ceiling(FieldMaxHourlyPrice, "the price of %s is not known, so it cannot be held below %g by the hour", instanceType,
			c.cfg.MaxHourlyPrice)
	}
	total := 0.0
	for _, other := range slices.Sorted(maps.Keys(owned)) {
		each, known := c.cfg.HourlyPrice(other)
		if !known && owned[other] > 0 {
			return 0, ceiling(FieldMaxHourlyPrice, "the price of %s, of which the pools have %d nodes, is not known", other, owned[other])
		}
		total += each * float64(owned[other])
	}
	if room := c.cfg.MaxHourlyPrice - total + rounding; float64(wanted)*price > room {
		wanted = int(math.Max(0, math.Floor(room/price)))
	}
	if wanted > 0 {
		return wanted, nil
	}
	return 0, ceiling(FieldMaxHourlyPrice, "the nodes cost %.4f by the hour, a %s costs %.4f, and at most %g is allowed", total, instanceType,
		price, c.cfg.MaxHourlyPrice)
}

// owning is how many nodes of each instance type our pools have, those included
// that purchases under way ask for.
func (c *Core) owning() map[string]int {
	owned := maps.Clone(c.buying)
	for _, p := range c.world.pools.rows {
		if p.ours() {
			owned[p.InstanceType] += p.Count
		}
	}
	return owned
}

func ceiling(field, format string, args ...any) error {
	return &Error{Kind: KindQuotaExceeded, Op: "claim", Field: field, Effect: EffectNone, Err: fmt.Errorf(format, args...)}
}
