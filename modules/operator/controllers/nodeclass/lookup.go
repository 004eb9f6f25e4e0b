package nodeclass

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
)

// API is what a Lookup reads; *linode.Client is one.
type API interface {
	GetFirewall(ctx context.Context, id int) (*api.Firewall, error)
}

// Lookup reads what LinodeNodeClasses name from the Linode API, and remembers answers for a while, so that
// events do not become requests. Failures are not remembered. Safe for concurrent use.
type Lookup struct {
	client API
	ttl    time.Duration

	mu        sync.Mutex
	firewalls map[int]firewallAnswer
}

var _ status.Lookup = (*Lookup)(nil)

type firewallAnswer struct {
	firewall *status.Firewall // nil: there is none
	at       time.Time
}

// NewLookup returns a Lookup whose answers are up to ttl old.
func NewLookup(client API, ttl time.Duration) *Lookup {
	return &Lookup{client: client, ttl: ttl, firewalls: map[int]firewallAnswer{}}
}

// Firewall returns nil without an error when the API has said that there is no such firewall.
func (l *Lookup) Firewall(ctx context.Context, id int) (*status.Firewall, error) {
	if answer, ok := l.remembered(id); ok {
		return answer, nil
	}
	found, err := l.client.GetFirewall(ctx, id)
	switch linode.KindOf(err) {
	case linode.KindNotFound:
		return l.remember(id, nil), nil
	case linode.KindForbidden, linode.KindUnauthorized:
		return nil, fmt.Errorf("%w: %w", status.ErrForbidden, err)
	}
	if err != nil {
		return nil, err
	}
	return l.remember(id, &status.Firewall{Label: found.Label, Status: string(found.Status)}), nil
}

func (l *Lookup) remembered(id int) (*status.Firewall, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	answer, ok := l.firewalls[id]
	return answer.firewall, ok && time.Since(answer.at) < l.ttl
}

func (l *Lookup) remember(id int, firewall *status.Firewall) *status.Firewall {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.firewalls[id] = firewallAnswer{firewall, time.Now()}
	return firewall
}

var errInstanceMode = errors.New("instance mode is not in this release")

// Image is asked for in instance mode only.
func (l *Lookup) Image(context.Context, string) (*status.Image, error) { return nil, errInstanceMode }

// PlacementGroup is asked for in instance mode only.
func (l *Lookup) PlacementGroup(context.Context, int) (*status.PlacementGroup, error) {
	return nil, errInstanceMode
}
