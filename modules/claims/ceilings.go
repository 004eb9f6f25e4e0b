package claims

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// Ceilings bound all nodes of an engine together. The zero value bounds nothing.
type Ceilings struct {
	// MaxNodes bounds the number of nodes; 0 means no bound.
	MaxNodes int
	// MaxHourlyPrice bounds the hourly price of all nodes, in the unit of
	// HourlyPrice; 0 means no bound.
	MaxHourlyPrice float64
	// HourlyPrice returns the price of one node of a type, and false if the price is
	// unknown. While the price of a type in use is unknown, MaxHourlyPrice allows no
	// purchase. MaxHourlyPrice requires this function, which must not block.
	HourlyPrice func(instanceType string) (price float64, known bool)
}

// Bounded reports whether there is a bound.
func (c Ceilings) Bounded() bool { return c.MaxNodes > 0 || c.MaxHourlyPrice > 0 }

// Check returns a KindInvalid error for values that cannot work.
func (c Ceilings) Check(op string) error {
	switch {
	case c.MaxNodes < 0:
		return Invalid(op, FieldMaxNodes, "%d is negative; it must be 0 (no bound) or positive", c.MaxNodes)
	case !(c.MaxHourlyPrice >= 0) || math.IsInf(c.MaxHourlyPrice, 1): // false for NaN as well
		return Invalid(op, FieldMaxHourlyPrice, "%v must be 0 (no bound) or a positive number", c.MaxHourlyPrice)
	case c.MaxHourlyPrice > 0 && c.HourlyPrice == nil:
		return Invalid(op, "Config.HourlyPrice", "is nil; Config.MaxHourlyPrice needs it")
	}
	return nil
}

// Fit returns how many of the wanted nodes of a type may be bought. owned counts the nodes
// that exist or are being bought, by instance type. If no node may be bought, Fit returns a
// KindQuotaExceeded error whose Field names the ceiling.
func (c Ceilings) Fit(op, instanceType string, wanted int, owned map[string]int) (int, error) {
	if c.MaxNodes > 0 {
		total := 0
		for _, n := range owned {
			total += n
		}
		if wanted = min(wanted, c.MaxNodes-total); wanted <= 0 {
			return 0, exceeded(op, FieldMaxNodes, "%d nodes exist or are being made, and at most %d are allowed", total, c.MaxNodes)
		}
	}
	if c.MaxHourlyPrice > 0 {
		return c.affordable(op, instanceType, wanted, owned)
	}
	return wanted, nil
}

// affordable applies MaxHourlyPrice.
func (c Ceilings) affordable(op, instanceType string, wanted int, owned map[string]int) (int, error) {
	const rounding = 1e-9
	price, known := c.HourlyPrice(instanceType)
	if !known {
		return 0, exceeded(op, FieldMaxHourlyPrice, "the price of %s is unknown, so the limit of %g per hour cannot be checked", instanceType,
			c.MaxHourlyPrice)
	}
	total := 0.0
	for _, other := range slices.Sorted(maps.Keys(owned)) {
		each, known := c.HourlyPrice(other)
		if !known && owned[other] > 0 {
			return 0, exceeded(op, FieldMaxHourlyPrice, "the price of %s is unknown, and %d nodes of it exist", other, owned[other])
		}
		total += each * float64(owned[other])
	}
	if room := c.MaxHourlyPrice - total + rounding; float64(wanted)*price > room {
		wanted = int(math.Max(0, math.Floor(room/price)))
	}
	if wanted > 0 {
		return wanted, nil
	}
	return 0, exceeded(op, FieldMaxHourlyPrice, "the nodes cost %.4f per hour, a %s costs %.4f, and at most %g is allowed", total,
		instanceType, price, c.MaxHourlyPrice)
}

func exceeded(op, field, format string, args ...any) error {
	return &Error{Kind: KindQuotaExceeded, Op: op, Field: field, Effect: EffectNone, Err: fmt.Errorf(format, args...)}
}
