package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/lab"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/notebook"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/poll"
)

var lagQuestions = []notebook.Question{
	{ID: "lag.pool_tags", Text: "Reads and lists of a pool show a change of its tags", Expected: notebook.Unknown},
	{ID: "lag.pool_count", Text: "Reads and lists of a pool show a change of its count", Expected: notebook.Unknown},
	{ID: "lag.linode_tags", Text: "Reads and lists of a Linode show a change of its tags", Expected: notebook.Unknown},
	{ID: "lag.omitted", Text: "PUT without a field leaves it as it is", Expected: "yes"},
}

// rounds is how often each kind of change is measured.
const rounds = 2

// lags measures how far reads of one thing and lists are behind writes.
func lags(ctx context.Context, l *lab.Lab, p *lab.Pool, a *lab.Arrival) error {
	for round := range rounds {
		tag := fmt.Sprintf("lkp%s-lag%d", l.Run, round)
		has := func(pool *api.LKENodePool) bool { return slices.Contains(pool.Tags, tag) }
		if err := poolLag(ctx, l, p, "lag.pool_tags", api.LKENodePoolUpdate{Tags: tagsOf(p.Tags, tag)}, has); err != nil {
			return err
		}
		if err := linodeLag(ctx, l, a.Linodes()[0], tag); err != nil {
			return err
		}
	}
	two := 2
	kept := false
	err := poolLag(ctx, l, p, "lag.pool_count", api.LKENodePoolUpdate{Count: &two}, func(pool *api.LKENodePool) bool {
		kept = len(pool.Tags) > len(p.Tags)
		return pool.Count == two
	})
	if err == nil {
		l.Book.Answer("lag.omitted", map[bool]string{true: "yes", false: "no"}[kept])
	}
	return err
}

// poolLag changes a pool and reads it both ways.
func poolLag(ctx context.Context, l *lab.Lab, p *lab.Pool, question string, change api.LKENodePoolUpdate,
	has func(*api.LKENodePool) bool) error {
	return measured(ctx, l, question,
		func() error { _, err := l.Client.UpdatePool(ctx, l.ClusterID, p.ID, change); return err },
		lab.View{Delay: report.PoolReadLag, Has: func(ctx context.Context) (bool, error) {
			pool, err := l.Client.GetPool(ctx, l.ClusterID, p.ID)
			return err == nil && has(pool), err
		}},
		lab.View{Delay: report.PoolListLag, Has: func(ctx context.Context) (bool, error) {
			pools, err := l.Pools(ctx)
			at := slices.IndexFunc(pools, func(q api.LKENodePool) bool { return q.ID == p.ID })
			if err == nil && at < 0 {
				err = lab.ErrMissing
			}
			return err == nil && has(&pools[at]), err
		}})
}

// linodeLag changes a Linode's tags and reads it both ways.
func linodeLag(ctx context.Context, l *lab.Lab, id int, tag string) error {
	before, err := l.Linode(ctx, id)
	if err != nil {
		return err
	}
	has := func(i api.Instance) bool { return i.ID == id && slices.Contains(i.Tags, tag) }
	change := api.InstanceUpdate{Tags: tagsOf(before.Tags, tag)}
	return measured(ctx, l, "lag.linode_tags",
		func() error { _, err := l.Client.UpdateInstance(ctx, id, change); return err },
		lab.View{Delay: report.LinodeReadLag, Has: func(ctx context.Context) (bool, error) {
			i, err := l.Client.GetInstance(ctx, id)
			return err == nil && has(*i), err
		}},
		lab.View{Delay: report.LinodeListLag, Has: func(ctx context.Context) (bool, error) {
			list, err := l.Linodes(ctx)
			if err == nil && !slices.ContainsFunc(list, func(i api.Instance) bool { return i.ID == id }) {
				err = lab.ErrMissing
			}
			return slices.ContainsFunc(list, has), err
		}})
}

// measured writes and measures the views. A write without effect, although its
// answer was success, is made again.
func measured(ctx context.Context, l *lab.Lab, question string, write func() error, views ...lab.View) error {
	for {
		w, err := poll.Around(write)
		if err != nil {
			return err
		}
		never, err := l.Lag(ctx, w, views...)
		switch {
		case errors.Is(err, lab.ErrNoEffect):
			l.Book.Anomaly("a PUT without effect")
			continue
		case err == nil:
			l.Book.Answer(question, "yes; see the delays for how late")
		case len(never) > 0:
			l.Book.Answer(question, "never by "+strings.Join(never, ", "))
		}
		return err
	}
}
