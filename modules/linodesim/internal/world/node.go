package world

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
)

// node is a node as the API shows it.
func (w Nodes) node(n *node) api.LKENode {
	out := api.LKENode{ID: n.ID, Status: api.LKENodeStatus(n.Status), InstanceID: optional(n.InstanceID)}
	if w.Beta && n.Tier == catalog.Enterprise {
		out.PoolID = new(n.PoolID)
	}
	return out
}

// GetLKENode finds a node of a cluster. With Behaviour.UnlistedNotFound, it finds only listed nodes.
func (w Nodes) GetLKENode(clusterID int, nodeID string) (api.LKENode, error) {
	n, err := w.findNode(clusterID, nodeID)
	if err != nil {
		return api.LKENode{}, err
	}
	return w.node(n), nil
}

func (w Nodes) findNode(clusterID int, nodeID string) (*node, error) {
	c, err := lookup(w.clusters, clusterID)
	if err != nil {
		return nil, err
	}
	for _, p := range c.pools {
		for _, n := range p.nodes {
			if n.ID == nodeID && (n.Listed || !w.behaviour.UnlistedNotFound) {
				return n, nil
			}
		}
	}
	return nil, NotFound()
}

// DeleteLKENode takes exactly this node out of its pool and lowers the count by
// one, at once.
func (w Nodes) DeleteLKENode(clusterID int, nodeID string) error {
	n, err := w.findNode(clusterID, nodeID)
	if err != nil {
		return err
	}
	p := n.pool
	if p.Count <= 1 {
		switch w.behaviour.LastNode {
		case account.RefuseLastDelete:
			return Refuse("", "The last node of a pool cannot be deleted.")
		case account.RemovePool:
			w.Pools().dropPool(p)
			return nil
		case account.KeepEmptyPool:
		}
	}
	w.Pools().setCount(p, p.Count-1)
	w.removeNode(w.Actor, n)
	w.bringBack(p)
	return nil
}

// RecycleLKENode replaces a node by a new one; the count stays.
func (w Nodes) RecycleLKENode(clusterID int, nodeID string) error {
	n, err := w.findNode(clusterID, nodeID)
	if err != nil {
		return err
	}
	w.replaceNode(w.Actor, n)
	return nil
}

// replaceNode removes a node, adds a new one and returns the time until the new node should have joined.
func (w Nodes) replaceNode(by account.Actor, n *node) time.Duration {
	w.removeNode(by, n)
	return w.addNode(by, n.pool)
}

// addNode adds a place to the pool and plans its life. It gives the time until
// the node should join.
func (w Nodes) addNode(by account.Actor, p *pool) time.Duration {
	enterprise := p.cluster.Tier == catalog.Enterprise
	n := &node{pool: p, Node: account.Node{
		ID: w.newNodeID(p.ID), ClusterID: p.ClusterID, PoolID: p.ID, Tier: p.Tier, Status: account.NotReady, Listed: !enterprise,
		Requested: w.now,
	}}
	p.nodes = append(p.nodes, n)
	w.record(by, account.Entry{Action: account.NodeRequested, ClusterID: p.ClusterID, PoolID: p.ID, NodeID: n.ID})

	created := w.delays.InstanceID.draw(w.draws.rng)
	if w.faults.lies[report.LateIDs] {
		created = w.faults.lieDelays.ID
	}
	join := w.delays.Join.draw(w.draws.rng)
	var tagged time.Duration
	if enterprise {
		w.after(w.delays.NodeListed.draw(w.draws.rng), func() { w.list(n) })
		tagged = w.delays.Tagged.draw(w.draws.rng)
	}
	if w.faults.lies[report.HangingPools] || w.faults.stalls(p.ID) {
		return created + join
	}
	n.grant = func() {
		w.records.visible = append(w.records.visible, Visibility{
			ClusterID: p.ClusterID, PoolID: p.ID, NodeID: n.ID, Requested: n.Requested, Visible: w.now.Add(max(created+tagged, w.AnswersIn)),
		})
		boots := !w.faults.neverBoots(p.ID)
		w.after(created, func() { w.launch(n, tagged, join, boots) })
	}
	n.waits = true // so that owned does not count this node
	if enterprise && w.faults.silence.hits(w.draws.rng) {
		w.hold(n, w.faults.silence.For)
	} else if n.waits = enterprise && !w.fits(p); !n.waits {
		n.grant()
	}
	return created + join
}

// hold keeps a node without a Linode for a while.
func (w Nodes) hold(n *node, length time.Duration) {
	n.held = w.now.Add(length)
	w.in(length, w.serve)
}

// fits reports whether there is room for a node of a pool.
func (w Nodes) fits(p *pool) bool {
	return !p.cluster.hangs && w.faults.lacks(p.Type, p.cluster.Region) == nil && !w.Pools().overLimit(p.Type, 1)
}

// serve gives nodes that wait for room their Linodes, the first request first, as far as there is room now. LKE
// Enterprise accepts a pool or more nodes beyond the account's limits, or without capacity, and the nodes get no Linode
// (FACTS 18.7).
func (w Nodes) serve() {
	w.Clusters().serve()
	for _, n := range w.waiting() {
		if !w.now.Before(n.held) && w.fits(n.pool) {
			n.waits = false
			n.grant()
		}
	}
}

// waiting lists the nodes that wait for room, in the order of their requests.
func (w Nodes) waiting() []*node {
	var all []*node
	for _, p := range sorted(w.pools) {
		for _, n := range p.nodes {
			if n.waits && n.grant != nil {
				all = append(all, n)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *node) int { return a.Requested.Compare(b.Requested) })
	return all
}

func (w Nodes) list(n *node) {
	if n.gone {
		return
	}
	n.Listed = true
	w.record(account.LKE, account.Entry{Action: account.NodeListed, ClusterID: n.ClusterID, PoolID: n.PoolID, NodeID: n.ID})
}

// launch creates the Linode behind a node and plans its boot.
func (w Nodes) launch(n *node, tagged, join time.Duration, boots bool) {
	if n.gone {
		return
	}
	public, private, v6 := w.addresses()
	if isolation := n.pool.Isolation; isolation != nil {
		public, v6 = unlessRefused(isolation.PublicIPv4, public), unlessRefused(isolation.PublicIPv6, v6)
	}
	i := &Instance{Instance: account.Instance{
		ID: w.nextID(&w.seq.instance), Label: w.linodeLabel(n), Type: n.pool.Type, Region: n.pool.cluster.Region, Status: account.StatusOffline,
		Tags: []string{}, Worker: account.Worker{ClusterID: n.ClusterID, PoolID: n.PoolID, NodeID: n.ID},
		Placement: account.Placement{HostUUID: w.hostUUID()},
		Network:   account.Network{PublicIPv4: public, PrivateIPv4: private, IPv6: v6},
		// Recorded workers have enabled, also in pools that have disabled.
		Settings:  account.Settings{DiskEncryption: "enabled", WatchdogEnabled: true},
		Lifecycle: account.Lifecycle{Created: w.now, Updated: w.now},
	}}
	w.Linodes().defaultSettings(i)
	if w.behaviour.LabelForm == "" && n.pool.Label != "" {
		i.given = i.Label
	}
	w.instances[i.ID] = i
	n.InstanceID, n.InstanceAt = i.ID, w.now
	w.record(account.LKE, account.Entry{
		Action: account.InstanceCreated, ClusterID: n.ClusterID, PoolID: n.PoolID, NodeID: n.ID, InstanceID: i.ID, After: i.Label,
	})
	if n.pool.cluster.Tier == catalog.Enterprise {
		w.after(tagged, func() { w.autoTag(n, i) })
	}
	created := w.begin(account.LKE.User, "linode_create", onLinode(i), nil, 0, join/2)
	w.after(join/2, func() { w.finish(created) })
	if !boots {
		return
	}
	booted := w.begin(account.LKE.User, "linode_boot", onLinode(i), nil, join/2, join*4/5-join/2)
	// Booting starts half way to joining, and the Linode runs a while before
	// its kubelet has joined.
	w.after(join/2, func() { w.Linodes().setStatus(account.LKE, i, account.StatusBooting) })
	w.after(join*4/5, func() {
		w.finish(booted)
		w.Linodes().setStatus(account.LKE, i, account.StatusRunning)
	})
	if n.pool.cluster.Tier == catalog.Enterprise && len(n.pool.Label) > longestLabel {
		return // its kubelet never registers
	}
	w.after(join, func() { w.join(n, i) })
}

// longestLabel is the longest label of an Enterprise pool whose nodes register. The API accepts longer labels, and the
// nodes of such a pool never register (FACTS 18.6).
const longestLabel = 15

// unlessRefused returns the address, or "" if the pool's isolation rules it out.
func unlessRefused(wanted *bool, address string) string {
	if wanted != nil && !*wanted {
		return ""
	}
	return address
}

// after plans a change. A change without a delay runs at once, in one step with its cause.
func (w *Moment) after(d time.Duration, run func()) {
	if d <= 0 {
		run()
		return
	}
	w.in(d, run)
}

// autoTag puts LKE's own tags and the pool's tags on an Enterprise worker. It keeps the tags that a client has added
// meanwhile.
func (w Nodes) autoTag(n *node, i *Instance) {
	if w.instances[i.ID] != i {
		return
	}
	tags := []string{fmt.Sprintf("lke%d", n.ClusterID), fmt.Sprintf("nodepool=%d", n.PoolID)}
	w.Linodes().retag(account.LKE, i, union(tags, n.pool.Tags, i.Tags))
}

// cascadeTags copies a change of an Enterprise pool's tags to its Linodes. It removes the tags that the pool has lost,
// adds the pool's tags and keeps all other tags.
func (w Pools) cascadeTags(p *pool, old []string) {
	if p.cluster.Tier != catalog.Enterprise {
		return
	}
	for _, n := range p.nodes {
		i := w.instances[n.InstanceID]
		if i == nil {
			continue
		}
		kept := slices.DeleteFunc(slices.Clone(i.Tags), func(t string) bool { return slices.Contains(old, t) && !slices.Contains(p.Tags, t) })
		w.Linodes().retag(w.Actor, i, union(kept, p.Tags))
	}
}

func (w Linodes) retag(by account.Actor, i *Instance, tags []string) {
	if slices.Equal(i.Tags, tags) {
		return
	}
	w.record(by, account.Entry{
		Action: account.InstanceTagged, ClusterID: i.ClusterID, PoolID: i.PoolID, NodeID: i.NodeID, InstanceID: i.ID,
		Before: strings.Join(i.Tags, ","), After: strings.Join(tags, ","),
	})
	i.Tags, i.Updated = tags, w.now
}

func (w Nodes) join(n *node, i *Instance) {
	if n.gone || w.instances[i.ID] != i || i.Status != account.StatusRunning {
		return
	}
	n.Status, n.JoinedAt = account.Ready, w.now
	w.record(account.LKE, account.Entry{Action: account.NodeJoined, ClusterID: n.ClusterID, PoolID: n.PoolID, NodeID: n.ID, InstanceID: i.ID})
	w.Feed().publish(account.NodeJoins, n)
}

// removeNode takes the place out of the pool; its Linode disappears a little
// later.
func (w Nodes) removeNode(by account.Actor, n *node) {
	n.gone = true
	n.pool.nodes = slices.DeleteFunc(n.pool.nodes, func(m *node) bool { return m == n })
	w.record(by, account.Entry{Action: account.NodeRemoved, ClusterID: n.ClusterID, PoolID: n.PoolID, NodeID: n.ID, InstanceID: n.InstanceID})
	i := w.instances[n.InstanceID]
	if i == nil {
		w.serve()
		return
	}
	w.Linodes().setStatus(account.LKE, i, account.StatusDeleting)
	w.after(w.delays.Gone.draw(w.draws.rng), func() { w.Linodes().vanish(account.LKE, i) })
}
