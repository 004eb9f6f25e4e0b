// Package lab gives experiments their tools: a cluster, pools of their own in
// it, and ways to watch what becomes of them. Every pool carries the run's tag
// and a tag of its own, by which it is found when the answer to its creation is
// lost. An experiment that ends leaves removal to its pool's Remove, and in the
// end to package sweep.
package lab

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/notebook"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/poll"
)

const (
	// TagPrefix begins the tag that each pool of a run carries.
	TagPrefix = "lkeprobe-run="
	poolTag   = "lkeprobe-pool-"

	// Lookup is how long a pool is looked for whose creation had no answer: lists may lag.
	Lookup = 150 * time.Second
	lost   = 30 * time.Second // after which a write without effect is sent again
)

// NodeReady reads which Linodes are ready Kubernetes Nodes.
type NodeReady interface {
	Ready(ctx context.Context) (map[int]bool, error)
}

// hexPart is the part of a node's ID that differs from node to node.
var hexPart = regexp.MustCompile(`[0-9a-f]{12}`)

// Lab is one run's.
type Lab struct {
	Client     *linode.Client
	Raw        func(ctx context.Context, path string) (int, error) // GET, below the version
	Book       *notebook.Notebook
	Nodes      NodeReady // nil without a kubeconfig
	ClusterID  int
	Enterprise bool
	Region     string
	Type       string // plan of the nodes
	Run        string
	// Unresolved is when a creation last had no answer and its pool was not
	// found; zero = never.
	Unresolved time.Time
	made       int
}

// Tag marks the run's pools.
func (l *Lab) Tag() string { return TagPrefix + l.Run }

// Spec is a pool to be.
type Spec struct {
	Type, Label string // Type "" = the run's
	Count       int
	Labels      map[string]string
	Taints      []api.LKETaint
}

func (l *Lab) request(s Spec) api.LKENodePoolCreate {
	l.made++
	tags := []api.Tag{l.Tag(), fmt.Sprintf("%s%s-%d", poolTag, l.Run, l.made)}
	r := api.LKENodePoolCreate{Type: l.Type, Count: s.Count, Tags: &tags}
	if s.Type != "" {
		r.Type = s.Type
	}
	if s.Label != "" {
		r.Label = &s.Label
	}
	if s.Labels != nil {
		r.Labels = &s.Labels
	}
	if s.Taints != nil {
		r.Taints = &s.Taints
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
	nodes  map[string]bool // entries that were seen
}

// Create makes a pool. When the answer is lost, the pool is looked for; when it
// is not there, another is made.
func (l *Lab) Create(ctx context.Context, s Spec) (*Pool, error) {
	for {
		request := l.request(s)
		p := &Pool{lab: l, Tags: *request.Tags, nodes: map[string]bool{}}
		var err error
		p.Asked, err = poll.Around(func() error {
			var err error
			p.Answer, err = l.Client.CreatePool(ctx, l.ClusterID, request)
			return err
		})
		switch {
		case err == nil:
			p.ID = p.Answer.ID
			return p, nil
		case linode.KindOf(err) != linode.KindAmbiguous:
			return nil, err
		}
		l.Unresolved = time.Now()
		l.Book.Anomaly("a POST without an answer")
		if p.ID, err = l.find(ctx, (*request.Tags)[1]); err != nil {
			return nil, err
		}
		if p.ID != 0 {
			l.Unresolved = time.Time{}
			return p, nil
		}
	}
}

// find looks for a pool by its own tag.
func (l *Lab) find(ctx context.Context, tag string) (int, error) {
	id, start := 0, time.Now()
	err := poll.Until(ctx, func(ctx context.Context) (bool, error) {
		pools, err := l.Pools(ctx)
		for _, p := range pools {
			if slices.Contains(p.Tags, l.Tag()) && slices.Contains(p.Tags, tag) {
				id = p.ID
			}
		}
		return id != 0 || err == nil && time.Since(start) > Lookup, err
	})
	return id, err
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

// GetPool, DeletePool, GetInstance and DeleteInstance serve a sweep.

// GetPool reads one pool.
func (l *Lab) GetPool(ctx context.Context, clusterID, poolID int) (*api.LKENodePool, error) {
	return l.Client.GetPool(ctx, clusterID, poolID)
}

// DeletePool deletes one pool.
func (l *Lab) DeletePool(ctx context.Context, clusterID, poolID int) error {
	return l.Client.DeletePool(ctx, clusterID, poolID)
}

// GetInstance reads one Linode.
func (l *Lab) GetInstance(ctx context.Context, linodeID int) (*api.Instance, error) {
	return l.Client.GetInstance(ctx, linodeID)
}

// DeleteInstance deletes one Linode.
func (l *Lab) DeleteInstance(ctx context.Context, linodeID int) error {
	return l.Client.DeleteInstance(ctx, linodeID)
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
	if err == nil {
		for _, n := range pool.Nodes {
			p.nodes[n.ID] = true
		}
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

// Delay notes a measured delay of this lab.
func (l *Lab) Delay(name string, s poll.Sample) { l.Book.Delay(name, s) }

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
