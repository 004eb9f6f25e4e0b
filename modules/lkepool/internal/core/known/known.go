package known

import (
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/record"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/tagging"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/tuning"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/pacing"
)

// Known holds everything that is known of the platform, and of the requests to it.
type Known struct {
	settings
	world
	attempts
	lists
	purchases
	supply  supply
	failure lastFailure
}

// world has the records of pools and instances.
type world struct {
	nodes table[*Node]
	pools table[*Pool]
	// astray are the instances whose tags do not name the claimant that more than a tag shows, or announce a removal.
	astray  table[*Node]
	byClaim map[string][]int
	byHome  map[int][]*Node // nil after a node has moved
}

// attempts has the requests by target. busy counts the requests under way of each kind, ended is when the newest request of a kind ended,
// and removals counts the removals under way for each pool.
type attempts struct {
	requests map[Target]*Request
	busy     map[event.Op]int
	ended    map[event.Op]time.Time
	removals map[int]int
}

// lists has the newest list of pools and the newest list of instances.
type lists struct {
	pool, instance list
	// surveyed: both lists were read since this process began to lead. again is when they were found to be incomplete,
	// so that both are read again.
	surveyed bool
	again    time.Time
}

// purchases holds the state of each key, the creations without an answer, and the tags that the API refuses.
type purchases struct {
	keys    map[string]*Key
	lost    []lostCreation
	refused refused
}

// settings holds the configuration of a process, and the time.
type settings struct {
	cfg    lkepool.Config
	tags   tagging.Tags
	limits lkepool.Limits
	// began is the time at which this process began to lead. Until lateUntil, writes of the previous leader may take effect.
	began, lateUntil time.Time
	now              time.Time
}

// list has the newest list of pools, or of instances.
type list struct {
	// began is when the newest answered list began.
	began time.Time
	// shown has the IDs in that list.
	shown map[int]bool
}

// New returns a Known without knowledge of the platform. cfg has its defaults. clean: no write of an earlier
// process may take effect.
func New(cfg lkepool.Config, limits lkepool.Limits, now time.Time, clean bool) *Known {
	k := &Known{
		settings:  settings{cfg: cfg, tags: tagging.New(cfg.Tags), limits: limits, began: now, lateUntil: now, now: now},
		world:     world{byClaim: map[string][]int{}},
		attempts:  attempts{requests: map[Target]*Request{}, busy: map[event.Op]int{}, ended: map[event.Op]time.Time{}, removals: map[int]int{}},
		purchases: purchases{keys: map[string]*Key{}},
	}
	k.supply.pace.Few = tuning.FewNodes
	k.supply.usual = map[string][]taken{}
	if !clean {
		k.lateUntil = now.Add(cfg.LateEffect)
	}
	return k
}

// At sets the time of the event that follows.
func (k *Known) At(now time.Time) { k.now = now }

// View returns the questions that decisions ask.
func (k *Known) View() View { return View{Objects{k}, Times{k}, Requests{k}, Supplies{k}} }

// Failed notes a node of the key that did not join its cluster.
func (k *Known) Failed(key lkepool.Key, now time.Time) {
	k.keyed(key.Hash()).joins.Failed(now, pacing.Joins)
}

// Joined notes a node of the key that joined.
func (k *Known) Joined(key lkepool.Key) { k.keyed(key.Hash()).joins = pacing.Record{} }

// Give notes that an instance was the answer to its claimant.
func (k *Known) Give(instanceID int) {
	if n, ok := k.nodes.get(instanceID); ok && n.claim.Held() {
		n.claim.Source = record.Own
		k.compare(n)
	}
}

func (s *settings) bounds() record.Bounds {
	return record.Bounds{Settle: s.cfg.SettleTime, Lag: s.cfg.ListLag, Late: s.cfg.LateEffect}
}

// settled is the time from which on direct reads show everything that was answered to the previous leader.
func (s *settings) settled() time.Time { return s.began.Add(s.cfg.SettleTime) }

// meet returns the record of an instance, a new one if it has no record.
func (k *Known) meet(id int) *Node {
	if n, ok := k.nodes.get(id); ok {
		return n
	}
	n := &Node{claim: record.Claim{Since: k.now}}
	n.rec.Value.ID = id
	k.nodes.put(id, n)
	k.byHome = nil
	k.witness(n)
	return n
}

// Meet makes a record of an instance that a caller names.
func (k *Known) Meet(id int) { k.meet(id) }

// meetPool returns the record of a pool, a new one if it has no record.
func (k *Known) meetPool(id int) *Pool {
	if p, ok := k.pools.get(id); ok {
		return p
	}
	p := &Pool{first: k.now}
	p.rec.Value.ID = id
	k.pools.put(id, p)
	return p
}

// witness looks an instance up in the records of the caller, which outrank tags.
func (k *Known) witness(n *Node) {
	who, held := k.cfg.Records.Holder(n.ID())
	if !held {
		return
	}
	if id := k.tags.ID(who); n.claim.Source < record.Stored || n.claim.Source == record.Stored && !n.claim.Claimant.Is(id) {
		k.setClaim(n, record.Claim{Claimant: id, Source: record.Stored, Since: k.now})
	}
}

// setClaim changes the claim on an instance.
func (k *Known) setClaim(n *Node, c record.Claim) {
	if old := n.claim.Claimant.Value; old != "" && old != c.Claimant.Value {
		k.byClaim[old] = slices.DeleteFunc(k.byClaim[old], func(id int) bool { return id == n.ID() })
		if len(k.byClaim[old]) == 0 {
			delete(k.byClaim, old)
		}
	}
	if c.Source == record.None {
		c.Since = k.now
	}
	n.claim = c
	if value := c.Claimant.Value; value != "" {
		if at, found := slices.BinarySearch(k.byClaim[value], n.ID()); !found {
			k.byClaim[value] = slices.Insert(k.byClaim[value], at, n.ID())
		}
	}
	k.compare(n)
}

// compare keeps astray up to date: it has an instance whose claimant more than a tag shows, and whose tags do not
// name this claimant.
func (k *Known) compare(n *Node) {
	tags := n.rec.Value.Tags
	agrees := !n.claim.Vouched() || k.who(tags).Is(n.claim.Claimant) && !k.tags.Removing(tags)
	switch _, noted := k.astray.get(n.ID()); {
	case agrees && noted:
		k.astray.drop(n.ID())
	case !agrees && !noted:
		k.astray.put(n.ID(), n)
	}
}

// setHome notes the pool of an instance.
func (k *world) setHome(n *Node, poolID int) {
	if n.home != poolID {
		n.home, k.byHome = poolID, nil
	}
}

// homed returns the nodes of a pool, in the order of their IDs.
func (k *world) homed(poolID int) []*Node {
	if k.byHome == nil {
		k.byHome = map[int][]*Node{}
		for _, n := range k.nodes.rows {
			k.byHome[n.home] = append(k.byHome[n.home], n)
		}
	}
	return k.byHome[poolID]
}

// request returns the record of the requests for a target.
func (k *attempts) request(t Target) *Request {
	r, ok := k.requests[t]
	if !ok {
		r = &Request{}
		k.requests[t] = r
	}
	return r
}

func (k *Known) forgetNode(n *Node) {
	k.setClaim(n, record.Claim{})
	k.nodes.drop(n.ID())
	k.byHome = nil
}

// table is a map that is always read in the order of its IDs, so that the same events always cause the same actions.
type table[R any] struct {
	ids  []int
	rows []R
}

func (t *table[R]) get(id int) (R, bool) {
	at, ok := slices.BinarySearch(t.ids, id)
	if !ok {
		var none R
		return none, false
	}
	return t.rows[at], true
}

func (t *table[R]) put(id int, row R) {
	at, _ := slices.BinarySearch(t.ids, id)
	t.ids, t.rows = slices.Insert(t.ids, at, id), slices.Insert(t.rows, at, row)
}

func (t *table[R]) drop(id int) {
	if at, ok := slices.BinarySearch(t.ids, id); ok {
		t.ids, t.rows = slices.Delete(t.ids, at, at+1), slices.Delete(t.rows, at, at+1)
	}
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

// who returns the claimant that tags name.
func (k *settings) who(tags []string) claims.ClaimID { return k.tags.ClaimIn(tags) }

// survey checks whether the first lists of this process are complete.
func (k *Known) survey() {
	if k.surveyed || k.pool.began.Before(k.settled()) || k.instance.began.Before(k.settled()) {
		return
	}
	if k.surveyed = true; k.View().LeftOut() {
		k.again = k.now
	}
}

// Size counts the entries of the record. Their number is bounded by the size of the cluster.
type Size struct{ Nodes, Pools, Keys, Claims, Requests int }

// Size returns the number of entries of each kind.
func (k *Known) Size() Size {
	return Size{Nodes: len(k.nodes.ids), Pools: len(k.pools.ids), Keys: len(k.keys), Claims: len(k.byClaim), Requests: len(k.requests)}
}
