package nodeclass

import (
	"context"
	"iter"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
)

// Lookup reads the objects that LinodeNodeClasses name from the Linode API. It remembers answers, so that events do not become requests: a
// found object for the time given to NewLookup, a missing object and an error for 20 seconds. Reconciles of classes that need the same
// object at the same time share one request. Each method returns nil without an error if the API has answered that the object does not
// exist. Lookup is safe for concurrent use.
type Lookup struct {
	firewalls  reader[int, firewall]
	images     reader[string, api.Image]
	placements reader[int, api.PlacementGroup]
	regions    reader[string, api.Region]
	vpcs       reader[int, vpc]
	newest     reader[string, api.Image] // by pattern
	age        time.Duration             // the largest age of a remembered answer that is still returned
}

var _ status.Lookup = (*Lookup)(nil)

// NewLookup returns a Lookup whose answers are up to ttl old.
func NewLookup(client *linode.Client, ttl time.Duration) *Lookup {
	return &Lookup{
		firewalls:  remembered(ttl, func(ctx context.Context, id int) (*firewall, error) { return readFirewall(ctx, client, id) }),
		images:     remembered(ttl, client.GetImage),
		placements: remembered(ttl, client.GetPlacementGroup),
		regions:    remembered(ttl, client.GetRegion),
		vpcs:       remembered(ttl, func(ctx context.Context, id int) (*vpc, error) { return readVPC(ctx, client, id) }),
		newest: remembered(ttl, func(ctx context.Context, pattern string) (*api.Image, error) {
			return newestImage(client.ListImages(ctx, linode.Filter{}), glob(pattern))
		}),
		age: ttl,
	}
}

// Young returns a Lookup that shares this Lookup's memory and returns no answer older than 20 seconds. It serves classes that are not
// ready, because a user may be about to change the object for which the class waits.
func (l *Lookup) Young() *Lookup {
	young := *l
	young.age = min(l.age, doubtTTL)
	return &young
}

// Firewall implements status.Lookup.
func (l *Lookup) Firewall(ctx context.Context, id int) (*status.Firewall, error) {
	found, err := l.firewalls(ctx, id, l.age)
	if found == nil {
		return nil, err
	}
	return &found.Firewall, nil
}

// Image implements status.Lookup.
func (l *Lookup) Image(ctx context.Context, id string) (*status.Image, error) {
	found, err := l.images(ctx, id, l.age)
	if found == nil {
		return nil, err
	}
	return &status.Image{Label: found.Label, Deprecated: found.Deprecated, Available: found.Status == "available",
		CloudInit: cloudInit(*found)}, nil
}

// PlacementGroup implements status.Lookup.
func (l *Lookup) PlacementGroup(ctx context.Context, id int) (*status.PlacementGroup, error) {
	found, err := l.placements(ctx, id, l.age)
	if found == nil {
		return nil, err
	}
	group := &status.PlacementGroup{Label: found.Label, Region: found.Region, Members: len(found.Members)}
	if region, err := l.regions(ctx, found.Region, l.age); err == nil && region != nil { // without the region the limit is not known
		group.Limit = memberLimit(region.PlacementGroupLimits, found.PlacementGroupPolicy == "flexible")
	}
	return group, nil
}

// Region implements status.Lookup.
func (l *Lookup) Region(ctx context.Context, id string) (*status.Region, error) {
	found, err := l.regions(ctx, id, l.age)
	if found == nil {
		return nil, err
	}
	return &status.Region{Capabilities: found.Capabilities}, nil
}

// VPC implements status.Lookup.
func (l *Lookup) VPC(ctx context.Context, id int) (*status.VPC, error) {
	found, err := l.vpcs(ctx, id, l.age)
	if found == nil {
		return nil, err
	}
	return &found.VPC, nil
}

// NewestImage returns the newest image whose label matches the pattern and that can be deployed, "" if there is no such image.
func (l *Lookup) NewestImage(ctx context.Context, pattern string) (id, label string, err error) {
	found, err := l.newest(ctx, pattern, l.age)
	if found == nil {
		return "", "", err
	}
	return found.ID, found.Label, nil
}

// Generation returns a function that returns the kind of network interfaces that the account gives new Linodes. The answer is up to ttl
// old, and "" if the account's settings do not contain it.
func Generation(client *linode.Client, ttl time.Duration) func(context.Context) (instances.Generation, error) {
	settings := remembered(ttl, func(ctx context.Context, _ struct{}) (*api.AccountSettings, error) {
		return client.GetAccountSettings(ctx)
	})
	return func(ctx context.Context) (instances.Generation, error) {
		found, err := settings(ctx, struct{}{}, ttl)
		switch {
		case err != nil || found == nil || found.InterfacesForNewLinodes == nil:
			return "", err
		case strings.HasPrefix(string(*found.InterfacesForNewLinodes), "linode_"):
			return instances.GenerationLinode, nil
		}
		return instances.GenerationLegacy, nil
	}
}

func newestImage(images iter.Seq2[api.Image, error], matches func(label string) bool) (newest *api.Image, err error) {
	for image, err := range images {
		if err != nil {
			return nil, err
		}
		if image.Status != "available" || image.Deprecated || !cloudInit(image) || !matches(image.Label) {
			continue
		}
		if newest == nil || image.Created.After(newest.Created.Time) || image.Created.Equal(newest.Created.Time) && image.ID > newest.ID {
			newest = &image
		}
	}
	return newest, nil
}

// memberLimit returns how many Linodes a placement group may have, 0 if no limit is known.
func memberLimit(limits *api.PlacementGroupLimits, flexible bool) int {
	if limits == nil {
		return 0
	}
	if most, err := limits.MaximumLinodesPerFlexiblePG.Get(); flexible && err == nil {
		return most
	}
	return ptr.Deref(limits.MaximumLinodesPerPG, 0)
}

func cloudInit(image api.Image) bool { return slices.Contains(image.Capabilities, "cloud-init") }

// glob returns a function that matches labels with a pattern in which * stands for any text.
func glob(pattern string) func(string) bool {
	parts := strings.Split(pattern, "*")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile(`(?s)\A` + strings.Join(parts, ".*") + `\z`).MatchString
}
