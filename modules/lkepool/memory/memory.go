// Package memory is a platform of node pools that exists in memory only: a
// backend for tests of the claim engine and of programs that use it.
//
// It keeps the rules that the engine relies on: a pool's count is the platform's
// target, instances follow after a delay, lowering a count removes nodes of the
// platform's choice, removing a node lowers the count. Time comes from a clock,
// so it works under testing/synctest. It has no HTTP, no rate limits, and only
// the limits of capacity in Config; package linodesim is the model of the real
// platform. All methods are safe for concurrent use.
//
// Stall, Edit and Recycle do what a platform or a person may do. Calls counts the requests of
// each kind, for tests of costs. Nothing is kept after the process.
package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// Config configures a platform. The zero value is usable.
type Config struct {
	// InstanceAfter is how long an instance takes to exist; nil means at once.
	// It is called once for each node.
	InstanceAfter func() time.Duration
	// ListedAfter is the time by which the pools' node lists lag, as they do on
	// LKE Enterprise; members are then known from the instances.
	ListedAfter time.Duration
	// GoneAfter is how long a removed instance still exists.
	GoneAfter time.Duration
	// CallTakes is how long every call takes.
	CallTakes time.Duration
	// PoolSize is the largest count of a pool; 0 means 100.
	PoolSize int
	// Capacity is the largest number of nodes in all pools; 0 means no limit.
	Capacity int
	// Clock is the source of time; nil means the real one.
	Clock clock.Clock
	// Before is called before every call with the method's name, and After when
	// the call has had its effect. The call returns an error of either.
	Before, After func(method string) error
}

// Platform is a backend and the state behind it.
type Platform struct {
	cfg Config

	mu        sync.Mutex
	lastID    int
	pools     map[int]*pool
	instances map[int]*instance
	calls     map[string]int
	// stalls is how many of the next nodes never get an instance.
	stalls int
}

type pool struct {
	lkepool.Pool
	nodes []*node
}

type node struct {
	id      string
	stalled bool
	asked   time.Time
	due     time.Time
	started *instance
}

type instance struct {
	lkepool.Instance
	nodeID string
	gone   time.Time
}

// New returns an empty platform.
func New(cfg Config) *Platform {
	if cfg.Clock == nil {
		cfg.Clock = clock.RealClock{}
	}
	cfg.PoolSize = cmp.Or(cfg.PoolSize, 100)
	return &Platform{cfg: cfg, lastID: 1000, pools: map[int]*pool{}, instances: map[int]*instance{}, calls: map[string]int{}}
}

var _ lkepool.Backend = (*Platform)(nil)

// call runs a method's effect as the platform would: it takes its time, and
// may fail before or after the effect.
func call[T any](ctx context.Context, p *Platform, method string, effect func() (T, error)) (T, error) {
	var none T
	if p.cfg.CallTakes > 0 {
		timer := p.cfg.Clock.NewTimer(p.cfg.CallTakes)
		defer timer.Stop()
		select {
		case <-timer.C():
		case <-ctx.Done():
		}
	}
	if err := ctx.Err(); err != nil {
		return none, &claims.Error{Kind: claims.KindUnavailable, Op: method, Err: err}
	}
	if p.cfg.Before != nil {
		if err := p.cfg.Before(method); err != nil {
			return none, err
		}
	}
	p.mu.Lock()
	p.calls[method]++
	p.advance()
	value, err := effect()
	p.mu.Unlock()
	if err == nil && p.cfg.After != nil {
		err = p.cfg.After(method)
	}
	if err != nil {
		return none, err
	}
	return value, nil
}

// advance brings the state up to the present.
func (p *Platform) advance() {
	now := p.cfg.Clock.Now()
	for _, id := range slices.Sorted(maps.Keys(p.pools)) {
		for _, n := range p.pools[id].nodes {
			if n.started == nil && !n.stalled && !n.due.After(now) {
				n.started = p.start(p.pools[id], n)
			}
		}
	}
	maps.DeleteFunc(p.instances, func(_ int, i *instance) bool { return !i.gone.IsZero() && !i.gone.After(now) })
}

func (p *Platform) start(of *pool, n *node) *instance {
	p.lastID++
	i := &instance{nodeID: n.id, Instance: lkepool.Instance{
		ID: p.lastID, Name: "node-" + n.id, InstanceType: of.InstanceType, Region: "here",
		Status: "running", Created: n.due, PoolID: of.ID,
	}}
	p.instances[i.ID] = i
	return i
}

func (p *Platform) add(of *pool) {
	now := p.cfg.Clock.Now()
	n := &node{asked: now, due: now, stalled: p.stalls > 0}
	p.stalls = max(0, p.stalls-1)
	if p.cfg.InstanceAfter != nil {
		n.due = now.Add(p.cfg.InstanceAfter())
	}
	p.lastID++
	n.id = fmt.Sprintf("%d-%d", of.ID, p.lastID)
	of.nodes = append(of.nodes, n)
	of.Count = len(of.nodes)
}

func (p *Platform) drop(of *pool, n *node) {
	of.nodes = slices.DeleteFunc(of.nodes, func(other *node) bool { return other == n })
	of.Count = len(of.nodes)
	if n.started != nil {
		n.started.State, n.started.Status = lkepool.Leaving, "deleting"
		n.started.gone = p.cfg.Clock.Now().Add(p.cfg.GoneAfter)
	}
}

func (p *Platform) total() int {
	total := 0
	for _, pool := range p.pools {
		total += pool.Count
	}
	return total
}

// shown returns a pool as the platform shows it.
func (p *Platform) shown(of *pool) lkepool.Pool {
	shown := of.Pool
	shown.Tags = slices.Clone(of.Tags)
	for _, n := range of.nodes {
		if p.cfg.Clock.Since(n.asked) < p.cfg.ListedAfter {
			continue
		}
		slot := lkepool.Slot{NodeID: n.id}
		if n.started != nil {
			slot.InstanceID = n.started.ID
		}
		shown.Slots = append(shown.Slots, slot)
	}
	return shown
}

func (i *instance) shown() lkepool.Instance {
	shown := i.Instance
	shown.Tags = slices.Clone(i.Tags)
	return shown
}

func failure(kind claims.Kind, op string, poolID int, text string) error {
	return &claims.Error{Kind: kind, Op: op, Object: claims.Object("pool", poolID), Effect: claims.EffectNone, Err: errors.New(text)}
}

// Limits returns the platform's limits.
func (p *Platform) Limits() lkepool.Limits {
	return lkepool.Limits{PoolSize: p.cfg.PoolSize, NodesLag: p.cfg.ListedAfter > 0}
}

// Check refuses labels that contain kubernetes.io, as LKE does.
func (p *Platform) Check(key lkepool.Key) error {
	for name := range key.Template.Labels {
		if strings.Contains(name, "kubernetes.io") {
			return &claims.Error{
				Kind: claims.KindInvalid, Op: "claim", Field: "Key.Template.Labels",
				Err: fmt.Errorf("label key %q is reserved", name),
			}
		}
	}
	return nil
}

// ReservedTag returns false for all tags: the platform sets no tags.
func (p *Platform) ReservedTag(string) bool { return false }
