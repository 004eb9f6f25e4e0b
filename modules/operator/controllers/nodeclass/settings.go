package nodeclass

import (
	"context"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// AccountAPI reads the account's settings; *linode.Client is one.
type AccountAPI interface {
	GetAccountSettings(ctx context.Context) (*api.AccountSettings, error)
}

// Settings remembers the account's settings for a while.
type Settings struct {
	memory *memory[struct{}, api.AccountSettings]
}

// NewSettings returns Settings whose answers are up to ttl old.
func NewSettings(client AccountAPI, ttl time.Duration) *Settings {
	return &Settings{newMemory(ttl, func(ctx context.Context, _ struct{}) (*api.AccountSettings, error) {
		return client.GetAccountSettings(ctx)
	})}
}

// Generation is the kind of network interfaces that the account gives new Linodes; "" when the account does not say.
func (s *Settings) Generation(ctx context.Context) (instances.Generation, error) {
	found, err := s.memory.get(ctx, struct{}{})
	if err != nil || found == nil || found.InterfacesForNewLinodes == nil {
		return "", err
	}
	if strings.HasPrefix(string(*found.InterfacesForNewLinodes), "linode_") {
		return instances.GenerationLinode, nil
	}
	return instances.GenerationLegacy, nil
}
