// Package allocator has the [Allocator], which gives each claimant exactly one node of a pool. It runs the state machine of package core
// over a lkepool.Backend: it passes calls and the ends of requests to the core, one at a time, and makes the requests that the core
// chooses, at most 64 at once.
//
// The caller is a controller, for Karpenter package mode/lke of module operator. It calls Claim for a claimant again and again until Claim
// returns a node, or an error of a kind for which the caller gives up. A call waits until its context ends. The end of a call cancels no
// purchase: capacity that was requested stays, and the next call of the claimant finds it.
//
//	nodes, err := allocator.New(backend, lkepool.Config{Records: records})
//	nodes.Begin(allocator.MayStillWrite) // at each election
//	node, err := nodes.Claim(ctx, lkepool.Request{Claimant: claimant, Key: key})
//
// Errors are *claims.Error. KindProvisioning is no failure: the node is on its way. KindNotFound is a proof that the instance is gone.
// KindConflict means that the instance belongs to another claimant, or not to this engine.
//
// Run one Allocator for a cluster, in the process that leads: two Allocators that write at the same time may buy twice. New assumes that
// writes of an earlier process may still take effect. A process that is elected calls Begin. The Allocator keeps nothing on disk: after a
// restart it learns everything from the tags at the platform and from Config.Records. An Allocator is safe for concurrent use. Without
// callers and without writes under way it has no goroutine.
//
// A call with wrong parameters is KindInvalid with the field: a claimant's name with more than 253 characters, a tag with fewer than 3 or
// more than 50 characters, an instance ID below 1.
package allocator

import (
	"context"
	"errors"
	"strconv"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core"
)

// Allocator hands out nodes. It is safe for concurrent use, and the only
// writer of the counts of its pools: run one per cluster.
type Allocator struct {
	backend lkepool.Backend
	cfg     lkepool.Config
	tags    core.Tagging
	shell   *shell
}

// New returns an Allocator over a backend. It makes no request. The Allocator
// begins to lead at once, as after Begin(MayStillWrite).
func New(backend lkepool.Backend, cfg lkepool.Config) (*Allocator, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	if backend == nil {
		return nil, claims.Invalid("configure", "backend", "is nil")
	}
	cfg = cfg.WithDefaults()
	a := &Allocator{backend: backend, cfg: cfg, tags: core.NewTagging(cfg.Tags), shell: newShell(backend, cfg)}
	a.Begin(MayStillWrite)
	return a, nil
}

// Predecessor classifies how the previous leader ended.
type Predecessor = claims.Predecessor

const (
	// MayStillWrite is a process that died, or a process about whose end nothing is known. Its writes may be
	// under way, and its failed writes may still take effect. For Config.LateEffect and Config.SettleTime the
	// Allocator neither makes the pools that it found larger nor deletes them; further nodes come in new pools.
	MayStillWrite = claims.MayStillWrite
	// Ended is a process after which no write may still take effect, neither its own nor a write of an
	// earlier process. The API answered each write with success or a refusal, or Config.LateEffect has
	// passed since the write failed. Ended also means that there was no process. The Allocator waits only
	// for Config.SettleTime.
	Ended = claims.Ended
)

// Begin informs the Allocator that this process begins to lead now. The Allocator
// forgets everything that it has seen before, because another process may have
// changed it. It buys, overwrites and removes nothing until a full reading that
// begins Config.SettleTime from now. Programs with leader election call Begin
// when they are elected. Callers that wait meanwhile keep waiting.
func (a *Allocator) Begin(after Predecessor) { a.shell.begin(a.backend.Limits(), after == Ended) }

// Claim returns a node for the claimant: the node that the claimant has already, a
// free node, or a new node of the platform. It waits until ctx ends, and then
// returns KindProvisioning, or the kind of the failure that holds the engine up.
// Capacity that was requested stays, and the next call finds it.
//
// A claimant that has a node already gets this node, whatever key it requests:
// read the properties of the node from the result, not from the request. Store
// the newest result. While lists lag, the result may be another node than the
// result of an earlier call; Collect then removes the earlier node.
func (a *Allocator) Claim(ctx context.Context, request lkepool.Request) (lkepool.Node, error) {
	began := a.cfg.Clock.Now()
	result := core.Answer{Err: a.check(request)}
	if result.Err == nil {
		result = a.shell.call(ctx, core.Ask{Kind: core.AskClaim, Request: request})
	}
	if hook := a.cfg.Observer.Claim; hook != nil {
		hook(claims.ClaimEnd{
			NodePool: request.Key.NodePool, InstanceType: request.Key.InstanceType,
			Claimant: request.Claimant, Wait: a.cfg.Clock.Since(began), Err: result.Err,
		})
	}
	return result.Node, result.Err
}

// Get reads one instance. KindNotFound is a proof. Either two reads were answered 404, the second ListLag and
// SettleTime after the first, and a list that began ListLag after the first 404 lacks the instance. Or a removal was
// accepted, and a later read was answered 404. KindConflict means that the instance exists and does not belong to this
// engine.
func (a *Allocator) Get(ctx context.Context, instanceID int) (lkepool.Node, error) {
	if err := checkID("get", instanceID); err != nil {
		return lkepool.Node{}, err
	}
	result := a.shell.call(ctx, core.Ask{Kind: core.AskGet, ID: instanceID})
	return result.Node, result.Err
}

// List returns all claimed nodes of this cluster, in the order of their IDs. It
// reads the lists of pools and instances, and reads objects that the lists lack
// one by one. An instance stays in the result until it is proven gone. The result
// is never partial: List returns an error instead.
func (a *Allocator) List(ctx context.Context) ([]lkepool.Node, error) {
	result := a.shell.call(ctx, core.Ask{Kind: core.AskList})
	return result.Nodes, result.Err
}

// Release removes an instance for good. nil means that the platform accepted
// the removal, now or before; the instance may exist for a while. KindNotFound
// means that the instance does not exist, proven as for Get. KindConflict means
// that the instance belongs to another claimant, or not to this engine. The
// zero Claimant stands for any claimant.
//
// Release removes the node by its node ID. It never lowers the count of a pool,
// because the platform would choose the node that goes. The last node goes with
// its pool.
func (a *Allocator) Release(ctx context.Context, instanceID int, by claims.Claimant) error {
	if err := checkID("release", instanceID); err != nil {
		return err
	}
	return a.shell.call(ctx, core.Ask{Kind: core.AskRelease, ID: instanceID, By: by}).Err
}

// SetTags removes tags from a claimed instance and adds tags. It leaves all other
// tags as they are, in particular the claim and the platform's own tags. If the
// instance has the wanted tags already, SetTags writes nothing. KindConflict
// means that the instance is not the claimant's; the zero Claimant stands for any
// claimant.
func (a *Allocator) SetTags(ctx context.Context, instanceID int, by claims.Claimant, remove, add []string) error {
	const op = "set tags"
	if err := checkID(op, instanceID); err != nil {
		return err
	}
	if err := a.checkTags(op, "add", add); err != nil {
		return err
	}
	for i, tag := range remove {
		if a.tags.Own(tag) || a.backend.ReservedTag(tag) {
			return claims.Invalid(op, "remove["+strconv.Itoa(i)+"]", "%q is not a user's tag", tag)
		}
	}
	return a.shell.call(ctx, core.Ask{Kind: core.AskTags, ID: instanceID, By: by, Remove: remove, Add: add}).Err
}

// Owns reports whether this engine made a pool of the cluster. It answers from
// the record, without a request. known is false while the record cannot answer:
// nothing was read so far, or the pool is newer than the last reading.
func (a *Allocator) Owns(poolID int) (owned, known bool) {
	a.shell.tell(func(c *core.Core) { owned, known = c.Owns(poolID) })
	return owned, known
}

// PoolOf returns the pool of an instance from the record, 0 if the record has no pool: it makes no request.
func (a *Allocator) PoolOf(instanceID int) (poolID int) {
	a.shell.tell(func(c *core.Core) { poolID = c.PoolOf(instanceID) })
	return poolID
}

// Failed reports that a node of the key was handed out and did not join its
// cluster: the next purchase for the key waits for a pause that grows with each
// failure in a row. Joined ends the row.
func (a *Allocator) Failed(key lkepool.Key) {
	a.shell.tell(func(c *core.Core) { c.Failed(key, a.cfg.Clock.Now()) })
}

// Joined reports that a node of the key joined its cluster.
func (a *Allocator) Joined(key lkepool.Key) { a.shell.tell(func(c *core.Core) { c.Joined(key) }) }

// Collect removes nodes, slots and pools that nothing needs:
//
//	a node           free for longer than OrphanTTL, and no claimant waits for it
//	a node           its claimant has not existed for OrphanTTL
//	several nodes    with one claimant: all but one
//	a slot           without an instance for longer than PendingTimeout
//	a pool           without nodes
//
// Times are measured from when this process first saw the state. Collect removes a
// node only if the sweep's Vacate agrees. Until then a claimant may still get the
// node, so Collect reads and judges each node again right before it removes the
// node. If there is an error, the removals so far are returned with it.
func (a *Allocator) Collect(ctx context.Context, how claims.Sweep) (claims.Collected, error) {
	if err := a.shell.call(ctx, core.Ask{Kind: core.AskList}).Err; err != nil {
		return claims.Collected{}, core.AsError("collect", err)
	}
	alive, err := how.Alive(ctx)
	if err != nil {
		return claims.Collected{}, &claims.Error{Kind: claims.KindUnavailable, Op: "collect", Err: err}
	}
	orphans := a.shell.call(ctx, core.Ask{Kind: core.AskOrphans, Alive: alive})
	if orphans.Err != nil {
		return claims.Collected{}, orphans.Err
	}
	agreed, vacateErr := vacate(ctx, how.Vacate, orphans.Nodes)
	result := a.shell.call(ctx, core.Ask{Kind: core.AskEvict, Alive: alive, Orphans: agreed})
	if err := errors.Join(vacateErr, result.Err); err != nil {
		return result.Collected, core.AsError("collect", err)
	}
	return result.Collected, nil
}

// Actions returns the values of claims.ActionEnd.Op.
func Actions() []string { return core.Actions() }

func checkID(op string, instanceID int) error {
	if instanceID <= 0 {
		return claims.Invalid(op, "instanceID", "%d is not an instance ID", instanceID)
	}
	return nil
}
