package engine

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

func notFound(id int) error {
	return &claims.Error{Kind: claims.KindNotFound, Op: "get instance", Err: fmt.Errorf("instance %d does not exist", id)}
}

func notOurs(id, poolID int, why string) error {
	return &claims.Error{Kind: claims.KindConflict, Op: "get instance", Object: claims.Object("pool", poolID), Effect: claims.EffectNone,
		Err: fmt.Errorf("instance %d %s", id, why)}
}

// find reads an instance directly since the request came, and returns it when
// it exists, or the error that it is proven not to.
func (c *Core) find(r *request) (n *node, done bool, err error) {
	if _, gone := c.world.goneNodes[r.ask.ID]; gone {
		return nil, true, notFound(r.ask.ID)
	}
	n, known := c.world.nodes.get(r.ask.ID)
	if !known {
		n = c.meetNode(r.ask.ID)
	}
	answered := !n.direct.began.Before(r.since)
	if answered && n.absence.proof.IsZero() {
		return n, true, nil
	}
	// A read that was under way when the request came, and was answered after
	// that, proves nothing about the request's own.
	if failed, err := c.readFailed(n.direct, r.since); failed && !answered {
		return n, true, err
	}
	switch {
	case !answered:
		c.readNode(n, r.ask.Kind.String())
	case !n.absence.second.IsZero() && c.instances.failedSince(r.since):
		return n, true, c.instances.err
	default:
		c.prove(n)
	}
	return nil, false, nil
}

// home makes sure that the instance's pool is known, if any pool lists it.
func (c *Core) home(n *node, r *request) bool {
	if _, known := c.world.pools.get(n.home); known {
		return true
	}
	return c.fresh(&c.pools, OpListPools, r.since, "the pool of an instance is not known")
}

func (c *Core) get(r *request) (lkepool.Node, bool, error) {
	n, done, err := c.find(r)
	if !done || err != nil {
		return lkepool.Node{}, done, err
	}
	if n.Foreign {
		return lkepool.Node{}, true, notOurs(n.ID, 0, "is not of this cluster")
	}
	if !c.home(n, r) {
		return lkepool.Node{}, c.pools.failedSince(r.since), c.pools.err
	}
	p, known := c.world.pools.get(n.home)
	if known && !p.ours() || !known && n.claim.state == free && n.detached.IsZero() {
		return lkepool.Node{}, true, notOurs(n.ID, n.home, "is not of a pool that this engine made")
	}
	return c.node(n), true, nil
}

// list waits until both lists were read, and until each claimed instance that
// they lack was read directly.
func (c *Core) list(r *request) ([]lkepool.Node, bool, error) {
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
	var nodes []lkepool.Node
	for _, n := range c.world.nodes.rows {
		if n.claimed() && c.owned(n) {
			nodes = append(nodes, c.node(n))
		}
	}
	return nodes, true, nil
}

// owned reports whether an instance is of a pool of ours, or was before its
// pool gave it up. A claim that was seen once shows that too, whatever older
// readings show.
func (c *Core) owned(n *node) bool {
	p, known := c.world.pools.get(n.home)
	return known && p.ours() || !known && !n.Foreign && (n.claimed() || slices.Contains(n.Tags, c.tags.managed))
}

// verified reads, once since then, what lists lack or contradict, and reports
// whether that has ended. A 404 is waited out until it is proof. An instance of
// which only the ID is known may be claimed, so that failing to read it is an
// error, unless it is that instance alone that cannot be read for long.
func (c *Core) verified(since time.Time) (all bool, err error) {
	all = true
	for _, p := range c.world.pools.rows {
		if !p.ours() || p.absence.since.IsZero() && p.absence.proof.IsZero() && !p.direct.want {
			continue
		}
		if p.direct.busy || p.direct.tried.Before(since) || !p.absence.proof.IsZero() {
			c.verifyPool(p, "a list contradicts what is known of the pool")
			all = all && !p.absence.second.IsZero()
		}
	}
	for _, n := range c.world.nodes.rows {
		unread := n.present() && n.tagged.IsZero() && (!n.arrived || c.now.Sub(n.first) > listLag) ||
			n.claim.state == unsure && c.settled(c.now, n.claim.at)
		suspect := n.claim.state == held && !n.detached.IsZero() || (n.claim.state == held || n.present()) && !n.absence.since.IsZero()
		if c.restorable(n) && n.claim.at.Before(since) && n.direct.retry.failed == 0 || n.claim.state == writing && n.claim.stripped {
			all = false
		}
		if !suspect && !unread || !c.owned(n) {
			continue
		}
		switch {
		case n.direct.busy || n.direct.tried.Before(since):
			c.readNode(n, "lists lack it")
			all = false
		case unread && n.tagged.IsZero() && n.direct.err != nil && !n.direct.failing():
			err = n.direct.err
		case !n.absence.proof.IsZero() && n.direct.retry.failed == 0:
			c.prove(n)
			// For a young instance the list that completes the proof is far away.
			all = all && !n.absence.second.IsZero() && (c.now.Before(n.first.Add(listLag)) || c.instances.failedSince(since))
		}
	}
	return all, err
}

// health is the engine's judgement of an instance.
func (c *Core) health(n *node) claims.Health {
	switch {
	case n.State == lkepool.Leaving:
		return claims.Deleting
	case !n.detached.IsZero() || n.home == 0 && !c.pools.began.IsZero() && c.now.Sub(n.first) > unsettledGrace:
		return claims.Detached
	case n.State == lkepool.Down && c.now.Sub(n.first) > c.cfg.BootTimeout:
		return claims.Stopped
	}
	return claims.Healthy
}

// node describes an instance to a caller.
func (c *Core) node(n *node) lkepool.Node {
	node := lkepool.Node{NodeID: n.slot, PoolID: n.home, Node: claims.Node{
		InstanceID: n.ID, Name: n.Name, InstanceType: n.InstanceType, Region: n.Region, Status: n.Status, Health: c.health(n),
		Created: n.Created, Tags: slices.Clone(n.Tags),
	}}
	if n.claimed() {
		node.Claim = n.claim.who.Value
	}
	if p, ok := c.world.pools.get(n.home); ok {
		node.Template = p.Template.Clone()
		node.InstanceType = cmp.Or(node.InstanceType, p.InstanceType)
	}
	return node
}

// claimedBy returns nil if the instance is ours and the claimant's. The zero
// Claimant stands for any.
func (c *Core) claimedBy(n *node, by claims.Claimant) error {
	switch {
	case n.Foreign:
		return notOurs(n.ID, 0, "is not of this cluster")
	case !c.owned(n):
		return notOurs(n.ID, n.home, "is not of a pool that this engine made")
	case by != (claims.Claimant{}) && n.claim.state != free && !n.claim.who.Is(c.tags.ID(by)):
		return notOurs(n.ID, n.home, fmt.Sprintf("is claimed by %s, not by %s", n.claim.who.Value, c.tags.Value(by.Name)))
	case by.UID != "" && n.claim.who.UID == "" && c.onRecordForAnother(n, by):
		return notOurs(n.ID, n.home, fmt.Sprintf("is on record for another claimant than %s", c.tags.Value(by.Name)))
	}
	return nil
}

// onRecordForAnother reports whether the caller's own records give the instance to
// another claimant.
func (c *Core) onRecordForAnother(n *node, by claims.Claimant) bool {
	if c.cfg.Holder == nil {
		return false
	}
	who, ok := c.cfg.Holder(n.ID)
	return ok && !c.tags.ID(who).Is(c.tags.ID(by))
}

// setTags changes the tags of a claimed instance, claims aside.
func (c *Core) setTags(r *request) (bool, error) {
	n, found, err := c.find(r)
	if !found || err != nil {
		return found, err
	}
	switch {
	case n.claim.written() || !c.home(n, r):
		return false, nil
	case !r.wrote.IsZero():
		return true, n.claim.err
	case n.claim.state != held:
		return true, notOurs(n.ID, n.home, "is not claimed")
	}
	if err := c.claimedBy(n, r.ask.By); err != nil {
		return true, err
	}
	tags := slices.DeleteFunc(slices.Clone(n.Tags), func(tag string) bool {
		return slices.Contains(r.ask.Remove, tag) && !slices.Contains(r.ask.Add, tag)
	})
	tags = claims.Union(tags, r.ask.Add)
	if !c.tags.ClaimIn(tags).Is(n.claim.who) {
		tags = c.tags.claimTags(tags, n.claim.who, cmp.Or(n.claim.claimedAt, c.now))
	}
	switch {
	case slices.Equal(tags, n.Tags):
		return true, nil
	case c.settling():
	case !c.seenLately(n.direct):
		c.readNode(n, "look before changing tags")
	default:
		r.wrote, n.claim.state, n.claim.at = c.now, writing, c.now
		c.do(Action{Op: OpMark, InstanceID: n.ID, PoolID: n.home, Reason: "change tags", Tags: tags})
	}
	return false, nil
}
