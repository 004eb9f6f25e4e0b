package experiment

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/poll"
)

// pool is a node pool of the run.
type pool struct {
	*Lab
	id     int
	asked  poll.Window      // when it was requested
	answer *api.LKENodePool // to its creation; nil when the answer was lost
	tags   []string
}

// pool makes a pool for the length of the trial.
func (t *trial) pool(ctx context.Context, change func(*api.LKENodePoolCreate), count int) *pool {
	p := got(t.create(ctx, change, count))
	t.pools = append(t.pools, p)
	return p
}

// settled makes a pool for the length of the trial, and waits until its nodes have Linodes.
func (t *trial) settled(ctx context.Context, change func(*api.LKENodePoolCreate), count int) (*pool, *arrival) {
	p := t.pool(ctx, change, count)
	a := p.expect(count, p.asked, nil)
	defer a.note()
	a.wait(ctx, false)
	if n := len(a.own()); n < count {
		must(fmt.Errorf("%d of %d nodes have a Linode", n, count))
	}
	return p, a
}

// read reads the pool. After a 404 it returns nil and no error, because a single 404 may be a mistake.
func (p *pool) read(ctx context.Context) (*api.LKENodePool, poll.Window) {
	read, w, err := poll.Read(func() (*api.LKENodePool, error) { return p.Client.GetPool(ctx, p.ClusterID, p.id) })
	if linode.KindOf(err) == linode.KindNotFound {
		return nil, w
	}
	must(err)
	return read, w
}

// update changes the pool and waits until a read of it has the change. A change that shows no effect for a while is made again.
func (p *pool) update(ctx context.Context, change api.LKENodePoolUpdate, has func(*api.LKENodePool) bool) (poll.Window, *api.LKENodePool) {
	for {
		answer, w, err := poll.Read(func() (*api.LKENodePool, error) { return p.Client.UpdatePool(ctx, p.ClusterID, p.id, change) })
		must(err)
		if within(ctx, lost, func() (bool, error) {
			read, _ := p.read(ctx)
			return read != nil && has(read), nil
		}) {
			return w, answer
		}
		p.Book.Anomaly("a PUT without effect")
	}
}

// remove deletes the pool. The clean-up at the end of the run makes sure that the pool is gone.
func (p *pool) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	err := p.Client.DeletePool(ctx, p.ClusterID, p.id)
	if linode.KindOf(err) == linode.KindNotFound {
		return nil
	}
	return err
}

// has reports whether a Linode is one of the pool's nodes.
func (p *pool) has(i api.Instance, ids []int) bool {
	return strings.HasPrefix(i.Label, p.labels()) || slices.Contains(i.Tags, fmt.Sprintf("nodepool=%d", p.id)) || slices.Contains(ids, i.ID)
}

// labels returns the beginning of the labels of the pool's Linodes.
func (p *pool) labels() string { return fmt.Sprintf("lke%d-%d-", p.ClusterID, p.id) }

// hexPart is the part of a node's ID that differs from node to node.
var hexPart = regexp.MustCompile(`[0-9a-f]{12}`)

// form describes a label in terms of the pool's and the cluster's IDs.
func (p *pool) form(label string) string {
	rest, found := strings.CutPrefix(label, p.labels())
	if found && len(rest) == 12 && hexPart.MatchString(rest) {
		return report.ValueLKELabel
	}
	form := strings.NewReplacer(fmt.Sprint(p.ClusterID), "<cluster>", fmt.Sprint(p.id), "<pool>").Replace(label)
	return report.ValueUnknownPrefix + hexPart.ReplaceAllString(form, "<12 hex digits>")
}

// gone waits until three reads of a Linode in a row are 404s, and notes the time from the Linode's deletion to the
// first of them.
func (p *pool) gone(ctx context.Context, delay string, linodeID int, deleted poll.Window) {
	var mark poll.Mark
	row := 0
	defer func() {
		if mark.Seen() {
			p.Book.Delay(delay, mark.Since(deleted))
		}
	}()
	until(ctx, func() bool {
		_, read, err := poll.Read(func() (*api.Instance, error) { return p.Client.GetInstance(ctx, linodeID) })
		if gone := linode.KindOf(err) == linode.KindNotFound; gone {
			row++
		} else {
			must(err)
			if mark.Seen() { // the 404 was a mistake
				mark, row = poll.Mark{}, 0
			}
		}
		mark.Note(row > 0, read)
		return row >= 3
	})
}
