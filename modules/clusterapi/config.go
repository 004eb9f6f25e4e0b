package clusterapi

import (
	"cmp"
	"time"

	"k8s.io/utils/clock"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// Config tunes an Allocator. The zero value is usable.
type Config struct {
	// ReadInterval is the pause between two readings while callers wait. 0 means 1s.
	ReadInterval time.Duration
	// OrphanTTL is how long a Machine must have been seen free, or with a claimant that does
	// not exist, to be collected. 0 means 5m.
	OrphanTTL time.Duration
	// StuckTimeout is how long a deployment may have fewer Machines than replicas until its
	// claimants are refused with KindInsufficientCapacity. 0 means 2m.
	StuckTimeout time.Duration
	// CacheLag is how far Cluster API's cache of Machines may lag behind its cache of MachineSets. A count is
	// lowered only when all marks for deletion have been seen for that long. Example: a reading at 10:00:00
	// shows the last mark for the first time, so the count is lowered at 10:00:02 or later. 0 means 2s.
	CacheLag time.Duration
	// InstanceType returns the type of a deployment's Machines, which Ceilings count. Nil counts all as one type.
	InstanceType func(deployment string) string
	Ceilings     claims.Ceilings
	// Holder returns the claimant of a machine in the caller's own records: its claim is
	// written again if it is missing. Nil means that there are no such records.
	Holder func(providerID string) (claims.Claimant, bool)
	// Clock is the source of time; nil means the real one.
	Clock    clock.Clock
	Observer claims.Observer
}

// Check returns a KindInvalid error for values that cannot work.
func (c Config) Check() error {
	const op = "configure"
	if err := claims.CheckDurations(op, map[string]time.Duration{
		"Config.ReadInterval": c.ReadInterval, "Config.OrphanTTL": c.OrphanTTL, "Config.StuckTimeout": c.StuckTimeout,
		"Config.CacheLag": c.CacheLag,
	}); err != nil {
		return err
	}
	return c.Ceilings.Check(op)
}

// WithDefaults returns a copy in which settings that are zero have their defaults.
func (c Config) WithDefaults() Config {
	c.ReadInterval = cmp.Or(c.ReadInterval, time.Second)
	c.OrphanTTL = cmp.Or(c.OrphanTTL, 5*time.Minute)
	c.StuckTimeout = cmp.Or(c.StuckTimeout, 2*time.Minute)
	c.CacheLag = cmp.Or(c.CacheLag, 2*time.Second)
	if c.InstanceType == nil {
		c.InstanceType = func(string) string { return "" }
	}
	if c.Holder == nil {
		c.Holder = func(string) (claims.Claimant, bool) { return claims.Claimant{}, false }
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	return c
}
