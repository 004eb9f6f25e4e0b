package cloudprovider

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// backoff holds which plans a NodePool does not ask for because its launches of them failed: a node that never joined was paid for, and a
// launch that the API refuses keeps core from planning for the whole cluster until it is given up. The pause grows with each failure in
// a row and ends with a node that joins. It is empty after a restart.
type backoff struct {
	mu       sync.Mutex
	failures map[target]failure
}

// A target is what is not asked for; an empty plan stands for all of the NodePool.
type target struct{ nodePool, plan string }

type failure struct {
	inARow int
	last   time.Time
	until  time.Time
}

// The pauses after the first, second and further failures in a row. The last one repeats.
var (
	joinPauses   = []time.Duration{0, time.Minute, 5 * time.Minute, 15 * time.Minute}
	launchPauses = []time.Duration{0, time.Minute}
)

// failureMemory is for how long after its last pause a failure counts for the next.
const failureMemory = time.Hour

// failed notes a failure, and returns the pause.
func (b *backoff) failed(t target, pauses []time.Duration) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if b.failures == nil {
		b.failures = map[target]failure{}
	}
	for other, f := range b.failures {
		if now.Sub(f.until) > failureMemory {
			delete(b.failures, other)
		}
	}
	n := b.failures[t].inARow
	pause := pauses[min(n, len(pauses)-1)]
	b.failures[t] = failure{inARow: n + 1, last: now, until: now.Add(pause)}
	return pause
}

// joined forgets the failures of a plan when a node of it has joined since.
func (b *backoff) joined(nodePool, plan string, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range []target{{nodePool, plan}, {nodePool, ""}} {
		if f, known := b.failures[t]; known && at.After(f.last) {
			delete(b.failures, t)
		}
	}
}

// pausing returns whether a NodePool does not ask for a plan now.
func (b *backoff) pausing(nodePool, plan string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	return now.Before(b.failures[target{nodePool, plan}].until) || now.Before(b.failures[target{nodePool, ""}].until)
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
	Plan   string
	InARow int
	Until  time.Time // it is not asked for before
}

// Failures returns what of a NodePool fails, until a node joins.
func (c *CloudProvider) Failures(nodePool string) (failures []Failure) {
	c.backoff.mu.Lock()
	defer c.backoff.mu.Unlock()
	for t, f := range c.backoff.failures {
		if t.nodePool == nodePool && time.Since(f.until) <= failureMemory {
			failures = append(failures, Failure{t.plan, f.inARow, f.until})
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
