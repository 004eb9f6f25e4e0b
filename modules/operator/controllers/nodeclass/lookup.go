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
// 20 seconds. Reconciles of classes that need the same object at the same time share one request. Every method returns
// nil without an error when the API has answered that there is no such object. Safe for concurrent use.
type Lookup struct {
	firewalls  *memory[int, firewall]
	images     *memory[string, api.Image]
	placements *memory[int, api.PlacementGroup]
	regions    *memory[string, api.Region]
	vpcs       *memory[int, vpc]
	newest     *memory[string, api.Image] // by pattern
	age        time.Duration              // of answers that are still given
}

var _ status.Lookup = (*Lookup)(nil)

// NewLookup returns a Lookup whose answers are up to ttl old.
func NewLookup(client API, ttl time.Duration) *Lookup {
	return &Lookup{
		firewalls:  newMemory(ttl, func(ctx context.Context, id int) (*firewall, error) { return readFirewall(ctx, client, id) }),
		images:     newMemory(ttl, client.GetImage),
		placements: newMemory(ttl, client.GetPlacementGroup),
		regions:    newMemory(ttl, client.GetRegion),
		vpcs:       newMemory(ttl, func(ctx context.Context, id int) (*vpc, error) { return readVPC(ctx, client, id) }),
		newest: newMemory(ttl, func(ctx context.Context, pattern string) (*api.Image, error) {
			return newestImage(client.ListImages(ctx, linode.Filter{}), glob(pattern))
		}),
		age: ttl,
	}
}

// Young shares this Lookup's memory and gives no answer older than 20 seconds: what a class waits for is about to change.
func (l *Lookup) Young() *Lookup {
	young := *l
	young.age = min(l.age, doubtTTL)
	return &young
}

// Firewall implements status.Lookup.
func (l *Lookup) Firewall(ctx context.Context, id int) (*status.Firewall, error) {
	found, err := l.firewalls.young(ctx, id, l.age)
	if found == nil {
		return nil, missing(err)
	}
	return &found.Firewall, nil
}

// Image implements status.Lookup.
func (l *Lookup) Image(ctx context.Context, id string) (*status.Image, error) {
	found, err := l.images.young(ctx, id, l.age)
	if found == nil {
		return nil, missing(err)
	}
	return &status.Image{Label: found.Label, Deprecated: found.Deprecated, Available: found.Status == "available", CloudInit: cloudInit(*found)}, nil
}

// PlacementGroup implements status.Lookup.
func (l *Lookup) PlacementGroup(ctx context.Context, id int) (*status.PlacementGroup, error) {
	found, err := l.placements.young(ctx, id, l.age)
	if found == nil {
		return nil, missing(err)
	}
	group := &status.PlacementGroup{Label: found.Label, Region: found.Region, Members: len(found.Members)}
	if region, err := l.regions.young(ctx, found.Region, l.age); err == nil && region != nil { // without the region's answer no limit is known
		group.Limit = memberLimit(region.PlacementGroupLimits, found.PlacementGroupPolicy == "flexible")
	}
	return group, nil
}

// Region implements status.Lookup.
func (l *Lookup) Region(ctx context.Context, id string) (*status.Region, error) {
	found, err := l.regions.young(ctx, id, l.age)
	if found == nil {
		return nil, missing(err)
	}
	return &status.Region{Capabilities: found.Capabilities}, nil
}

// VPC implements status.Lookup.
func (l *Lookup) VPC(ctx context.Context, id int) (*status.VPC, error) {
	found, err := l.vpcs.young(ctx, id, l.age)
	if found == nil {
		return nil, missing(err)
	}
	return &found.VPC, nil
}

// NewestImage returns the newest image that can be deployed and whose label the pattern matches, "" for none.
func (l *Lookup) NewestImage(ctx context.Context, pattern string) (id, label string, err error) {
	found, err := l.newest.young(ctx, pattern, l.age)
	if found == nil {
		return "", "", missing(err)
	}
	return found.ID, found.Label, nil
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
