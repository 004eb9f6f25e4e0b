package engine

import (
	"cmp"
	"time"
)

// Settings are what the caller sets of the engine. The fields are described at
// those of the same names in lkepool.Config.
type Settings struct {
	SettleTime, RetryDelay, OrphanTTL, BootTimeout, PendingTimeout time.Duration

	MaxNodes       int
	MaxHourlyPrice float64
	HourlyPrice    func(instanceType string) (price float64, known bool)
	Holder         func(instanceID int) (Claimant, bool)
}

// WithDefaults fills in the durations that are zero.
func (s Settings) WithDefaults() Settings {
	s.SettleTime = cmp.Or(s.SettleTime, 4*time.Second)
	s.RetryDelay = cmp.Or(s.RetryDelay, 2*time.Second)
	s.OrphanTTL = cmp.Or(s.OrphanTTL, 5*time.Minute)
	s.BootTimeout = cmp.Or(s.BootTimeout, 10*time.Minute)
	s.PendingTimeout = cmp.Or(s.PendingTimeout, 15*time.Minute)
	return s
}
