package decide

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/callers"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/known"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/tuning"
)

// serve takes the next step of a request other than a claim.
func (t server) serve(r *callers.Request) {
	var answer event.Answer
	done := true
	switch r.Ask().Kind {
	case event.AskGet:
		answer.Node, done, answer.Err = t.get(r)
	case event.AskRelease:
		done, answer.Err = t.release(r)
	case event.AskTags:
		done, answer.Err = t.setTags(r)
	case event.AskList:
		answer.Nodes, done, answer.Err = t.list(r)
	case event.AskOrphans:
		answer.Nodes = t.orphanNodes(r.Ask().Alive)
	case event.AskEvict:
		t.evict(r)
		return
	}
	if done {
		t.reply(r, answer)
	}
}

// find reads an instance directly after the request came. It returns the instance if it exists, and an error if it is proven gone
// or the read failed.
func (t server) find(r *callers.Request) (n *known.Node, done bool, err error) {
	id := r.Ask().ID
	n, ok := t.known.Node(id)
	if ok && !n.Record().Gone.IsZero() {
		return nil, true, notFound(id)
	}
	read := t.known.Request(instance(id))
	answered := read.Busy == 0 && !read.Ended.IsZero() && !read.Began.Before(r.Since())
	switch {
	case answered && read.Err == nil && ok:
		return n, true, nil
	case answered && read.Err != nil && claims.KindOf(read.Err) != claims.KindNotFound:
		return n, true, read.Err
	case !answered:
		if !t.busy(instance(id)) && !t.wait(read.Until) {
			t.do(event.Action{Op: event.OpGetInstance, InstanceID: id, Reason: r.Ask().Kind.String()})
		}
	case ok:
		t.prove(n)
		err = t.failed(instanceList, r.Since()) // without a list nothing completes the proof
	}
	return n, err != nil, err
}

// homeless reports whether no reading has shown the instance's pool.
func (t server) homeless(n *known.Node) bool {
	_, shown := t.known.Pool(n.Home())
	return !shown
}

// home reports whether the instance's pool is known, or no pool lists the instance. Otherwise it reads the list of pools.
func (t server) home(n *known.Node, r *callers.Request) bool {
	return !t.homeless(n) || t.readList(poolList, r.Since(), "the pool of an instance is not known")
}

func (t server) get(r *callers.Request) (lkepool.Node, bool, error) {
	n, done, err := t.find(r)
	if !done || err != nil {
		return lkepool.Node{}, done, err
	}
	if n.Value().Foreign {
		return lkepool.Node{}, true, notOurs(n.ID(), 0, "does not belong to this cluster")
	}
	if !t.home(n, r) {
		failed := t.failed(poolList, r.Since())
		return lkepool.Node{}, failed != nil, failed
	}
	p, shown := t.known.Pool(n.Home())
	if shown && !p.Ours() || !shown && !n.Claim().Held() && !t.known.Detached(n) {
		return lkepool.Node{}, true, notOurs(n.ID(), n.Home(), "does not belong to a pool that this engine made")
	}
	return t.known.Describe(n), true, nil
}

// list waits until both lists were read, and until each claimed instance that they lack was read once. An instance stays in the answer
// until it is proven gone. An instance that is known by its ID alone may be claimed, so a read of it that failed is repeated. Example: a
// person has renamed the Linode of node-a, so that no list shows it, and the API answers the read of it with 500. Without another read the
// answer lacks node-a, and its caller takes the node for one that is gone.
func (t server) list(r *callers.Request) ([]lkepool.Node, bool, error) {
	if !t.readLists(r.Since(), "list") {
		failed := cmp.Or(t.failed(poolList, r.Since()), t.failed(instanceList, r.Since()))
		return nil, failed != nil, failed
	}
	all := t.verifiedPools(r)
	var nodes []lkepool.Node
	unknown := 0
	for n := range t.known.Nodes() {
		if p, shown := t.known.Pool(n.Home()); shown && p.Ours() && unknown < tuning.UnknownReads &&
			t.known.Unread(p, n, time.Time{}) {
			unknown++
			all = t.identified(r, n) && all
		}
		if !t.known.Owned(n) || !n.Record().Gone.IsZero() {
			continue
		}
		all = t.verified(r, n) && !t.restoring(r, n) && all
		if n.Claim().Held() {
			nodes = append(nodes, t.known.Describe(n))
		}
	}
	return nodes, all, nil
}

// verifiedPools reads the pools that a list lacks or contradicts, once since the request, and reports whether these reads have
// ended.
func (t server) verifiedPools(r *callers.Request) bool {
	all := true
	for p := range t.known.Pools() {
		if !p.Ours() || p.Gone() || !p.Doubtful() {
			continue
		}
		if t.known.Request(pool(p.ID())).Started.Before(r.Since()) {
			t.readInDoubt(p, "a list contradicts what is known of the pool")
		}
		all = all && !t.busy(pool(p.ID()))
	}
	return all
}

// restoring reports whether the tag of a claim is being written again, or will be.
func (t server) restoring(r *callers.Request, n *known.Node) bool {
	if t.busy(tagsOf(n.ID())) {
		return n.Claim().Vouched() && !t.known.Tags().ClaimIn(n.Value().Tags).Is(n.Claim().Claimant)
	}
	return t.restorable(n) && t.failed(tagsOf(n.ID()), r.Since()) == nil && t.failed(instance(n.ID()), r.Since()) == nil
}

// verified reads an instance that lists lack, once since the request, and reports whether the read has ended.
func (t server) verified(r *callers.Request, n *known.Node) bool {
	rec := n.Record()
	missing, lacks := !rec.Missing.IsZero(), rec.Missing.Add(t.cfg.ListLag)
	sentLongAgo := n.Claim().Source == sent && !t.now.Before(rec.Wrote.Add(t.cfg.SettleTime))
	switch {
	case !n.Claim().Held() && !missing && !sentLongAgo, t.known.Listed(n) && !missing && !sentLongAgo && !t.known.Detached(n):
		return true
	case missing && !t.known.InstanceList().Before(lacks) && t.now.Before(lacks.Add(t.cfg.SettleTime)):
		return true
	}
	return t.readOnce(r, n)
}

// readOnce reads an instance once since the request, and reports whether the read has ended.
func (t server) readOnce(r *callers.Request, n *known.Node) bool {
	read := t.known.Request(instance(n.ID()))
	if !read.Began.Before(r.Since()) && !t.busy(instance(n.ID())) {
		return true
	}
	t.readNode(n, "lists lack it")
	return !t.busy(instance(n.ID())) && t.known.Busy(event.OpGetInstance) < tuning.ParallelReads && t.now.Before(read.Until)
}

// identified reads an instance that is known by its ID alone until a read was answered, and reports whether that has happened since the
// request.
func (t server) identified(r *callers.Request, n *known.Node) bool {
	if t.failed(instance(n.ID()), r.Since()) != nil {
		t.readNode(n, "lists lack it, and a read of it failed")
		return false
	}
	return t.readOnce(r, n)
}

// claimedBy returns an error if the instance is not ours, or another claimant has it. The zero Claimant stands for any claimant.
func (t server) claimedBy(n *known.Node, by claims.Claimant) error {
	c, id := n.Claim(), t.known.Tags().ID(by)
	switch {
	case n.Value().Foreign:
		return notOurs(n.ID(), 0, "does not belong to this cluster")
	case !t.known.Owned(n):
		return notOurs(n.ID(), n.Home(), "does not belong to a pool that this engine made")
	case by != (claims.Claimant{}) && c.Held() && !c.Of(id):
		return notOurs(n.ID(), n.Home(), fmt.Sprintf("is claimed by %s, not by %s", c.Claimant.Value, id.Value))
	}
	return nil
}

// setTags changes the tags of a claimed instance, except for its claim.
func (t server) setTags(r *callers.Request) (bool, error) {
	n, found, err := t.find(r)
	if !found || err != nil {
		return found, err
	}
	mark := t.known.Request(tagsOf(n.ID()))
	switch {
	case t.busy(tagsOf(n.ID())) || !t.home(n, r):
		return false, nil
	case n.Leaving():
		return true, notOurs(n.ID(), n.Home(), "is being removed")
	case !n.Claim().Held():
		return true, notOurs(n.ID(), n.Home(), "is not claimed")
	case t.claimedBy(n, r.Ask().By) != nil:
		return true, t.claimedBy(n, r.Ask().By)
	}
	tags := slices.DeleteFunc(slices.Clone(n.Value().Tags), func(tag string) bool {
		return slices.Contains(r.Ask().Remove, tag) && !slices.Contains(r.Ask().Add, tag)
	})
	tags = claims.Union(tags, r.Ask().Add)
	if !t.known.Tags().ClaimIn(tags).Is(n.Claim().Claimant) {
		tags = t.known.Tags().ClaimTags(tags, n.Claim().Claimant, cmp.Or(t.known.Tags().ClaimedAtOf(tags), t.now))
	}
	switch {
	case slices.Equal(tags, n.Value().Tags):
		return true, nil
	case mark.FailedSince(r.Since()):
		return true, mark.Err
	case t.settling():
	case !t.seenNode(n):
		t.readNode(n, "look before changing tags")
	default:
		t.do(event.Action{Op: event.OpMark, InstanceID: n.ID(), PoolID: n.Home(), Reason: "change tags", Tags: tags})
	}
	return false, nil
}

// release removes an instance for its claimant. It ends when the platform has accepted the removal, or had accepted it before.
func (t server) release(r *callers.Request) (bool, error) {
	n, ok := t.known.Node(r.Ask().ID)
	if ok {
		rec := n.Record()
		if !rec.Gone.IsZero() {
			return true, notFound(n.ID())
		}
		if !rec.Removed.IsZero() && !rec.Removed.Before(r.Since()) {
			return true, nil
		}
	}
	// A record of the caller does not prove that the instance exists. Without a read the release would be repeated until a caller
	// asks for a list.
	if !ok || !n.Record().Removed.IsZero() || !n.Claim().Held() || t.known.Detached(n) || t.homeless(n) {
		var found bool
		var err error
		if n, found, err = t.find(r); !found || err != nil {
			return found, err
		}
	}
	if !t.home(n, r) {
		failed := t.failed(poolList, r.Since())
		return failed != nil, failed
	}
	if err := t.claimedBy(n, r.Ask().By); err != nil {
		return true, err
	}
	return t.remove(n, r.Since(), "released by its claimant")
}

func notFound(id int) error {
	return &claims.Error{Kind: claims.KindNotFound, Op: "get instance", Err: fmt.Errorf("instance %d does not exist", id)}
}

func notOurs(id, poolID int, why string) error {
	return &claims.Error{Kind: claims.KindConflict, Op: "get instance", Object: claims.Object("pool", poolID), Effect: claims.EffectNone,
		Err: fmt.Errorf("instance %d %s", id, why)}
}
