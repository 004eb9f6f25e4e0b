// Package lab gives experiments their tools: a cluster, their own pools in it, and ways to watch these pools.
//
// Every pool carries three marks. The run's tag shows the run. A tag of its own finds the pool when the answer to its creation is lost. A
// taint keeps other pods away, and shows the owner when the API loses tags. An experiment that ends leaves the removal to its pool's
// Remove, and the run removes the rest at its end.
package lab

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/refusal"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/poll"
)

const (
	// TagPrefix begins the tag that each pool of a run carries.
	TagPrefix = "lkeprobe-run="
	poolTag   = "lkeprobe-pool-"
	// TaintKey is the key of the run's taint, whose value is the run.
	TaintKey = "lkeprobe-run"

	lost = 30 * time.Second // after which a write without effect is sent again
)

// What the operator assumes by default; judge.go of the module says which setting changes it.
const (
	SettleTime = 4 * time.Second
	ListLag    = 2 * time.Minute
	LateEffect = 2 * time.Minute

	operatorWaits = 3 * time.Minute  // for a node's Linode; then it buys another plan, and removes a Linode that comes late
	firstID       = 15 * time.Minute // from a node's request to its Linode: no node is later
	never         = 22 * time.Minute // without a Linode: the node hangs
	taintsWithin  = 15 * time.Second // from a Node's registration to its pool's taints
	memoryShare   = 0.925            // of a plan's memory that a Node has at least
)

// lookup is how long an experiment looks for a pool whose creation had no answer: the write may take effect late, and the list lag.
const lookup = LateEffect + ListLag

// Node is a Kubernetes Node of the cluster.
type Node struct {
	Name      string
	LinodeID  int // by its provider ID; 0 without one
	Created   time.Time
	Taints    []string // keys
	Ready     bool
	MemoryKiB int64 // capacity
	ForPods   int64 // allocatable memory, KiB
}

// Nodes reads the cluster's Kubernetes Nodes.
type Nodes interface {
	Nodes(ctx context.Context) ([]Node, error)
}

// hexPart is the part of a node's ID that differs from node to node.
var hexPart = regexp.MustCompile(`[0-9a-f]{12}`)

// Lab is one run's.
type Lab struct {
	Client *linode.Client
	Raw    func(ctx context.Context, path string) (int, error) // GET, below the version
	// Unanswered reports whether a change of the last minutes had no answer, so that it may still take effect.
	Unanswered func() bool
	Book       *Book
	Nodes      Nodes // nil without a kubeconfig
	ClusterID  int
	Enterprise bool
	Region     string
	Type       string // plan of the nodes
	MemoryMB   int    // of the plan
	Run        string

	made    atomic.Int64
	pending sync.Map // tags of pools whose creation had no answer and that were not found
}

// Tag marks the run's pools.
func (l *Lab) Tag() string { return TagPrefix + l.Run }

// Spec is a pool to be.
type Spec struct {
	Type, Label string // Type "" = the run's
	Count       int
	Isolated    bool
}

// Taints are the run's taint, and more.
func (l *Lab) Taints(more ...api.LKETaint) *[]api.LKETaint {
	all := append([]api.LKETaint{{Key: TaintKey, Value: l.Run, Effect: "NoSchedule"}}, more...)
	return &all
}

func (l *Lab) request(s Spec) api.LKENodePoolCreate {
	tags := []api.Tag{l.Tag(), fmt.Sprintf("%s%s-%d", poolTag, l.Run, l.made.Add(1))}
	r := api.LKENodePoolCreate{Type: l.Type, Count: s.Count, Tags: &tags, Taints: l.Taints()}
	if s.Type != "" {
		r.Type = s.Type
	}
	if s.Label != "" {
		r.Label = &s.Label
	}
	if s.Isolated {
		off := false
		r.Isolation = &api.LKEIsolation{PublicIPv4: &off, PublicIPv6: &off}
	}
	return r
}

// Pool is one of the run's.
type Pool struct {
	lab    *Lab
	ID     int
	Asked  poll.Window      // when it was requested
	Answer *api.LKENodePool // to its creation; nil when that was lost
	Tags   []string
}

// Create makes a pool. When the answer is lost, the pool is looked for; when it
// is not there, another is made, unless the first one shows meanwhile.
func (l *Lab) Create(ctx context.Context, s Spec) (*Pool, error) {
	for {
		request := l.request(s)
		p := &Pool{lab: l, Tags: *request.Tags}
		var err error
		p.Asked, err = poll.Around(func() error {
			var err error
			p.Answer, err = l.Client.CreatePool(ctx, l.ClusterID, request)
			return err
		})
		switch kind := linode.KindOf(err); {
		case err == nil:
			p.ID = p.Answer.ID
			return p, nil
		case kind == linode.KindInvalid && request.Type == l.Type:
			l.refused(err)
			return nil, err
		case kind != linode.KindAmbiguous:
			return nil, err
		}
		l.Book.Anomaly("a POST without an answer")
		if s.Type != "" { // it buys nothing
			return nil, err
		}
		l.pending.Store((*request.Tags)[1], p)
		found, err := l.find(ctx)
		if found != nil || err != nil {
			return found, err
		}
	}
}

// refused weighs the words with which the API refuses to sell what the run may buy.
func (l *Lab) refused(err error) {
	known := slices.ContainsFunc(refusal.Of(err).Reasons(), func(r linode.Reason) bool {
		return refusal.Shortage(r, "", "type", "count") != ""
	})
	_, words := Status(err)
	l.Book.Weigh(report.UnknownRefusal, known, "%s", words)
}

// find looks for one of the pools whose creation had no answer, and gives up after a while.
func (l *Lab) find(ctx context.Context) (*Pool, error) {
	var found *Pool
	start := time.Now()
	err := poll.Until(ctx, func(ctx context.Context) (bool, error) {
		pools, err := l.Pools(ctx)
		for _, p := range pools {
			if len(p.Tags) < 2 || !slices.Contains(p.Tags, l.Tag()) {
				continue
			}
			for _, tag := range p.Tags {
				if lost, is := l.pending.LoadAndDelete(tag); is {
					found = lost.(*Pool)
					found.ID = p.ID
					return true, nil
				}
			}
		}
		return err == nil && time.Since(start) > lookup, err
	})
	return found, err
}

// Pools lists the cluster's pools.
func (l *Lab) Pools(ctx context.Context) ([]api.LKENodePool, error) {
	return linode.Collect(l.Client.ListPools(ctx, l.ClusterID, linode.Filter{}))
}

// Linodes lists the cluster's Linodes.
func (l *Lab) Linodes(ctx context.Context) ([]api.Instance, error) {
	all, err := linode.Collect(l.Client.ListInstances(ctx, linode.Where("region").Equal(l.Region)))
	return slices.DeleteFunc(all, func(i api.Instance) bool { return i.LKEClusterID == nil || *i.LKEClusterID != l.ClusterID }), err
}

// Read reads the pool. A 404 is no error, because one alone may be a mistake:
// the result is nil then.
func (p *Pool) Read(ctx context.Context) (*api.LKENodePool, poll.Window, error) {
	var pool *api.LKENodePool
	w, err := poll.Around(func() error {
		var err error
		pool, err = p.lab.Client.GetPool(ctx, p.lab.ClusterID, p.ID)
		return err
	})
	if linode.KindOf(err) == linode.KindNotFound {
		return nil, w, nil
	}
	return pool, w, err
}

// Update changes the pool and waits until a read of it has the change. A change
// that shows no effect for a while is made again.
func (p *Pool) Update(ctx context.Context, change api.LKENodePoolUpdate, has func(*api.LKENodePool) bool) (poll.Window, *api.LKENodePool,
	error) {
	for {
		var answer *api.LKENodePool
		w, err := poll.Around(func() error {
			var err error
			answer, err = p.lab.Client.UpdatePool(ctx, p.lab.ClusterID, p.ID, change)
			return err
		})
		if err != nil {
			return w, nil, err
		}
		shown := false
		err = poll.Until(ctx, func(ctx context.Context) (bool, error) {
			pool, _, err := p.Read(ctx)
			shown = pool != nil && has(pool)
			return shown || time.Since(w.To) > lost, err
		})
		if shown || err != nil {
			return w, answer, err
		}
		p.lab.Book.Anomaly("a PUT without effect")
	}
}

// Remove deletes the pool. That it is gone is made sure of at the end of the run.
func (p *Pool) Remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	err := p.lab.Client.DeletePool(ctx, p.lab.ClusterID, p.ID)
	if linode.KindOf(err) == linode.KindNotFound {
		return nil
	}
	return err
}

// has reports whether a Linode is one of the pool's nodes.
func (p *Pool) has(i api.Instance, ids []int) bool {
	return strings.HasPrefix(i.Label, fmt.Sprintf("lke%d-%d-", p.lab.ClusterID, p.ID)) ||
		slices.Contains(i.Tags, fmt.Sprintf("nodepool=%d", p.ID)) || slices.Contains(ids, i.ID)
}

// Status returns the HTTP status of an outcome, and the API's reasons.
func Status(err error) (int, string) {
	if err == nil {
		return http.StatusOK, ""
	}
	e, _ := asError(err)
	if e == nil {
		return 0, err.Error()
	}
	var parts []string
	for _, r := range e.Reasons {
		if r.Field != "" {
			parts = append(parts, "["+r.Field+"] "+r.Reason)
		} else {
			parts = append(parts, r.Reason)
		}
	}
	return e.Status, strings.Join(parts, "; ")
}

// LKEForm describes a label in terms of the pool's and the cluster's IDs.
func (p *Pool) LKEForm(label string) string {
	prefix := fmt.Sprintf("lke%d-%d-", p.lab.ClusterID, p.ID)
	rest, found := strings.CutPrefix(label, prefix)
	if found && len(rest) == 12 && strings.Trim(rest, "0123456789abcdef") == "" {
		return report.ValueLKELabel
	}
	form := strings.NewReplacer(fmt.Sprint(p.lab.ClusterID), "<cluster>", fmt.Sprint(p.ID), "<pool>").Replace(label)
	return report.ValueUnknownPrefix + hexPart.ReplaceAllString(form, "<12 hex digits>")
}
