package lkepool

import (
	"math"
	"time"

	"k8s.io/utils/clock"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine"
)

// Config tunes an Allocator. The zero value is usable.
type Config struct {
	// SettleTime is how far a direct read of a pool or an instance may lag
	// behind writes. For that long an own write outranks what is read, and
	// nothing is bought, overwritten or removed after leading begins. 0 means 4s.
	SettleTime time.Duration
	// RetryDelay is the first pause after a failed request and before the first
	// look for nodes that were bought; pauses grow from there. 0 means 2s.
	RetryDelay time.Duration
	// OrphanTTL is for how long an instance must have been without a claimant,
	// or with one that does not exist, to be collected. 0 means 5m.
	OrphanTTL time.Duration
	// BootTimeout is for how long an instance may have been known and not
	// running until it counts as dead. 0 means 10m.
	BootTimeout time.Duration
	// PendingTimeout is how long a node may be on its way until claimants are
	// refused with KindInsufficientCapacity. 0 means 15m.
	PendingTimeout time.Duration
	// MaxNodes bounds the nodes of all keys together; 0 means no bound.
	MaxNodes int
	// MaxHourlyPrice bounds what the nodes of all keys together cost by the hour,
	// in the unit of HourlyPrice; 0 means no bound.
	MaxHourlyPrice float64
	// HourlyPrice returns the price of one node, false if it is not known: then
	// nothing is bought under MaxHourlyPrice, which requires it. It must not block.
	HourlyPrice func(instanceType string) (price float64, known bool)
	// Holder returns the claimant that holds an instance according to the
	// caller's own records, without a request and without blocking. An instance
	// with a holder is never handed to another claimant, whatever its tags say.
	// Nil means that there are no such records.
	Holder func(instanceID int) (Claimant, bool)
	// Clock is the source of time; nil means the real one.
	Clock clock.Clock
	// Observer gets what happened.
	Observer Observer
}

// Observer is a set of hooks, each may be nil. They are called synchronously,
// from several goroutines, and must not call the Allocator.
type Observer struct {
	Action func(ActionEnd)
	Claim  func(ClaimEnd)
}

// ActionEnd is one request to the platform that has ended, a list of several
// pages as one.
type ActionEnd struct {
	// Op is what was done, for example "scale pool", and Reason why.
	Op, Reason string
	// NodePool and InstanceType are those of a purchase or a claim, "" otherwise.
	NodePool, InstanceType string
	PoolID, InstanceID     int
	// Bought is how many nodes were asked for, Claimed is 1 for a claim written.
	Bought, Claimed int
	Duration        time.Duration
	Err             error
}

// ClaimEnd is how one call of Claim ended.
type ClaimEnd struct {
	NodePool, InstanceType string
	Claimant               Claimant
	Wait                   time.Duration
	// Err is nil for a claim that got its node; KindOf returns the outcome.
	Err error
}

// check refuses negative values.
func (c Config) check() error {
	for _, setting := range []struct {
		field string
		value time.Duration
	}{
		{"Config.SettleTime", c.SettleTime},
		{"Config.RetryDelay", c.RetryDelay},
		{"Config.OrphanTTL", c.OrphanTTL},
		{"Config.BootTimeout", c.BootTimeout},
		{"Config.PendingTimeout", c.PendingTimeout},
	} {
		if setting.value < 0 {
			return engine.Invalid("configure", setting.field, "%s is negative; durations must be 0 (the default) or positive", setting.value)
		}
	}
	if c.MaxNodes < 0 {
		return engine.Invalid("configure", "Config.MaxNodes", "%d is negative; it must be 0 (no bound) or positive", c.MaxNodes)
	}
	switch {
	case !(c.MaxHourlyPrice >= 0) || math.IsInf(c.MaxHourlyPrice, 1): // false for NaN as well
		return engine.Invalid("configure", "Config.MaxHourlyPrice", "%v must be 0 (no bound) or a positive number", c.MaxHourlyPrice)
	case c.MaxHourlyPrice > 0 && c.HourlyPrice == nil:
		return engine.Invalid("configure", "Config.HourlyPrice", "is nil; Config.MaxHourlyPrice needs it")
	}
	return nil
}

// settings are those of the engine, with defaults.
func (c Config) settings() engine.Settings {
	return engine.Settings{
		SettleTime: c.SettleTime, RetryDelay: c.RetryDelay, OrphanTTL: c.OrphanTTL, BootTimeout: c.BootTimeout, PendingTimeout: c.PendingTimeout,
		MaxNodes: c.MaxNodes, MaxHourlyPrice: c.MaxHourlyPrice, HourlyPrice: c.HourlyPrice, Holder: c.Holder,
	}.WithDefaults()
}
