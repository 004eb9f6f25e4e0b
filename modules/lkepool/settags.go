package lkepool

import (
	"context"
	"slices"
	"strconv"
	"time"
)

// SetTags takes tags off a claimed instance and puts others on, and leaves
// everything else, the claim and the platform's own tags above all. It never
// runs at the same time as a claim of the same instance. A change that makes no
// difference writes nothing.
func (a *Allocator) SetTags(ctx context.Context, instanceID int, remove, add []string) error {
	const op = "set tags"
	if instanceID <= 0 {
		return invalid(op, "instanceID", "%d is not an instance ID", instanceID)
	}
	if err := a.checkTags(op, "add", add); err != nil {
		return err
	}
	for i, tag := range remove {
		if ownTag(tag) || a.backend.ReservedTag(tag) {
			return invalid(op, "remove["+strconv.Itoa(i)+"]", "%q is not a user's tag", tag)
		}
	}
	// Pools do not change hands, so what is known of one is good for long.
	pool, known, err := a.homeOf(ctx, instanceID, time.Hour)
	if err != nil {
		return asError(op, err)
	}
	if known && !pool.ours() {
		return notOurs(op, instanceID, pool.ID)
	}
	unlock, err := a.instances.Lock(ctx, instanceID)
	if err != nil {
		return asError(op, err)
	}
	defer unlock()
	instance, err := a.backend.Instance(ctx, instanceID)
	if err != nil {
		return asError(op, err)
	}
	claim := a.ledger.claim(instanceID, claimOf(instance.Tags))
	if !known || instance.Foreign || claim == "" {
		return notOurs(op, instanceID, instance.PoolID)
	}
	tags := slices.DeleteFunc(slices.Clone(instance.Tags), func(tag string) bool {
		return slices.Contains(remove, tag) && !slices.Contains(add, tag)
	})
	tags = union(tags, add)
	if claimOf(tags) == "" {
		// Somebody removed the claim by hand from a node that has a claimant.
		tags = union(tags, []string{claimPrefix + claim})
	}
	if slices.Equal(tags, instance.Tags) {
		return nil
	}
	ctx, cancel := finishing(ctx)
	defer cancel()
	_, err = a.backend.Mark(ctx, instanceID, tags)
	return asError(op, err)
}
