package instances

import (
	"time"

	"k8s.io/utils/clock"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core"
)

// Config tunes a Manager. Cluster and Records are required; everything else has a default.
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
	// LateEffect bounds the time after its failure, or the death of its sender, in which a
	// write may still take effect. 0 means 2m.
	LateEffect time.Duration
	// ListLag bounds the lag of a list behind writes. 0 means 2m.
	ListLag time.Duration
	// OrphanTTL delays the collection of an instance whose claimant no longer exists.
	// 0 means 5m.
	OrphanTTL time.Duration
	// BootTimeout is how long after this process first saw it an instance that does not
	// run gets the health Stopped. 0 means 10m.
	BootTimeout time.Duration
	// FinishTimeout bounds the time for disks, configuration and boot. 0 means 10m.
	FinishTimeout time.Duration
	// Ceilings bounds the cluster's instances by number and hourly price.
	claims.Ceilings
	// Creations bounds the creations in 15 seconds, for accounts with less than the
	// documented limit. 0 means 20.
	Creations int
	// Records are the caller's own records of the claimants of instances: see [claims.Records] for their content. An instance with a holder
	// that exists is never collected. Programs that store their claims themselves use claims.RecordMap.
	Records claims.Records
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
	own core.Tags
}

// tags returns the tags that record the cluster of an instance.
func (c Config) tags() core.Tags { return core.NewTags(c.Tags, c.Cluster, c.ClusterUID) }

// ClusterTag returns the tag that all instances of the cluster have, and no other
// instance.
func (c Config) ClusterTag() string { return c.tags().Cluster }

// engine returns the settings of the engine, with their defaults.
func (s settings) engine() core.Settings {
	return core.Settings{
		Cluster: s.Cluster, SettleTime: s.SettleTime, LateEffect: s.LateEffect, ListLag: s.ListLag, OrphanTTL: s.OrphanTTL,
		BootTimeout: s.BootTimeout, FinishTimeout: s.FinishTimeout, Ceilings: s.Ceilings, Creations: s.Creations, Records: s.Records,
	}.WithDefaults()
}

// withDefaults returns the settings, and an error for values that cannot work. It leaves
// zero values of the engine's settings as they are, because the engine has its own
// defaults.
func (c Config) withDefaults() (settings, error) {
	if err := claims.CheckDurations("configure", map[string]time.Duration{
		"Config.SettleTime": c.SettleTime, "Config.LateEffect": c.LateEffect, "Config.ListLag": c.ListLag,
		"Config.OrphanTTL": c.OrphanTTL, "Config.BootTimeout": c.BootTimeout, "Config.FinishTimeout": c.FinishTimeout,
	}); err != nil {
		return settings{}, err
	}
	switch {
	case c.Cluster == "":
		return settings{}, claims.Invalid("configure", "Config.Cluster", "is empty; it must be the name of the cluster")
	case !objectName.MatchString(c.Cluster):
		return settings{}, claims.Invalid("configure", "Config.Cluster",
			"%q must be letters, digits, '-' and '.', with a letter or digit at both ends",
			c.Cluster)
	case c.Records == nil:
		return settings{}, claims.Invalid("configure", "Config.Records",
			"is nil; a program that does not store claims itself uses claims.RecordMap")
	case c.Creations < 0 || c.Creations > core.MostCreations:
		return settings{}, claims.Invalid("configure", "Config.Creations",
			"%d must be from 0 (the default) to %d, the API's limit in 15 seconds", c.Creations,
			core.MostCreations)
	}
	if err := c.Tags.Check("configure", "Config.Tags"); err != nil {
		return settings{}, err
	}
	if err := c.Ceilings.Check("configure"); err != nil {
		return settings{}, err
	}
	if c.LabelPrefix == "" {
		c.LabelPrefix = c.Cluster
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	return settings{Config: c, own: c.tags()}, nil
}
