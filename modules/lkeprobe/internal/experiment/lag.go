package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/poll"
)

var lagQuestions = []Question{
	{"lag.pool_tags", "Reads and lists of a pool show a change of its tags", Unknown},
	{"lag.pool_count", "Reads and lists of a pool show a change of its count", Unknown},
	{"lag.linode_tags", "Reads and lists of a Linode show a change of its tags", Unknown},
	{"lag.kept", "Tags of a pool and of a Linode a minute after they showed", "there"},
	{"lag.omitted", "PUT without a field leaves it as it is", "yes"},
}

// lagRounds is how often each kind of change is measured.
const lagRounds = 2

// lags measures how far reads of one object, and lists, lag behind writes.
func lags(ctx context.Context, t *trial) {
	p, a := t.settled(ctx, nil, 1)
	id, tag := a.own()[0], ""
	for round := range lagRounds {
		tag = fmt.Sprintf("lkp%s-lag%d", t.Run, round)
		p.lag(ctx, "lag.pool_tags", report.LostTags, api.LKENodePoolUpdate{Tags: tagsOf(p.tags, tag)},
			func(pool *api.LKENodePool) bool { return slices.Contains(pool.Tags, tag) })
		t.linodeLag(ctx, id, tag)
	}
	p.stick(ctx, id, tag)
	two, kept := 2, false
	p.lag(ctx, "lag.pool_count", report.LoweredCounts, api.LKENodePoolUpdate{Count: &two}, func(pool *api.LKENodePool) bool {
		kept = len(pool.Tags) > len(p.tags)
		return pool.Count == two
	})
	t.Book.Answer("lag.omitted", "%s", either(kept, "yes", "no"))
}

// stick checks that a tag that reads have shown stays on the pool and on the Linode. Lists lag and do not count.
func (p *pool) stick(ctx context.Context, id int, tag string) {
	must(poll.Pause(ctx, time.Minute))
	onPool := within(ctx, agreed, func() (bool, error) {
		read, _ := p.read(ctx)
		return read != nil && slices.Contains(read.Tags, tag), nil
	})
	onLinode := within(ctx, agreed, func() (bool, error) {
		i, err := p.Client.GetInstance(ctx, id)
		return err == nil && slices.Contains(i.Tags, tag), err
	})
	kept, seen := onPool && onLinode, "there"
	if !kept {
		seen = fmt.Sprintf("on the pool: %v, on the Linode: %v", onPool, onLinode)
	}
	if !kept && p.Unanswered() { // a change without an answer may have undone them
		return
	}
	p.Book.Answer("lag.kept", "%s", seen)
	p.Book.Weigh(report.LostTags, kept, "a minute after they showed, tags are %s", seen)
}

// lag changes the pool, and measures the lag of reads of the pool and of the list of pools.
func (p *pool) lag(ctx context.Context, question string, lost report.Assumption, change api.LKENodePoolUpdate,
	has func(*api.LKENodePool) bool) {
	p.measure(ctx, question,
		func() error { _, err := p.Client.UpdatePool(ctx, p.ClusterID, p.id, change); return err },
		view{report.PoolReadLag, report.OldReads, settleTime, lost, func() (bool, error) {
			pool, err := p.Client.GetPool(ctx, p.ClusterID, p.id)
			return err == nil && has(pool), err
		}},
		view{report.PoolListLag, report.OldLists, listLag, "", func() (bool, error) {
			pools, err := p.Pools(ctx)
			return listed(pools, err, func(q api.LKENodePool) bool { return q.ID == p.id }, func(q *api.LKENodePool) bool { return has(q) })
		}})
}

// linodeLag changes a Linode's tags, and measures the lag of reads of the Linode and of the list of Linodes.
func (l *Lab) linodeLag(ctx context.Context, id int, tag string) {
	change := api.InstanceUpdate{Tags: tagsOf(l.linode(ctx, id).Tags, tag)}
	has := func(i *api.Instance) bool { return slices.Contains(i.Tags, tag) }
	l.measure(ctx, "lag.linode_tags",
		func() error { _, err := l.Client.UpdateInstance(ctx, id, change); return err },
		view{report.LinodeReadLag, report.OldReads, settleTime, report.LostTags, func() (bool, error) {
			i, err := l.Client.GetInstance(ctx, id)
			return err == nil && has(i), err
		}},
		view{report.LinodeListLag, report.OldLists, listLag, "", func() (bool, error) {
			list, err := l.Linodes(ctx)
			return listed(list, err, func(i api.Instance) bool { return i.ID == id }, has)
		}})
}

// errMissing is the error of a list that lacks the whole object.
var errMissing = errors.New("the list lacks an entry")

// listed finds an object in a list and reports whether the object has the change.
func listed[T any](list []T, err error, is func(T) bool, has func(*T) bool) (bool, error) {
	at := slices.IndexFunc(list, is)
	if err == nil && at < 0 {
		err = errMissing
	}
	return err == nil && has(&list[at]), err
}

const (
	calm     = 10 * time.Second // how long all readings must show the change
	agreeing = 6                // how many readings must show it, at least
)

// view is one way to read a change.
type view struct {
	delay string            // the name under which its lag is noted
	old   report.Assumption // the assumption that a longer lag breaks
	bound time.Duration
	lost  report.Assumption // the assumption that is broken if a change shows and disappears; "" = the view does not tell
	has   func() (bool, error)
}

// sight holds the readings of a view after a change.
type sight struct {
	view
	lacked poll.Window // the last reading without it
	next   poll.Window // the first reading with it after that
	had    time.Time   // the last reading with it
	row    int         // readings with it in a row
	ever   bool
}

var (
	errNoEffect  = errors.New("the change has no effect")
	errWentAgain = errors.New("a reading showed a change, and a later reading lacked it")
)

// measure makes a change, and measures how long each view still lacks it. The first view shows whether the change had
// an effect. A change without effect is made again, although its answer was success.
//
// A view that lags may show the change and then lack it again. Each view is therefore read until it has shown the
// change for some time without a break; the lag ends after the last reading without the change. Example: after a change
// at 10:00:00, readings at :01 and :03 lack it, a reading at :02 shows it, and all readings from :04 on show it. The
// lag is 3 to 4 s.
func (l *Lab) measure(ctx context.Context, question string, write func() error, views ...view) {
	for {
		w, err := poll.Around(write)
		must(err)
		sights := make([]*sight, len(views))
		for i, v := range views {
			sights[i] = &sight{view: v}
		}
		err = poll.Until(ctx, func(ctx context.Context) (bool, error) { return l.look(ctx, w, sights) })
		if err != nil && !errors.Is(err, errNoEffect) && ctx.Err() == nil {
			must(err)
		}
		var never []string
		for _, s := range sights {
			if !l.noteLag(w, s, err) {
				never = append(never, s.delay)
			}
		}
		if errors.Is(err, errNoEffect) {
			l.Book.Anomaly("a PUT without effect")
			continue
		}
		if len(never) > 0 {
			l.Book.Answer(question, "%s never showed the change", strings.Join(never, ", "))
		}
		must(err)
		l.Book.Answer(question, "yes; see the delays for how late")
		return
	}
}

// look reads each view once. It reports whether all views have shown the change for long enough.
func (l *Lab) look(ctx context.Context, write poll.Window, sights []*sight) (bool, error) {
	done, shown := true, true
	for _, s := range sights {
		has, read, err := poll.Read(s.has)
		if linode.KindOf(err) == linode.KindNotFound || errors.Is(err, errMissing) { // a contradiction is no evidence of lag
			l.Book.Anomaly(either(errors.Is(err, errMissing), "an entry missing in a list", "a 404 for something that exists"))
			done, shown = false, false
			continue
		}
		if err != nil {
			return false, err
		}
		switch {
		case !has && s.ever && s.lost != "" && read.From.Sub(s.had) > 3*s.bound:
			if l.Unanswered() { // a write without an answer may have undone it: the change is made again
				return false, errNoEffect
			}
			l.Book.Weigh(s.lost, false, "%s showed a change and lacked it more than %v later", s.delay, 3*s.bound)
			return false, errWentAgain
		case !has:
			s.lacked, s.row = read, 0
		default:
			if s.row++; s.row == 1 {
				s.next = read
			}
			s.had, s.ever = read.To, true
		}
		done = done && s.row >= agreeing && time.Since(s.next.To) >= calm
		shown = shown && s.row > 0
	}
	if !sights[0].ever && time.Since(write.To) > lost {
		return false, errNoEffect
	}
	if shown && !done { // all bounds are known; further reads only confirm them
		return false, poll.Pause(ctx, calm/agreeing)
	}
	return done, nil
}

// noteLag notes the lag of a view, and reports whether it has the change.
func (l *Lab) noteLag(write poll.Window, s *sight, err error) bool {
	if s.row == 0 {
		// A change without effect proves nothing about reads: it is made again.
		if lag := s.lacked.From.Sub(write.To); lag > s.bound && !errors.Is(err, errNoEffect) {
			l.Book.Weigh(s.old, false, "%s: more than %v", s.delay, lag.Round(time.Second))
		}
		return false
	}
	effect := poll.Window{From: s.lacked.From, To: s.next.To}
	if s.lacked.From.IsZero() {
		effect.From = write.From
	}
	lag := poll.Between(write, effect)
	l.Book.Delay(s.delay, lag)
	l.Book.Within(s.old, s.bound, s.delay, lag)
	return true
}
