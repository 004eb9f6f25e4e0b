package belief

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims/absence"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/tagging"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/pacing"
)

// Belief holds all that is known of the platform, and of the writes under way.
type Belief struct {
	terms
	world
	lists
	Purchases   purchases
	Marks       marks
	lastFailure lastFailure
}

// terms are the settings, and the times that bound what readings and writes of the
// process before may show.
type terms struct {
	cfg    lkepool.Config
	Tags   tagging.Tags
	limits lkepool.Limits
	// StartedAt is when this process began to lead.
	StartedAt time.Time
	// LateUntil is how long writes of the process before may take effect.
	LateUntil time.Time
	now       time.Time
}

// New knows nothing of the platform yet. cfg has its defaults. clean: no write
// of a process before is under way.
func New(cfg lkepool.Config, limits lkepool.Limits, now time.Time, clean bool) *Belief {
	b := &Belief{
		terms:     terms{cfg: cfg, Tags: tagging.New(cfg.Tags), limits: limits, StartedAt: now, LateUntil: now, now: now},
		world:     world{Index: newIndex()},
		Purchases: purchases{Keys: map[string]*KeyState{}, buying: map[string]int{}},
	}
	if !clean {
		b.LateUntil = now.Add(cfg.LateEffect)
	}
	return b
}

// At sets the time of what follows.
func (b *Belief) At(now time.Time) { b.now = now }

// Forget drops the keys that neither pools nor claims, whose keys are given, refer to
// any more.
func (b *Belief) Forget(wanted map[string]bool) {
	for _, p := range b.Pools.Rows {
		wanted[p.KeyHash()] = true
	}
	b.Purchases.forget(wanted, b.now)
}

// Failed notes a node of the key that did not join its cluster.
func (b *Belief) Failed(key lkepool.Key, now time.Time) {
	b.Purchases.key(key).Joins.Failed(now, pacing.Joins)
}

// Joined notes a node of the key that joined.
func (b *Belief) Joined(key lkepool.Key) { b.Purchases.key(key).Joins = pacing.Record{} }

// Meet returns the node of an ID, a new one if none is known.
func (b *Belief) Meet(id int) *Node {
	if n, known := b.Nodes.Get(id); known {
		return n
	}
	return instanceEvidence{b}.meetNode(id)
}

// Sought returns the record of a pool that an instance names, and lists have
// not shown.
func (b *Belief) Sought(id int) *Trace {
	t, known := b.Absent.Pools.Get(id)
	if !known {
		t = &Trace{Evidence: absence.Evidence{First: b.now}} // a list may be older than the pool
		b.Absent.Pools.put(id, t)
	}
	return t
}
