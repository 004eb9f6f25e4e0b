package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
)

// These are the operator's assumptions with default settings; record.go of the module names the settings that change
// them.
const (
	settleTime = 4 * time.Second
	listLag    = 2 * time.Minute

	// LateWithin is how late a write without an answer may show: it takes effect late, and the list lags.
	LateWithin = 2*time.Minute + listLag

	operatorWaits = 3 * time.Minute  // for a node's Linode; then it buys another plan, and removes a Linode that comes late
	firstID       = 15 * time.Minute // from a node's request to its Linode: no node is later
	never         = 22 * time.Minute // without a Linode: the node hangs
	taintsWithin  = 15 * time.Second // from a Node's registration to its pool's taints
	memoryShare   = 0.925            // of a plan's memory that a Node has at least
)

// lost is how long an experiment waits for the effect of a change. Then it makes the change again.
const lost = 30 * time.Second

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

// Lab has what the experiments of a run work with.
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

// Tier returns the cluster's tier.
func (l *Lab) Tier() api.LKETier {
	if l.Enterprise {
		return api.LKETierEnterprise
	}
	return api.LKETierStandard
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

// linode reads a Linode that exists. After a 404, which may be a mistake, it reads the Linode again for a while.
func (l *Lab) linode(ctx context.Context, id int) (i *api.Instance) {
	if !within(ctx, lost, func() (bool, error) {
		var err error
		i, err = l.Client.GetInstance(ctx, id)
		return err == nil, err
	}) {
		must(errors.New("the API answers 404 for a Linode of the run"))
	}
	return i
}

// taints returns the run's taint and the given taints.
func (l *Lab) taints(more ...api.LKETaint) *[]api.LKETaint {
	all := append([]api.LKETaint{{Key: TaintKey, Value: l.Run, Effect: "NoSchedule"}}, more...)
	return &all
}

// request returns the request for a pool with the run's marks.
func (l *Lab) request(count int) api.LKENodePoolCreate {
	tags := []api.Tag{l.Tag(), fmt.Sprintf("%s%s-%d", poolTag, l.Run, l.made.Add(1))}
	return api.LKENodePoolCreate{Type: l.Type, Count: count, Tags: &tags, Taints: l.taints()}
}

// create makes a pool. When the answer is lost, create looks for the pool (see find). If the pool does not appear
// within LateWithin, create makes another one.
func (l *Lab) create(ctx context.Context, change func(*api.LKENodePoolCreate), count int) (*pool, error) {
	for {
		request := l.request(count)
		if change != nil {
			change(&request)
		}
		answer, asked, err := poll.Read(func() (*api.LKENodePool, error) { return l.Client.CreatePool(ctx, l.ClusterID, request) })
		p := &pool{Lab: l, asked: asked, answer: answer, tags: *request.Tags}
		switch kind := linode.KindOf(err); {
		case err == nil:
			p.id = answer.ID
			return p, nil
		case kind == linode.KindInvalid && request.Type == l.Type:
			l.weighRefusal(err)
			return nil, err
		case kind != linode.KindAmbiguous:
			return nil, err
		}
		l.Book.Anomaly("a POST without an answer")
		if request.Type != l.Type { // it buys nothing
			return nil, err
		}
		l.pending.Store(p.tags[1], p)
		if found := l.find(ctx); found != nil {
			return found, nil
		}
	}
}

// weighRefusal weighs the words with which the API refuses to sell a plan that the run may buy.
func (l *Lab) weighRefusal(err error) {
	known := slices.ContainsFunc(refusal.Of(err).Reasons(), func(r linode.Reason) bool {
		return refusal.Shortage(r, "", "type", "count") != ""
	})
	_, words := Status(err)
	l.Book.Weigh(report.UnknownRefusal, known, "%s", words)
}

// find looks for a pool whose creation had no answer, also for pools of earlier creations. It gives up after LateWithin.
func (l *Lab) find(ctx context.Context) (found *pool) {
	start := time.Now()
	until(ctx, func() bool {
		for _, p := range got(l.Pools(ctx)) {
			if len(p.Tags) < 2 || !slices.Contains(p.Tags, l.Tag()) {
				continue
			}
			for _, tag := range p.Tags {
				if lost, is := l.pending.LoadAndDelete(tag); is {
					found = lost.(*pool)
					found.id = p.ID
					return true
				}
			}
		}
		return time.Since(start) > LateWithin
	})
	return found
}
