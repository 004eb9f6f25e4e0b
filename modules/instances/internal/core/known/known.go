package known

import (
	"maps"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/record"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/byclaim"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/tagging"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/tuning"
)

// Known holds everything that is known of the platform, and of the requests to it.
type Known struct {
	*terms
	world
	attempts
	purchases purchases
	pace      pace
	refusals  refusals
	pruned    time.Time
}

// terms has the settings, the time, when this process began to lead, and how long writes of the
// previous leader may take effect.
type terms struct {
	settings tuning.Settings
	tags     tagging.Tags
	now      time.Time
	// started is the time of the last Begin, term counts the calls of Begin.
	started time.Time
	term    int
	// landing is the time after started in which writes of the previous leader may still take effect.
	landing time.Duration
	// seq counts results and calls. A call compares it to ignore failures from before its beginning.
	seq event.Seq
}

// world has the readings of instances.
type world struct {
	// nodes has a record of each instance of this cluster, and of each other instance that a caller asks about.
	nodes   map[int]*Node
	byClaim byclaim.Index[*Node]
	builds  map[int]*Building
	// orphans has the time since which no claimant needs an instance.
	orphans map[int]time.Time
	list    listing
}

// attempts are the requests about single instances.
type attempts struct {
	reads map[int]*reading
	// busy contains the instances with a write or a reading of their parts under way, from any term of leadership.
	busy map[int]bool
	// failed contains the last failure of such a request.
	failed     map[int]*failure
	unanswered map[int]*unanswered
}

// failure is the last failed request about an object: its number, and the error.
type failure struct {
	seq event.Seq
	err error
}

// New returns a Known without knowledge of the platform. settings have their defaults.
func New(settings tuning.Settings, tags tagging.Tags, now time.Time) *Known {
	k := &Known{
		terms: &terms{settings: settings, tags: tags, now: now}, pace: pace{limit: settings.Creations}, pruned: now,
		attempts: attempts{busy: map[int]bool{}, unanswered: map[int]*unanswered{}},
	}
	k.purchases = purchases{k.terms, byclaim.Index[*Purchase]{}}
	k.Begin(claims.MayStillWrite)
	return k
}

// At sets the time of the event that follows.
func (k *Known) At(now time.Time) {
	k.now = now
	k.pace.expire(now)
}

// Next returns the number of a call that begins.
func (k *Known) Next() event.Seq {
	k.seq++
	return k.seq
}

// View returns the questions that decisions ask.
func (k *Known) View() View { return View{Objects{k}, Times{k}, Requests{k}} }

// Begin drops everything that was read. It keeps the requests under way, and the unanswered writes,
// which may still take effect.
func (k *Known) Begin(after claims.Predecessor) {
	k.term++
	k.started, k.landing = k.now, k.settings.LateEffect
	if after == claims.Ended {
		k.landing = 0
	}
	before := k.nodes
	k.world = world{
		nodes: map[int]*Node{}, byClaim: byclaim.Index[*Node]{}, builds: map[int]*Building{}, orphans: map[int]time.Time{},
		list: listing{shown: map[int]time.Time{}},
	}
	for id := range k.unanswered {
		k.meet(id).rec.Aside = before[id].rec.Aside
	}
	k.reads, k.failed, k.refusals = map[int]*reading{}, map[int]*failure{}, refusals{}
	for _, p := range k.purchases.All() {
		p.forget()
	}
}

// settledAt returns the time from which direct readings show every write of the previous leader. Example: this process began to lead at
// 10:00:00, after a process that may still write. With LateEffect 2 min and SettleTime 4 s, that time is 10:02:04.
func (t *terms) settledAt() time.Time { return t.started.Add(t.landing + t.settings.SettleTime) }

// shownAt returns the time from which lists show every instance made by the previous leader.
func (t *terms) shownAt() time.Time { return t.started.Add(t.landing + t.settings.ListLag) }

func (t *terms) bounds() record.Bounds {
	return record.Bounds{Settle: t.settings.SettleTime, Lag: t.settings.ListLag, Late: t.settings.LateEffect}
}

// stale reports whether an effect began before this process began to lead. Such a reading is dropped. A write counts, whatever its term
// is.
func (t *terms) stale(term int) bool { return term != t.term }

// meet returns the record of an instance, a new one if it has no record.
func (k *Known) meet(id int) *Node {
	n := k.nodes[id]
	if n == nil {
		n = &Node{}
		n.rec.Value.InstanceID = id
		k.nodes[id] = n
	}
	return n
}

// node returns an instance of this cluster, nil if none is known.
func (k *Known) node(id int) *Node {
	if n := k.nodes[id]; n.ours() {
		return n
	}
	return nil
}

// forget drops the record of an instance.
func (k *Known) forget(id int) {
	delete(k.nodes, id)
	delete(k.unanswered, id)
	delete(k.reads, id)
	delete(k.list.shown, id)
}

// Survey notes which instances no claimant needs.
func (k *Known) Survey(unneeded []int) {
	orphans := map[int]time.Time{}
	for _, id := range unneeded {
		orphans[id] = k.View().Orphan(id)
	}
	k.orphans = orphans
}

// Prune drops expired state once in PruneEvery, and reports whether it did.
func (k *Known) Prune() (pruned bool) {
	if k.now.Sub(k.pruned) < tuning.PruneEvery {
		return false
	}
	k.pruned = k.now
	maps.DeleteFunc(k.refusals, func(_ string, r refusal) bool { return !k.now.Before(r.until) })
	maps.DeleteFunc(k.reads, func(_ int, r *reading) bool { return !r.running && k.now.Sub(r.tried) > tuning.ReadKept })
	maps.DeleteFunc(k.unanswered, k.forgettable)
	for id, n := range k.nodes {
		asked := k.reads[id] != nil || k.unanswered[id] != nil
		if gone := n.rec.Gone; gone.IsZero() && !n.ours() && !asked || !gone.IsZero() && k.now.Sub(gone) > tuning.GoneKept {
			k.forget(id)
		}
	}
	k.pace.expire(k.now)
	return true
}

// Expire drops the record of the label of a claimant whose callers have not come back.
func (k *Known) Expire(who claims.ClaimID) {
	if p, known := k.purchases.Get(who); known {
		p.resolved()
		p.labelOwner = 0
	}
}

// Latest returns the last of some times.
func Latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

// refusals contains errors that other requests of the same form get.
type refusals map[string]refusal

// refusal is an error that other requests get until a time.
type refusal struct {
	err   error
	until time.Time
}

// Size counts the entries of the record. Their number is bounded by the size of the cluster, and by the
// latest requests of callers.
type Size struct{ Nodes, Claims, Reads, Writes, Purchases int }

// Size returns the number of entries of each kind.
func (k *Known) Size() Size {
	return Size{
		Nodes: len(k.nodes), Claims: len(k.byClaim), Reads: len(k.reads), Writes: len(k.unanswered), Purchases: len(k.purchases.All()),
	}
}
