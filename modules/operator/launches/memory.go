package launches

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/pacing"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/printable"
)

// How long the results of launches are remembered.
const (
	// RefusalLasts is the time after which a refusal is forgotten, even if the refused object has not changed.
	RefusalLasts = 5 * time.Minute
	// HeldFor is the time for which a static NodePool makes no NodeClaim after a NodeClaim that got no node.
	HeldFor = time.Minute
	// ShortfallLasts is the time for which a NodePool plans with the figures of a node that was too small. By then, a second node of the
	// plan has taught the catalog the right figures, or the plan is tried again.
	ShortfallLasts = 6 * time.Hour

	failureLasts = time.Hour        // after the last pause a failure counts for the next
	limitLasts   = 15 * time.Minute // a refusal because of a limit counts as the reason why nothing can surge
	attemptLasts = time.Hour        // of a NodeClaim that was deleted between two attempts; core gives a launch up after 5 minutes
	countedLasts = time.Hour        // a NodeClaim whose node never joined is counted once; core deletes it within seconds
)

// Config configures a Memory; the zero value has the defaults.
type Config struct {
	PlanRest time.Duration                  // how long a plan rests after the region or the account had no room for it; 0 = PlanRest
	OnRest   func(plan string, cause Cause) // a plan rests that did not rest for this cause; may be nil
}

// A Target is a plan in a NodePool. An empty plan stands for all plans of the NodePool.
type Target struct{ NodePool, Plan string }

// An Attempt is a call of Create. Core calls Create for one NodeClaim in one goroutine at a time. Prices and availability may change
// between two attempts, but the plan stays: the first attempt may already have bought a node, which another plan would leave unused.
type Attempt struct {
	Plan   string
	Number int       // from 1
	Began  time.Time // time of the first attempt for this plan
}

// Memory remembers the results of launches. It is safe for concurrent use.
type Memory struct {
	cfg Config

	mu         sync.Mutex
	attempts   timed[types.UID, Attempt]          // by NodeClaim, until it has a node or is given up
	pauses     timed[Target, pacing.Record]       // failures in a row
	refusals   timed[source, Refusal]             // that a user has to end
	rests      timed[string, Cause]               // by plan
	limited    timed[string, bool]                // NodePools that a limit refused
	held       timed[string, string]              // by static NodePool: why it makes no NodeClaims
	counted    timed[types.UID, bool]             // NodeClaims whose node never joined
	shortfalls timed[Target, corev1.ResourceList] // the resources of a node that was too small
}

// New returns an empty Memory.
func New(cfg Config) *Memory {
	return &Memory{cfg: cfg, attempts: timed[types.UID, Attempt]{}, pauses: timed[Target, pacing.Record]{}, refusals: timed[source, Refusal]{},
		rests: timed[string, Cause]{}, limited: timed[string, bool]{}, held: timed[string, string]{}, counted: timed[types.UID, bool]{},
		shortfalls: timed[Target, corev1.ResourceList]{}}
}

// Attempted returns the plan of a NodeClaim's last attempt, "" if it has made no attempt.
func (m *Memory) Attempted(nodeClaim types.UID) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	last, _ := m.attempts.get(nodeClaim)
	return last.Plan
}

// Begin records an attempt to launch a NodeClaim as a plan.
func (m *Memory) Begin(nodeClaim types.UID, plan string) Attempt {
	m.mu.Lock()
	defer m.mu.Unlock()
	last, _ := m.attempts.get(nodeClaim)
	this := Attempt{plan, last.Number + 1, last.Began}
	if last.Plan != plan {
		this.Began = time.Now()
	}
	m.attempts.set(nodeClaim, this, attemptLasts)
	return this
}

// End forgets the attempts of a NodeClaim that has a node or gets none.
func (m *Memory) End(nodeClaim types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.attempts, nodeClaim)
}

// Failed judges the failure of a launch, and records the verdict.
func (m *Memory) Failed(l Launch, err error) Verdict {
	v, news := m.judge(l, err)
	if news && m.cfg.OnRest != nil { // without the lock: it may read the offered plans
		m.cfg.OnRest(l.Plan, v.cause)
	}
	return v
}

func (m *Memory) judge(l Launch, err error) (v Verdict, news bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	whole := Target{NodePool: l.NodePool}
	before, _ := m.pauses.get(whole)
	v = Judge(err, l, time.Now(), m.cfg.PlanRest, before)
	switch {
	case v.cause != "":
		news = m.rest(v.cause, l.Plan)
		if v.limited {
			for _, plan := range l.Larger {
				m.rest(v.cause, plan)
			}
		}
	case !v.refusal.Until.IsZero():
		m.refusals.set(v.refusal.source(), v.refusal, RefusalLasts)
	case v.failures.InARow > 0:
		m.pause(whole, v.failures)
	}
	if v.limited && l.NodePool != "" {
		m.limited.set(l.NodePool, true, limitLasts)
	}
	if v.held != "" {
		m.held.set(l.NodePool, v.held, HeldFor)
	}
	return v, news
}

// rest lets a plan rest, and returns true if the plan did not rest for this cause before. A rest is never shortened.
func (m *Memory) rest(cause Cause, plan string) (news bool) {
	lasts := cause.rest(m.cfg.PlanRest)
	old, _ := m.rests.get(plan)
	if m.rests[plan].ends.Before(time.Now().Add(lasts)) {
		m.rests.set(plan, cause, lasts)
	}
	return old != cause
}

// Resting returns why a plan rests, false if it does not.
func (m *Memory) Resting(plan string) (cause Cause, is bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rests.get(plan)
}

// pause records failures in a row. They are forgotten when failureLasts has passed since their pause.
func (m *Memory) pause(t Target, failures pacing.Record) {
	m.pauses.set(t, failures, time.Until(failures.Until)+failureLasts)
}

// NeverJoined counts a node that never joined, once for each NodeClaim, and returns the pause of the node's plan that follows.
func (m *Memory) NeverJoined(nodeClaim types.UID, t Target) (pause time.Duration, counted bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, before := m.counted.get(nodeClaim); before {
		return 0, false
	}
	m.counted.set(nodeClaim, true, countedLasts)
	failures, _ := m.pauses.get(t)
	pause = failures.Failed(time.Now(), pacing.Joins)
	m.pause(t, failures)
	return pause, true
}

// Joined forgets the failures of a plan, and of its NodePool, from before the given time, at which a node of the plan joined.
func (m *Memory) Joined(nodePool, plan string, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range []Target{{nodePool, plan}, {NodePool: nodePool}} {
		if record, is := m.pauses.get(t); is && at.After(record.Last) {
			delete(m.pauses, t)
		}
	}
}

// Pausing returns whether a NodePool does not get a plan now.
func (m *Memory) Pausing(nodePool, plan string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	ofPlan, _ := m.pauses.get(Target{nodePool, plan})
	ofAll, _ := m.pauses.get(Target{NodePool: nodePool})
	return now.Before(ofPlan.Until) || now.Before(ofAll.Until)
}

// Pauses returns the plans of a NodePool whose launches failed in a row. A node that joins ends the row.
func (m *Memory) Pauses(nodePool string) (pauses []Pause) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pausesOf(func(t Target) bool { return t.NodePool == nodePool })
}

func (m *Memory) pausesOf(wanted func(Target) bool) (pauses []Pause) {
	for t := range m.pauses {
		if record, is := m.pauses.get(t); is && wanted(t) {
			pauses = append(pauses, Pause{t.NodePool, t.Plan, record.InARow, record.Last, record.Until})
		}
	}
	slices.SortFunc(pauses, func(a, b Pause) int {
		return cmp.Or(strings.Compare(a.NodePool, b.NodePool), strings.Compare(a.Plan, b.Plan))
	})
	return pauses
}

// Refused returns the refusal of launches from a source, false if no refusal is recorded.
func (m *Memory) Refused(from Source) (Refusal, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range []source{{nodeClass: from.NodeClass.UID}, {from.NodePool.UID, from.NodeClass.UID}} {
		r, is := m.refusals.get(k)
		if is && r.NodeClass == from.NodeClass && (k.nodePool == "" || r.NodePool == from.NodePool) {
			return r, true
		}
	}
	return Refusal{}, false
}

// Limited returns whether a limit has refused a launch of the NodePool lately.
func (m *Memory) Limited(nodePool string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, is := m.limited.get(nodePool)
	return is
}

// Hold lets a static NodePool make no NodeClaim for HeldFor.
func (m *Memory) Hold(nodePool, why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held.set(nodePool, printable.Message(why), HeldFor)
}

// Held returns why a static NodePool makes no NodeClaim now, false if it may.
func (m *Memory) Held(nodePool string) (why string, is bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.held.get(nodePool)
}

// TooSmall records the resources of a node that cannot hold the pods for which its NodeClaim was made.
func (m *Memory) TooSmall(t Target, had corev1.ResourceList) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shortfalls.set(t, had, ShortfallLasts)
}

// Shortfall returns the resources of a node of the target that was too small. It returns false if no such node is recorded.
func (m *Memory) Shortfall(t Target) (had corev1.ResourceList, is bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.shortfalls.get(t)
}

// timed holds values until their ends. Unlike cache.Expiring of apimachinery it can be listed, for Pauses and Export.
type timed[K comparable, V any] map[K]ending[V]

type ending[V any] struct {
	value V
	ends  time.Time
}

func (t timed[K, V]) get(key K) (value V, is bool) {
	if held, known := t[key]; known && time.Now().Before(held.ends) {
		return held.value, true
	}
	return value, false
}

// set keeps a value for a while, and drops the values that have ended.
func (t timed[K, V]) set(key K, value V, lasts time.Duration) {
	now := time.Now()
	maps.DeleteFunc(t, func(_ K, held ending[V]) bool { return !now.Before(held.ends) })
	t[key] = ending[V]{value, now.Add(lasts)}
}
