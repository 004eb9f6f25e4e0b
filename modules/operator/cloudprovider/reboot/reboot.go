// Package reboot starts Linodes again, for core's repair of nodes, in every mode.
//
// The API cannot recognise a repeated request. So Reboot recognises a repetition by its operation ID while this process runs. After a
// restart of the operator, or if a response was lost, Reboot goes by the Linode's status: it does not reboot a Linode that is about to
// boot. One case remains: the Linode has booted before the next process reads its status. Reboot then reboots the Linode a second time,
// and the node is down for another minute.
//
// Errors are core's. NodeRebootFailed means that a repetition cannot help, and core replaces the node at once. After any other error core
// repeats the call. A 404 proves nothing here, so after a 404 core repeats the call, too: package cloudprovider has its own proof that a
// Linode is gone.
//
// Package cloudprovider calls it, concurrently.
//
// Reboot remembers an accepted request for an hour. Example: the API accepts the reboot of operation 7f, but core loses its connection to
// Kubernetes and repeats the operation 7f. Reboot returns nil and sends nothing.
package reboot

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/refusal"
)

// API is the part of the Linode API that is used; *linode.Client implements it.
type API interface {
	GetInstance(ctx context.Context, instanceID int) (*api.Instance, error)
	RebootInstance(ctx context.Context, instanceID int, boot api.InstanceBoot) error
}

// Rebooter reboots Linodes.
type Rebooter struct {
	api      API
	accepted *cache.Expiring // IDs of operations
}

// New returns a Rebooter.
func New(api API) *Rebooter { return &Rebooter{api: api, accepted: cache.NewExpiring()} }

// memory is the time for which an accepted operation is remembered. Core gives up an operation after 25 minutes.
const memory = time.Hour

// Statuses of a Linode that is about to run, and of a Linode that runs only after a boot.
var (
	underWay = []string{"rebooting", "booting", "provisioning"}
	off      = []string{"offline", "stopped", "shutting_down", "deleting", "billing_suspension"}
)

// Reboot reboots a Linode, once for each operation ID. It returns when the API has accepted the request.
func (r *Rebooter) Reboot(ctx context.Context, instanceID int, operationID string) error {
	if _, done := r.accepted.Get(operationID); done {
		return nil
	}
	instance, err := r.api.GetInstance(ctx, instanceID)
	if err != nil {
		return verdict(instanceID, err)
	}
	switch status := string(instance.Status); {
	case slices.Contains(underWay, status):
	case slices.Contains(off, status):
		return cloudprovider.NewNodeRebootFailedError(fmt.Errorf("instance %d is %s", instanceID, status))
	default:
		if err := r.api.RebootInstance(ctx, instanceID, api.InstanceBoot{}); err != nil && refusal.Of(err).Effect != claims.EffectApplied {
			return verdict(instanceID, err)
		}
	}
	r.accepted.Set(operationID, nil, memory)
	return nil
}

// verdict returns core's error for an error of the client.
func verdict(instanceID int, err error) error {
	v := refusal.Of(err)
	err = fmt.Errorf("rebooting instance %d: %w", instanceID, err)
	switch v.Kind {
	case claims.KindForbidden:
		return cloudprovider.NewNodeRebootFailedError(fmt.Errorf("%w (the token needs the scope linodes:read_write)", err))
	case claims.KindInvalid:
		return cloudprovider.NewNodeRebootFailedError(err)
	}
	return err
}
