package nodeclass

import (
	"context"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
)

// API is what a Lookup reads; *linode.Client is one.
type API interface {
	GetFirewall(ctx context.Context, id int) (*api.Firewall, error)
	GetImage(ctx context.Context, id string) (*api.Image, error)
	GetPlacementGroup(ctx context.Context, id int) (*api.PlacementGroup, error)
	GetRegion(ctx context.Context, id string) (*api.Region, error)
	GetVPC(ctx context.Context, id int) (*api.VPC, error)
	ListImages(ctx context.Context, filter linode.Filter) iter.Seq2[api.Image, error]
}

// How long is remembered that an object is missing, and that the API gave no answer. It is short, because a user
// may be about to make it right, and long enough that events do not become requests.
const doubtTTL = 20 * time.Second

// Lookup reads what LinodeNodeClasses name from the Linode API, and remembers answers for a while, so that events do
// not become requests: an object that was found for the time given to NewLookup, one that is missing, or an error, for
// 20 seconds. Those who ask for the same object at the same time share one request. Safe for concurrent use.
type Lookup struct {
	client     API
	firewalls  *memory[int, firewall]
	images     *memory[string, status.Image]
	placements *memory[int, status.PlacementGroup]
	regions    *memory[string, api.Region]
	vpcs       *memory[int, vpc]
	newest     *memory[string, api.Image]
}

var _ status.Lookup = (*Lookup)(nil)

// NewLookup returns a Lookup whose answers are up to ttl old.
func NewLookup(client API, ttl time.Duration) *Lookup {
	return &Lookup{
		client:     client,
		firewalls:  newMemory[int, firewall](ttl),
		images:     newMemory[string, status.Image](ttl),
		placements: newMemory[int, status.PlacementGroup](ttl),
		regions:    newMemory[string, api.Region](ttl),
		vpcs:       newMemory[int, vpc](ttl),
		newest:     newMemory[string, api.Image](ttl),
	}
}

// Firewall returns nil without an error when the API has answered that there is no such firewall.
func (l *Lookup) Firewall(ctx context.Context, id int) (*status.Firewall, error) {
	found, err := l.firewall(ctx, id)
	if found == nil || err != nil {
		return nil, err
	}
	return &found.Firewall, nil
}

// Image returns nil without an error when the API has answered that the account has no such image.
func (l *Lookup) Image(ctx context.Context, id string) (*status.Image, error) {
	return l.images.get(id, func() (*status.Image, error) {
		found, err := l.client.GetImage(ctx, id)
		if err != nil {
			return nil, missing(err)
		}
		return &status.Image{Label: found.Label, Deprecated: found.Deprecated, Available: found.Status == "available", CloudInit: cloudInit(*found)}, nil
	})
}

// PlacementGroup returns nil without an error when the API has answered that there is no such placement group.
func (l *Lookup) PlacementGroup(ctx context.Context, id int) (*status.PlacementGroup, error) {
	return l.placements.get(id, func() (*status.PlacementGroup, error) {
		found, err := l.client.GetPlacementGroup(ctx, id)
		if err != nil {
			return nil, missing(err)
		}
		group := &status.PlacementGroup{Label: found.Label, Region: found.Region, Members: len(found.Members)}
		region, err := l.region(ctx, found.Region)
		if err == nil && region != nil { // without the region's answer no limit is known
			group.Limit = memberLimit(region.PlacementGroupLimits, found.PlacementGroupPolicy == "flexible")
		}
		return group, nil
	})
}

// Region returns nil without an error when the API has said that there is no such region.
func (l *Lookup) Region(ctx context.Context, id string) (*status.Region, error) {
	found, err := l.region(ctx, id)
	if found == nil || err != nil {
		return nil, err
	}
	return &status.Region{Capabilities: found.Capabilities}, nil
}

func (l *Lookup) region(ctx context.Context, id string) (*api.Region, error) {
	return l.regions.get(id, func() (*api.Region, error) {
		found, err := l.client.GetRegion(ctx, id)
		if err != nil {
			return nil, missing(err)
		}
		return found, nil
	})
}

// VPC returns nil without an error when the API has said that there is no such VPC.
func (l *Lookup) VPC(ctx context.Context, id int) (*status.VPC, error) {
	found, err := l.vpc(ctx, id)
	if found == nil || err != nil {
		return nil, err
	}
	return &found.VPC, nil
}

// NewestImage returns the newest image that can be deployed and whose label the pattern matches, "" for none.
func (l *Lookup) NewestImage(ctx context.Context, pattern string) (id, label string, err error) {
	found, err := l.newest.get(pattern, func() (*api.Image, error) {
		matches := glob(pattern)
		var newest *api.Image
		for image, err := range l.client.ListImages(ctx, linode.Filter{}) {
			if err != nil {
				return nil, missing(err)
			}
			if image.Status != "available" || image.Deprecated || !cloudInit(image) || !matches(image.Label) {
				continue
			}
			if newest == nil || image.Created.After(newest.Created.Time) || image.Created.Equal(newest.Created.Time) && image.ID > newest.ID {
				newest = &image
			}
		}
		return newest, nil
	})
	if found == nil {
		return "", "", err
	}
	return found.ID, found.Label, nil
}

// memberLimit is how many Linodes a placement group may have, 0 for no known limit.
func memberLimit(limits *api.PlacementGroupLimits, flexible bool) int {
	if limits == nil {
		return 0
	}
	if most, err := limits.MaximumLinodesPerFlexiblePG.Get(); flexible && err == nil {
		return most
	}
	if limits.MaximumLinodesPerPG == nil {
		return 0
	}
	return *limits.MaximumLinodesPerPG
}

func cloudInit(image api.Image) bool { return slices.Contains(image.Capabilities, "cloud-init") }

// glob returns what matches a pattern with * for any text.
func glob(pattern string) func(string) bool {
	parts := strings.Split(pattern, "*")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile(`(?s)\A` + strings.Join(parts, ".*") + `\z`).MatchString
}

// missing turns an error of the API into what package status makes of it: nil for a proven absence. A token that is not
// accepted at all (401) proves nothing about the object, unlike one that lacks the scope to read it (403).
func missing(err error) error {
	switch linode.KindOf(err) {
	case linode.KindNotFound:
		return nil
	case linode.KindForbidden:
		return fmt.Errorf("%w: %w", status.ErrForbidden, err)
	}
	return err
}
