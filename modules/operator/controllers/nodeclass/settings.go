package nodeclass

import (
	"context"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// Generation returns which kind of network interfaces the account gives new Linodes, from a memory that is up to ttl old; "" when the
// account's settings do not contain it.
func Generation(client *linode.Client, ttl time.Duration) func(context.Context) (instances.Generation, error) {
	settings := remembered(ttl, func(ctx context.Context, _ struct{}) (*api.AccountSettings, error) {
		return client.GetAccountSettings(ctx)
	})
	return func(ctx context.Context) (instances.Generation, error) {
		found, err := settings(ctx, struct{}{})
		switch {
		case err != nil || found == nil || found.InterfacesForNewLinodes == nil:
			return "", err
		case strings.HasPrefix(string(*found.InterfacesForNewLinodes), "linode_"):
			return instances.GenerationLinode, nil
		}
		return instances.GenerationLegacy, nil
	}
}
