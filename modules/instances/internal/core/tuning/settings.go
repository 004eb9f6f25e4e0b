package tuning

import (
	"cmp"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// Settings are the part of the Config of package instances that the engine needs. Config
// documents them.
type Settings struct {
	// Cluster is the name of the cluster, for errors.
	Cluster                                                                string
	SettleTime, LateEffect, ListLag, OrphanTTL, BootTimeout, FinishTimeout time.Duration
	claims.Ceilings
	Creations int
	Records   claims.Records
}

// WithDefaults replaces zero values.
func (s Settings) WithDefaults() Settings {
	if s.Records == nil {
		s.Records = claims.Holder(nil)
	}
	s.SettleTime = cmp.Or(s.SettleTime, 4*time.Second)
	s.LateEffect = cmp.Or(s.LateEffect, 2*time.Minute)
	s.ListLag = cmp.Or(s.ListLag, 2*time.Minute)
	s.OrphanTTL = cmp.Or(s.OrphanTTL, 5*time.Minute)
	s.BootTimeout = cmp.Or(s.BootTimeout, 10*time.Minute)
	s.FinishTimeout = cmp.Or(s.FinishTimeout, 10*time.Minute)
	s.Creations = cmp.Or(s.Creations, CreationLimit)
	return s
}

// Growing returns a pause that doubles with times, up to longest.
func Growing(first, longest time.Duration, times int) time.Duration {
	return min(first<<min(times, 10), longest)
}
