package lkepool

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// request is a caller that waits for something other than a claim.
type request struct {
	token int
	ask   ask
	since time.Time
	// wrote is when the write of a change of tags began.
	wrote time.Time
	sweep sweep
}

// admit takes a caller in.
func (c *core) admit(e asked) {
	if e.ask.kind != askClaim {
		c.requests = append(c.requests, &request{token: e.token, ask: e.ask, since: c.now})
		return
	}
	who, hash := e.ask.request.Claimant.id(), e.ask.request.Key.Hash()
	record := c.world.claimOf(who)
	switch {
	case record == nil:
		record = &claim{id: who, wanted: c.now}
		c.world.claims = append(c.world.claims, record)
	case len(record.tokens) > 0 && record.hash != hash:
		c.answer(e.token, answer{err: &Error{
			Kind: KindConflict, Op: "claim", Field: "Request.Key", Effect: EffectNone,
			Err: fmt.Errorf("claimant %q is already waiting for a node of another key", e.ask.request.Claimant.Name),
		}})
		return
	}
	record.request, record.hash, record.asked = e.ask.request, hash, c.now
	record.wanted = cmp.Or(record.wanted, c.now)
	record.tokens = append(record.tokens, e.token)
}

// dismiss answers a caller whose time is over with what is known.
func (c *core) dismiss(e left) {
	for _, claim := range c.world.claims {
		at := slices.Index(claim.tokens, e.token)
		if at < 0 {
			continue
		}
		claim.tokens = slices.Delete(claim.tokens, at, at+1)
		c.answer(e.token, answer{err: c.overdue("claim", "no node yet", e.cause)})
		claim.asked = c.now
		if len(claim.tokens) == 0 {
			c.unreserve(claim)
		}
		return
	}
	at := slices.IndexFunc(c.requests, func(r *request) bool { return r.token == e.token })
	if at < 0 {
		return
	}
	r := c.requests[at]
	c.requests = slices.Delete(c.requests, at, at+1)
	c.answer(e.token, answer{collected: r.sweep.collected, err: c.overdue(r.ask.kind.String(), "not done yet", e.cause)})
}

// overdue is the error of a caller whose context ended. What keeps the engine
// from reading or writing is passed on with its kind.
func (c *core) overdue(op, what string, cause error) *Error {
	e := &Error{Kind: KindProvisioning, Op: op, Err: fmt.Errorf("%s: %w", what, cause)}
	why := c.silence()
	if t := c.trouble; t.err != nil && c.now.Sub(t.at) <= max(longestRetry, retryAfter(t.err))+silentAfter {
		why = t.err
	}
	if why != nil {
		e.Kind, e.RetryAfter = KindOf(why), retryAfter(why)
		e.Err = fmt.Errorf("%s: %w (%w)", what, why, cause)
	}
	return e
}

// deliver answers everyone who waits for the claim, and forgets it.
func (c *core) deliver(claim *claim, node Node, err error) {
	for _, token := range claim.tokens {
		c.answer(token, answer{node: node, err: err})
	}
	claim.tokens, claim.asked = nil, time.Time{}
	if err != nil { // it may ask again, as a new claimant
		claim.wanted, claim.asked = time.Time{}, c.now
	}
	c.unreserve(claim)
}

// unreserve gives up the instances that were chosen for a claimant which does
// not wait any more.
func (c *core) unreserve(claim *claim) {
	for _, n := range c.world.nodes.rows {
		if n.hold.state == reserved && n.hold.who.is(claim.id) {
			n.hold = n.hold.freed(c.now)
		}
	}
}

// refuse answers claimants with an error.
func (c *core) refuse(claims []*claim, err error) {
	for _, claim := range claims {
		c.deliver(claim, Node{}, err)
	}
}

// forgetClaims drops claims that were answered, and those whose claimant has
// not come back for as long as what was bought for it is kept.
func (c *core) forgetClaims() {
	c.world.claims = slices.DeleteFunc(c.world.claims, func(claim *claim) bool {
		return len(claim.tokens) == 0 && c.now.Sub(claim.asked) > c.cfg.OrphanTTL
	})
}

func (k askKind) String() string {
	return [...]string{"claim", "get", "release", "set tags", "list", "collect", "collect"}[k]
}

// serve goes on with a request, and reports whether it is answered.
func (c *core) serve(r *request) bool {
	var done bool
	var a answer
	switch r.ask.kind {
	case askGet:
		a.node, done, a.err = c.get(r)
	case askRelease:
		done, a.err = c.release(r)
	case askTags:
		done, a.err = c.setTags(r)
	case askList:
		a.nodes, done, a.err = c.list(r)
	case askOrphans:
		a.nodes, done = c.orphanNodes(r.ask.alive), true
	case askEvict:
		a.collected, done, a.err = c.evict(r)
	}
	if done {
		c.answer(r.token, answer{node: a.node, nodes: a.nodes, collected: a.collected, err: asError(r.ask.kind.String(), a.err)})
	}
	return done
}

// asError names the call in an error, and passes on the kind of its cause.
func asError(op string, err error) error {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return &Error{Kind: KindUnavailable, Op: op, Err: err}
	}
	if e.Op == op {
		return e
	}
	return &Error{Kind: e.Kind, Op: op, PoolID: e.PoolID, Field: e.Field, RetryAfter: e.RetryAfter, Effect: e.Effect, Err: e.Err}
}

func notFound(id int) error {
	return &Error{Kind: KindNotFound, Op: "get instance", Err: fmt.Errorf("instance %d does not exist", id)}
}

func notOurs(id, poolID int, why string) error {
	return &Error{Kind: KindConflict, Op: "get instance", PoolID: poolID, Effect: EffectNone, Err: fmt.Errorf("instance %d %s", id, why)}
}

// find reads an instance directly since the request came, and returns it when
// it exists, or the error that it is proven not to.
func (c *core) find(r *request) (n *node, done bool, err error) {
	if _, gone := c.world.goneNodes[r.ask.id]; gone {
		return nil, true, notFound(r.ask.id)
	}
	n, known := c.world.nodes.get(r.ask.id)
	if !known {
		n = c.meetNode(r.ask.id)
	}
	switch {
	case !n.look.began.Before(r.since) && n.absence.proof.IsZero():
		return n, true, nil
	case n.look.tried.Before(r.since), n.look.busy:
		c.lookAtNode(n, r.ask.kind.String())
	case n.look.err != nil && n.look.ended.Before(r.since):
		return n, true, n.look.err
	case !n.absence.proof.IsZero() && c.ready(n.absence.proof.Add(c.cfg.SettleTime)):
		c.lookAtNode(n, "a 404 has to be answered twice")
	}
	return nil, false, nil
}

// home makes sure that the instance's pool is known, if any pool lists it.
func (c *core) home(n *node, r *request) bool {
	if _, known := c.world.pools.get(n.home); known {
		return true
	}
	return c.fresh(&c.pools, opListPools, r.since, "the pool of an instance is not known")
}

func (c *core) get(r *request) (Node, bool, error) {
	n, done, err := c.find(r)
	if !done || err != nil {
		return Node{}, done, err
	}
	if n.Foreign {
		return Node{}, true, notOurs(n.ID, 0, "is not of this cluster")
	}
	if !c.home(n, r) {
		return Node{}, c.pools.failedSince(r.since), c.pools.err
	}
	p, known := c.world.pools.get(n.home)
	if known && !p.ours() || !known && n.hold.state == free && n.detached.IsZero() {
		return Node{}, true, notOurs(n.ID, n.home, "is not of a pool that this engine made")
	}
	return c.node(n), true, nil
}

func (l *list) failedSince(t time.Time) bool { return !l.busy && l.err != nil && !l.tried.Before(t) }

// list waits until both lists were read, and until each claimed instance that
// they lack was read directly.
func (c *core) list(r *request) ([]Node, bool, error) {
	if !c.surveyed(r.since, "list") {
		for _, l := range []*list{&c.pools, &c.instances} {
			if l.failedSince(r.since) {
				return nil, true, l.err
			}
		}
		return nil, false, nil
	}
	if all, err := c.verified(r.since); !all || err != nil {
		return nil, err != nil, err
	}
	var nodes []Node
	for _, n := range c.world.nodes.rows {
		if n.claimed() && c.owned(n) {
			nodes = append(nodes, c.node(n))
		}
	}
	return nodes, true, nil
}

// owned reports whether an instance is of a pool of ours, or was before its
// pool gave it up.
func (c *core) owned(n *node) bool {
	p, known := c.world.pools.get(n.home)
	return known && p.ours() || !known && !n.Foreign && slices.Contains(n.Tags, ManagedTag)
}

// verified reads, once since then, what lists lack or contradict, and reports
// whether that has ended. A 404 is waited out until it is proof. An instance of
// which only the ID is known may be claimed, so that failing to read it is an
// error, unless it is that instance alone that cannot be read for long.
func (c *core) verified(since time.Time) (all bool, err error) {
	all = true
	for _, p := range c.world.pools.rows {
		if !p.ours() || p.absence.since.IsZero() && p.absence.proof.IsZero() && !p.look.want {
			continue
		}
		if p.look.busy || p.look.tried.Before(since) || !p.absence.proof.IsZero() {
			c.verifyPool(p, "a list contradicts what is known of the pool")
			all = false
		}
	}
	for _, n := range c.world.nodes.rows {
		unread := n.present() && n.tagged.IsZero() && (!n.arrived || c.now.Sub(n.first) > listLag) ||
			n.hold.state == unsure && c.settled(c.now, n.hold.at)
		suspect := n.hold.state == held && (!n.absence.since.IsZero() || !n.detached.IsZero())
		if c.restorable(n) && n.hold.at.Before(since) && n.look.retry.failed == 0 || n.hold.state == writing && n.hold.stripped {
			all = false
		}
		if !suspect && !unread || !c.owned(n) {
			continue
		}
		switch {
		case n.look.busy || n.look.tried.Before(since):
			c.lookAtNode(n, "lists lack it")
			all = false
		case unread && n.tagged.IsZero() && n.look.err != nil && !n.look.failing():
			err = n.look.err
		case !n.absence.proof.IsZero() && n.look.retry.failed == 0:
			if c.ready(n.absence.proof.Add(c.cfg.SettleTime)) {
				c.lookAtNode(n, "a 404 has to be answered twice")
			}
			all = false
		}
	}
	return all, err
}

// health is the engine's judgement of an instance.
func (c *core) health(n *node) Health {
	switch {
	case n.State == Leaving:
		return Deleting
	case !n.detached.IsZero() || n.home == 0 && !c.pools.began.IsZero() && c.now.Sub(n.first) > unsettledGrace:
		return Detached
	case n.State == Down && c.now.Sub(n.first) > c.cfg.BootTimeout:
		return Stopped
	}
	return Healthy
}

// node describes an instance to a caller.
func (c *core) node(n *node) Node {
	node := Node{
		InstanceID: n.ID, NodeID: n.slot, PoolID: n.home, Name: n.Name, InstanceType: n.InstanceType, Region: n.Region,
		Status: n.Status, Health: c.health(n), Created: n.Created, Tags: slices.Clone(n.Tags),
	}
	if n.claimed() {
		node.Claim = n.hold.who.value
	}
	if p, ok := c.world.pools.get(n.home); ok {
		node.Template = p.Template.clone()
		node.InstanceType = cmp.Or(node.InstanceType, p.InstanceType)
	}
	return node
}

// claimedBy returns nil if the instance is ours and the claimant's. The zero
// Claimant stands for any.
func (c *core) claimedBy(n *node, by Claimant) error {
	switch {
	case n.Foreign:
		return notOurs(n.ID, 0, "is not of this cluster")
	case !c.owned(n):
		return notOurs(n.ID, n.home, "is not of a pool that this engine made")
	case by != (Claimant{}) && n.hold.state != free && !n.hold.who.is(by.id()):
		return notOurs(n.ID, n.home, fmt.Sprintf("is claimed by %s, not by %s", n.hold.who.value, ClaimValue(by.Name)))
	case by.UID != "" && n.hold.who.uid == "" && c.onRecordForAnother(n, by):
		return notOurs(n.ID, n.home, fmt.Sprintf("is on record for another claimant than %s", ClaimValue(by.Name)))
	}
	return nil
}

// onRecordForAnother reports whether the caller's own records give the instance to
// another claimant.
func (c *core) onRecordForAnother(n *node, by Claimant) bool {
	if c.cfg.Holder == nil {
		return false
	}
	who, ok := c.cfg.Holder(n.ID)
	return ok && !who.id().is(by.id())
}

// setTags changes the tags of a claimed instance, claims aside.
func (c *core) setTags(r *request) (bool, error) {
	n, found, err := c.find(r)
	if !found || err != nil {
		return found, err
	}
	switch {
	case n.hold.state == writing || !c.home(n, r):
		return false, nil
	case !r.wrote.IsZero():
		return true, n.hold.err
	case n.hold.state != held:
		return true, notOurs(n.ID, n.home, "is not claimed")
	}
	if err := c.claimedBy(n, r.ask.by); err != nil {
		return true, err
	}
	tags := slices.DeleteFunc(slices.Clone(n.Tags), func(tag string) bool {
		return slices.Contains(r.ask.remove, tag) && !slices.Contains(r.ask.add, tag)
	})
	tags = union(tags, r.ask.add)
	if !claimIn(tags).is(n.hold.who) {
		tags = claimTags(tags, n.hold.who, cmp.Or(n.hold.claimedAt, c.now))
	}
	switch {
	case slices.Equal(tags, n.Tags):
		return true, nil
	case c.settling():
	case !c.seenLately(n.look):
		c.lookAtNode(n, "look before changing tags")
	default:
		r.wrote, n.hold.state, n.hold.at = c.now, writing, c.now
		c.do(action{op: opMark, instanceID: n.ID, poolID: n.home, reason: "change tags", tags: tags})
	}
	return false, nil
}
