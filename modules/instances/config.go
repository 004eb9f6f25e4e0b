package instances

import (
	"time"

	"k8s.io/utils/clock"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// Config tunes a Manager. Only Cluster is required.
type Config struct {
	// Cluster is the name of the cluster. Labels begin with it, and with ClusterUID it
	// makes the tag by which the cluster's instances are found.
	Cluster string
	// ClusterUID distinguishes clusters of one name that share an account, for
	// example the UID of the namespace kube-system. It may be empty.
	ClusterUID string
	// LabelPrefix replaces Cluster at the start of labels.
	LabelPrefix string
	// SettleTime bounds the lag of a direct read behind writes. 0 means 4s.
	SettleTime time.Duration
	// LateEffect bounds the time after its failure, or the death of its sender, at which a
	// write may still take effect. 0 means 2m.
	LateEffect time.Duration
	// OrphanTTL delays the collection of an instance whose claimant no longer exists.
	// 0 means 5m.
	OrphanTTL time.Duration
	// BootTimeout delays the health Stopped of an instance that does not run, from when
	// this process first saw it. 0 means 10m.
	BootTimeout time.Duration
	// FinishTimeout bounds the time for disks, configuration and boot. 0 means 10m.
	FinishTimeout time.Duration
	// Ceilings bounds the cluster's instances by number and hourly price.
	claims.Ceilings
	// Creations bounds the creations in 15 seconds, for accounts with less than the
	// documented limit. 0 means 20.
	Creations int
	// Holder returns the claimant that has an instance. An instance with a holder
	// that exists is never collected. Nil means that there are no records.
	Holder claims.Holder
	// Tags configures the keys of the tags that record claims.
	Tags claims.Tags
	// Clock is the source of time; nil means the real one.
	Clock clock.Clock
	// Observer receives ended requests and calls of Create.
	Observer claims.Observer
}

// settings contains a Config with defaults and the tags that follow from it.
type settings struct {
	Config
	own ownership
}

// withDefaults returns an error for values that cannot work, and replaces zero values.
func (c Config) withDefaults() (settings, error) {
	for _, setting := range []struct {
		field string
		value *time.Duration
		usual time.Duration
	}{
		{"Config.SettleTime", &c.SettleTime, 4 * time.Second},
		{"Config.LateEffect", &c.LateEffect, 2 * time.Minute},
		{"Config.OrphanTTL", &c.OrphanTTL, 5 * time.Minute},
		{"Config.BootTimeout", &c.BootTimeout, 10 * time.Minute},
		{"Config.FinishTimeout", &c.FinishTimeout, 10 * time.Minute},
	} {
		if *setting.value < 0 {
			return settings{}, claims.Invalid("configure", setting.field, "%s is negative; durations must be 0 (the default) or positive",
				*setting.value)
		}
		if *setting.value == 0 {
			*setting.value = setting.usual
		}
	}
	switch {
	case c.Cluster == "":
		return settings{}, claims.Invalid("configure", "Config.Cluster", "is empty; it must be the name of the cluster")
	case !objectName.MatchString(c.Cluster):
		return settings{}, claims.Invalid("configure", "Config.Cluster",
			"%q must be letters, digits, '-' and '.', with a letter or digit at both ends",
			c.Cluster)
	case c.Creations < 0 || c.Creations > creationLimit:
		return settings{}, claims.Invalid("configure", "Config.Creations",
			"%d must be from 0 (the default) to %d, the API's limit in 15 seconds", c.Creations,
			creationLimit)
	}
	if err := c.Tags.Check("configure", "Config.Tags"); err != nil {
		return settings{}, err
	}
	if err := c.Ceilings.Check("configure"); err != nil {
		return settings{}, err
	}
	if c.Creations == 0 {
		c.Creations = creationLimit
	}
	if c.LabelPrefix == "" {
		c.LabelPrefix = c.Cluster
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	return settings{Config: c, own: c.ownership()}, nil
}
