package nodeclass

import (
	"context"
	"fmt"
	"slices"
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
}

// How long is remembered that an object is missing, and that the API gave no answer. It is short, because a user
// may be about to make it right, and long enough that events do not become requests.
const doubtTTL = 20 * time.Second

// Lookup reads what LinodeNodeClasses name from the Linode API, and remembers answers for a while, so that events do
// not become requests: an object that was found for the time given to NewLookup, one that is missing, or an error, for
// 20 seconds. Those who ask for the same object at the same time share one request. Safe for concurrent use.
type Lookup struct {
	client     API
	firewalls  *memory[int, status.Firewall]
	images     *memory[string, status.Image]
	placements *memory[int, status.PlacementGroup]
}

var _ status.Lookup = (*Lookup)(nil)

// NewLookup returns a Lookup whose answers are up to ttl old.
func NewLookup(client API, ttl time.Duration) *Lookup {
	return &Lookup{
		client:     client,
		firewalls:  newMemory[int, status.Firewall](ttl),
		images:     newMemory[string, status.Image](ttl),
		placements: newMemory[int, status.PlacementGroup](ttl),
	}
}

// Firewall returns nil without an error when the API has answered that there is no such firewall.
func (l *Lookup) Firewall(ctx context.Context, id int) (*status.Firewall, error) {
	return l.firewalls.get(id, func() (*status.Firewall, error) {
		found, err := l.client.GetFirewall(ctx, id)
		if err != nil {
			return nil, missing(err)
		}
		return &status.Firewall{Label: found.Label, Status: string(found.Status)}, nil
	})
}

// Image returns nil without an error when the API has answered that the account has no such image.
func (l *Lookup) Image(ctx context.Context, id string) (*status.Image, error) {
	return l.images.get(id, func() (*status.Image, error) {
		found, err := l.client.GetImage(ctx, id)
		if err != nil {
			return nil, missing(err)
		}
		return &status.Image{
			Label: found.Label, Deprecated: found.Deprecated,
			Available: found.Status == "available", CloudInit: slices.Contains(found.Capabilities, "cloud-init"),
		}, nil
	})
}

// PlacementGroup returns nil without an error when the API has answered that there is no such placement group.
func (l *Lookup) PlacementGroup(ctx context.Context, id int) (*status.PlacementGroup, error) {
	return l.placements.get(id, func() (*status.PlacementGroup, error) {
		found, err := l.client.GetPlacementGroup(ctx, id)
		if err != nil {
			return nil, missing(err)
		}
		return &status.PlacementGroup{Label: found.Label, Region: found.Region}, nil
	})
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
