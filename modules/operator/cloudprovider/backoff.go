package cloudprovider

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/pacing"
)

// backoff holds which plans a NodePool does not ask for because its launches of them failed: a node that never joined was paid for, and a
// launch that the API refuses keeps core from planning for the whole cluster until it is given up. The pause grows with each failure in
// a row and ends with a node that joins. It is empty after a restart.
type backoff struct {
	mu       sync.Mutex
	failures map[target]*pacing.Record
}

// A target is what is not asked for; an empty plan stands for all of the NodePool.
type target struct{ nodePool, plan string }

// launchPauses are those after launches that were given up. They stay short: a user who corrects the cause waits for the next one.
var launchPauses = []time.Duration{0, time.Minute}

// failureMemory is for how long after its last pause a failure counts for the next.
const failureMemory = time.Hour

// failed notes a failure, and returns the pause.
func (b *backoff) failed(t target, pauses []time.Duration) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.failures, func(_ target, f *pacing.Record) bool { return time.Since(f.Until) > failureMemory })
	if b.failures[t] == nil {
		b.failures[t] = &pacing.Record{}
	}
	return b.failures[t].Failed(time.Now(), pauses)
}

// joined forgets the failures of a plan when a node of it has joined since.
func (b *backoff) joined(nodePool, plan string, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range []target{{nodePool, plan}, {nodePool, ""}} {
		if f, known := b.failures[t]; known && at.After(f.Last) {
			delete(b.failures, t)
		}
	}
}

// pausing returns whether a NodePool does not ask for a plan now.
func (b *backoff) pausing(nodePool, plan string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc([]target{{nodePool, plan}, {nodePool, ""}}, func(t target) bool {
		f, known := b.failures[t]
		return known && time.Now().Before(f.Until)
	})
}

// without returns the instance types with the offerings of some of them unavailable. They stay in the list: core replaces the nodes of a
// type that is not there.
func without(all []*cloudprovider.InstanceType, leftOut func(plan string) bool) []*cloudprovider.InstanceType {
	result := make([]*cloudprovider.InstanceType, 0, len(all))
	for _, it := range all {
		if leftOut(it.Name) {
			it = unavailable(it)
		}
		result = append(result, it)
	}
	return result
}

func unavailable(it *cloudprovider.InstanceType) *cloudprovider.InstanceType {
	result := &cloudprovider.InstanceType{Name: it.Name, Requirements: it.Requirements, Capacity: it.Capacity, Overhead: it.Overhead}
	for _, offering := range it.Offerings {
		result.Offerings = append(result.Offerings, &cloudprovider.Offering{Requirements: offering.Requirements, Price: offering.Price})
	}
	return result
}

// neverJoined returns whether a NodeClaim that is deleted had an instance for so long that its node should have joined. Core gives a
// registration up after 15 minutes.
func neverJoined(nodeClaim *karpv1.NodeClaim) bool {
	const joins = 14 * time.Minute
	launched, registered := nodeClaim.StatusConditions().Get(karpv1.ConditionTypeLaunched), nodeClaim.StatusConditions().Get(karpv1.ConditionTypeRegistered)
	return launched.IsTrue() && !registered.IsTrue() && time.Since(launched.LastTransitionTime.Time) > joins
}

// A Failure is a plan, or "" for all plans, of which launches failed in a row.
type Failure struct {
	Plan string
	pacing.Record
}

// Failures returns what of a NodePool fails, until a node joins.
func (c *CloudProvider) Failures(nodePool string) (failures []Failure) {
	c.backoff.mu.Lock()
	defer c.backoff.mu.Unlock()
	for t, f := range c.backoff.failures {
		if t.nodePool == nodePool && time.Since(f.Until) <= failureMemory {
			failures = append(failures, Failure{t.plan, *f})
		}
	}
	slices.SortFunc(failures, func(a, b Failure) int { return strings.Compare(a.Plan, b.Plan) })
	return failures
}

// limitMemory is for how long a refusal because of the account's or the cluster's limit counts as the reason why nothing can surge.
const limitMemory = 15 * time.Minute

// Limited returns whether a launch of the NodePool was refused lately because of a limit of the account or the cluster.
func (c *CloudProvider) Limited(nodePool string) bool {
	_, is := c.limited.Get(nodePool)
	return is
}

// ReleaseClaimOf releases the instance of a NodeClaim that is gone and never had a provider ID, if it got one in this process. It asks
// the memory alone; what is unknown is left to garbage collection.
func (c *CloudProvider) ReleaseClaimOf(ctx context.Context, nodeClaim string) error {
	id, found := c.inventory.claimOf(c.backend.ClaimValue(nodeClaim))
	if !found {
		return nil
	}
	return cloudprovider.IgnoreNodeClaimNotFoundError(c.release(ctx, id, lkepool.Claimant{Name: nodeClaim}))
}
