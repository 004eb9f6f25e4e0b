package lkepool

import (
	"cmp"
	"time"

	"k8s.io/utils/clock"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// Config tunes an Allocator. Records is required; everything else has a default.
type Config struct {
	// SettleTime bounds how far a direct read of a pool or an instance may lag
	// behind writes. For this time an own write outranks reads, and nothing is
	// bought, overwritten or removed after this process begins to lead. 0 means 4s.
	SettleTime time.Duration
	// LateEffect bounds how long after its failure a write may still take effect. For
	// this time and SettleTime an object with an unanswered write is aside, and a process
	// that follows another process makes no pool larger that it found. 0 means 2m.
	LateEffect time.Duration
	// ListLag bounds how far a list may lag behind writes. For this time after the start,
	// and after a purchase without an answer, lists do not count as complete. 0 means 2m.
	ListLag time.Duration
	// RetryDelay is the first pause after a failed request; pauses grow from there. The
	// first look for nodes that were bought comes after it, or after 1 s. 0 means 2s.
	RetryDelay time.Duration
	// OrphanTTL is how long an instance must have been without a claimant,
	// or with one that does not exist, to be collected. 0 means 5m.
	OrphanTTL time.Duration
	// BootTimeout is how long an instance may have been known and not
	// running until it counts as dead. 0 means 10m.
	BootTimeout time.Duration
	// PendingTimeout is how long a slot must have been without an instance until Collect removes it.
	// Claimants wait for another time, which follows from the nodes that came before: see the package's doc.
	// 0 means 15m.
	PendingTimeout time.Duration
	// Ceilings bound the nodes of all keys together.
	Ceilings claims.Ceilings
	// Records are the caller's own records of the claimants of instances. They are required, and outrank tags: see [claims.Records] for
	// their content. Programs that store their claims themselves use claims.RecordMap.
	Records claims.Records
	// Tags configures the keys of the tags on pools and instances.
	Tags claims.Tags
	// Clock is the source of time; nil means the real one.
	Clock clock.Clock
	// Observer receives the end of each request and of each claim.
	Observer claims.Observer
}

// Check returns a KindInvalid error for values that cannot work.
func (c Config) Check() error {
	const op = "configure"
	if err := claims.CheckDurations(op, map[string]time.Duration{
		"Config.SettleTime": c.SettleTime, "Config.LateEffect": c.LateEffect, "Config.ListLag": c.ListLag,
		"Config.RetryDelay": c.RetryDelay, "Config.OrphanTTL": c.OrphanTTL, "Config.BootTimeout": c.BootTimeout,
		"Config.PendingTimeout": c.PendingTimeout,
	}); err != nil {
		return err
	}
	if c.Records == nil {
		return claims.Invalid(op, "Config.Records", "is nil; a program that does not store claims itself uses claims.RecordMap")
	}
	if err := c.Ceilings.Check(op); err != nil {
		return err
	}
	return c.Tags.Check(op, "Config.Tags")
}

// WithDefaults returns a copy in which settings that are zero have their defaults.
func (c Config) WithDefaults() Config {
	c.SettleTime = cmp.Or(c.SettleTime, 4*time.Second)
	c.LateEffect = cmp.Or(c.LateEffect, 2*time.Minute)
	c.ListLag = cmp.Or(c.ListLag, 2*time.Minute)
	c.RetryDelay = cmp.Or(c.RetryDelay, 2*time.Second)
	c.OrphanTTL = cmp.Or(c.OrphanTTL, 5*time.Minute)
	c.BootTimeout = cmp.Or(c.BootTimeout, 10*time.Minute)
	c.PendingTimeout = cmp.Or(c.PendingTimeout, 15*time.Minute)
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	return c
}
