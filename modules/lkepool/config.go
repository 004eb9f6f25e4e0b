package lkepool

import (
	"time"

	"k8s.io/utils/clock"
)

// Config tunes an Allocator. The zero value is usable.
type Config struct {
	// RetryDelay is the first pause between two passes for one key; pauses
	// grow from there. 0 means 2s.
	RetryDelay time.Duration
	// OrphanTTL is the age at which a free node, or a claim whose claimant
	// does not exist, is collected. 0 means 5m.
	OrphanTTL time.Duration
	// TagVerificationTimeout is how long a write may take to be seen by
	// reads. For that long the allocator trusts the write's own answer more
	// than a list, and for that long after New it does not conclude from
	// something missing in a list that it does not exist. 0 means 4s.
	TagVerificationTimeout time.Duration
	// BootTimeout is the age from which an instance that is not running counts
	// as dead. 0 means 10m.
	BootTimeout time.Duration
	// PendingTimeout is how long a pool may owe nodes without a single one
	// arriving until claimants are told KindInsufficientCapacity. 0 means 15m.
	PendingTimeout time.Duration
	// Clock is the source of time; nil means the real one.
	Clock clock.Clock
	// Observer is told what happened.
	Observer Observer
}

// Observer is a set of hooks, each may be nil. They are called synchronously,
// from several goroutines, and must not call the Allocator.
type Observer struct {
	Pass  func(Pass)
	Claim func(ClaimEnd)
}

// Pass is what one pass for a key saw and did.
type Pass struct {
	NodePool, InstanceType, KeyHash string
	// Seen is when the reading began that the pass decided on; the zero time if
	// nothing could be read.
	Seen time.Time
	// Waiting, Free and Pending are what the pass found.
	Waiting, Free, Pending int
	// Claimed is the number of claims that were written and confirmed,
	// Returned of those that were there already.
	Claimed, Returned int
	// ScaledBy is the number of nodes that were asked for.
	ScaledBy int
	// Calls counts the requests to the backend, a list or poll as one.
	Calls    int
	Duration time.Duration
	// Err is why the pass ended early, if it did.
	Err error
}

// ClaimEnd is how one call of Claim ended.
type ClaimEnd struct {
	NodePool, InstanceType, Claimant string
	Wait                             time.Duration
	// Err is nil for a claim that got its node; KindOf tells the outcome.
	Err error
}

// withDefaults refuses negative durations and fills in what is zero.
func (c Config) withDefaults() (Config, error) {
	for _, setting := range []struct {
		field string
		value *time.Duration
		usual time.Duration
	}{
		{"Config.RetryDelay", &c.RetryDelay, 2 * time.Second},
		{"Config.OrphanTTL", &c.OrphanTTL, 5 * time.Minute},
		{"Config.TagVerificationTimeout", &c.TagVerificationTimeout, 4 * time.Second},
		{"Config.BootTimeout", &c.BootTimeout, 10 * time.Minute},
		{"Config.PendingTimeout", &c.PendingTimeout, 15 * time.Minute},
	} {
		if *setting.value < 0 {
			return c, invalid("configure", setting.field, "%s is negative; durations must be 0 (the default) or positive", *setting.value)
		}
		if *setting.value == 0 {
			*setting.value = setting.usual
		}
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	return c, nil
}
