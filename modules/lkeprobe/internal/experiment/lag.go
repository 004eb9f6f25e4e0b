package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/lab"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/poll"
)

var lagQuestions = []lab.Question{
	{ID: "lag.pool_tags", Text: "Reads and lists of a pool show a change of its tags", Expected: lab.Unknown},
	{ID: "lag.pool_count", Text: "Reads and lists of a pool show a change of its count", Expected: lab.Unknown},
	{ID: "lag.linode_tags", Text: "Reads and lists of a Linode show a change of its tags", Expected: lab.Unknown},
	{ID: "lag.kept", Text: "Tags of a pool and of a Linode a minute after they showed", Expected: "there"},
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
	if err := stick(ctx, l, p, a.Linodes()[0], fmt.Sprintf("lkp%s-lag%d", l.Run, rounds-1)); err != nil {
		return err
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

// stick looks whether a tag that reads have shown stays on the pool and on the Linode. Lists are late and do not count.
func stick(ctx context.Context, l *lab.Lab, p *lab.Pool, id int, tag string) error {
	if err := poll.Pause(ctx, time.Minute); err != nil {
		return err
	}
	kept := func(has func(context.Context) ([]string, error)) (bool, error) {
		return lab.Within(ctx, 3*lab.SettleTime, func(ctx context.Context) (bool, error) {
			tags, err := has(ctx)
			return slices.Contains(tags, tag), err
		})
	}
	onPool, err := kept(func(ctx context.Context) ([]string, error) {
		pool, _, err := p.Read(ctx)
		if pool == nil {
			return nil, err
		}
		return pool.Tags, err
	})
	if err != nil {
		return err
	}
	onLinode, err := kept(func(ctx context.Context) ([]string, error) {
		i, err := l.Client.GetInstance(ctx, id)
		if err != nil {
			return nil, err
		}
		return i.Tags, nil
	})
	if err != nil {
		return err
	}
	seen := "there"
	if !onPool || !onLinode {
		seen = fmt.Sprintf("on the pool: %v, on the Linode: %v", onPool, onLinode)
	}
	if (!onPool || !onLinode) && l.Unanswered() { // a change without an answer may have undone them
		return nil
	}
	l.Book.Answer("lag.kept", seen)
	l.Book.Weigh(report.LostTags, onPool && onLinode, "a minute after they showed, tags are %s", seen)
	return nil
}

// poolLag changes a pool and reads it both ways.
func poolLag(ctx context.Context, l *lab.Lab, p *lab.Pool, question string, change api.LKENodePoolUpdate,
	has func(*api.LKENodePool) bool) error {
	lost := report.LostTags
	if change.Count != nil {
		lost = report.LoweredCounts
	}
	return measured(ctx, l, question,
		func() error { _, err := l.Client.UpdatePool(ctx, l.ClusterID, p.ID, change); return err },
		read(report.PoolReadLag, lost, func(ctx context.Context) (bool, error) {
			pool, err := l.Client.GetPool(ctx, l.ClusterID, p.ID)
			return err == nil && has(pool), err
		}),
		list(report.PoolListLag, func(ctx context.Context) (bool, error) {
			pools, err := l.Pools(ctx)
			at := slices.IndexFunc(pools, func(q api.LKENodePool) bool { return q.ID == p.ID })
			if err == nil && at < 0 {
				err = lab.ErrMissing
			}
			return err == nil && has(&pools[at]), err
		}))
}

// read is a view by reads of one object, which show whether a change stays.
func read(delay string, lost report.Assumption, has func(context.Context) (bool, error)) lab.View {
	return lab.View{Delay: delay, Old: report.OldReads, Bound: lab.SettleTime, Lost: lost, Has: has}
}

// list is a view by lists.
func list(delay string, has func(context.Context) (bool, error)) lab.View {
	return lab.View{Delay: delay, Old: report.OldLists, Bound: lab.ListLag, Has: has}
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
		read(report.LinodeReadLag, report.LostTags, func(ctx context.Context) (bool, error) {
			i, err := l.Client.GetInstance(ctx, id)
			return err == nil && has(*i), err
		}),
		list(report.LinodeListLag, func(ctx context.Context) (bool, error) {
			list, err := l.Linodes(ctx)
			if err == nil && !slices.ContainsFunc(list, func(i api.Instance) bool { return i.ID == id }) {
				err = lab.ErrMissing
			}
			return slices.ContainsFunc(list, has), err
		}))
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
