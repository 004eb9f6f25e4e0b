package lab

import (
	"context"
	"errors"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/poll"
)

const (
	calm     = 10 * time.Second // in which every reading agrees
	agreeing = 6                // readings at least
)

// View is one way to read what a write changed.
type View struct {
	Delay string            // the name under which its lag is noted
	Old   report.Assumption // that a longer lag breaks
	Bound time.Duration
	Lost  report.Assumption // that a change breaks which showed and went; "" = the view does not tell
	Has   func(ctx context.Context) (bool, error)
}

// ErrNoEffect is the error of a change that was answered with success and does
// not show.
var ErrNoEffect = errors.New("the change has no effect")

// ErrMissing is the error of a view whose list lacks the thing as a whole.
var ErrMissing = errors.New("the list lacks an entry")

// contradiction names an answer that cannot be true, because the thing exists.
func contradiction(err error) string {
	switch {
	case linode.KindOf(err) == linode.KindNotFound:
		return "a 404 for something that exists"
	case errors.Is(err, ErrMissing):
		return "an entry missing in a list"
	}
	return ""
}

// Lag measures how long after a write single views still lack it. A view that
// lags may show the change and lack it again, so each is read until it has had
// the change for some time without a break; the lag is then that of the last
// reading without it. It returns the names of views that never had it, and
// ErrNoEffect when the first view does not have it in good time.
func (l *Lab) Lag(ctx context.Context, write poll.Window, views ...View) ([]string, error) {
	type state struct {
		lacked poll.Window // the last reading without it
		next   poll.Window // the first reading with it after that
		since  time.Time
		had    time.Time // the last reading with it
		agreed int
		ever   bool
	}
	states := make([]state, len(views))
	err := poll.Until(ctx, func(ctx context.Context) (bool, error) {
		done, shown := true, true
		for i, v := range views {
			s := &states[i]
			has := false
			read, err := poll.Around(func() error {
				var err error
				has, err = v.Has(ctx)
				return err
			})
			if what := contradiction(err); what != "" { // no evidence of lag
				l.Book.Anomaly(what)
				done, shown = false, false
				continue
			}
			if err != nil {
				return false, err
			}
			s.ever = s.ever || has
			if has {
				s.had = read.To
			}
			switch {
			case !has && s.ever && v.Lost != "" && read.From.Sub(s.had) > 3*v.Bound:
				return false, l.lost(v)
			case !has:
				*s = state{lacked: read, ever: s.ever, had: s.had}
			case s.agreed == 0:
				s.next, s.since, s.agreed = read, time.Now(), 1
			default:
				s.agreed++
			}
			done = done && s.agreed >= agreeing && time.Since(s.since) >= calm
			shown = shown && s.agreed > 0
		}
		if !states[0].ever && time.Since(write.To) > lost {
			return false, ErrNoEffect
		}
		if shown && !done { // nothing is measured finely now
			return false, poll.Pause(ctx, calm/agreeing)
		}
		return done, nil
	})
	var never []string
	if err != nil && !errors.Is(err, ErrNoEffect) && ctx.Err() == nil {
		return nil, err
	}
	for i, v := range views {
		s := states[i]
		if s.agreed == 0 {
			never = append(never, v.Delay)
			// A change without effect proves nothing about reads: it is made again.
			if lag := s.lacked.From.Sub(write.To); lag > v.Bound && !errors.Is(err, ErrNoEffect) {
				l.Book.Weigh(v.Old, false, "%s: more than %v", v.Delay, lag.Round(time.Second))
			}
			continue
		}
		effect := poll.Window{From: s.lacked.From, To: s.next.To}
		if s.lacked.From.IsZero() {
			effect.From = write.From
		}
		lag := poll.Between(write, effect)
		l.Book.Delay(v.Delay, lag)
		l.Book.Within(v.Old, v.Bound, v.Delay, lag)
	}
	return never, err
}

// lost weighs a change that showed and went. A write without an answer may have undone it, and then the change is made again.
func (l *Lab) lost(v View) error {
	if l.Unanswered() {
		return ErrNoEffect
	}
	l.Book.Weigh(v.Lost, false, "a change showed and was gone more than %v later, by %s", 3*v.Bound, v.Delay)
	return errors.New("a change showed and was gone")
}

// Gone waits until a Linode is a 404 in some readings in a row, and notes how
// long after its deletion the first of them was.
func (l *Lab) Gone(ctx context.Context, delay string, linodeID int, deleted poll.Window) error {
	var mark poll.Mark
	row := 0
	err := poll.Until(ctx, func(ctx context.Context) (bool, error) {
		read, err := poll.Around(func() error {
			_, err := l.Client.GetInstance(ctx, linodeID)
			return err
		})
		gone := linode.KindOf(err) == linode.KindNotFound
		if err != nil && !gone {
			return false, err
		}
		if !gone && mark.Seen() { // it was a mistake
			mark, row = poll.Mark{}, 0
		}
		mark.Note(gone, read)
		if gone {
			row++
		}
		return row >= 3, nil
	})
	if mark.Seen() {
		l.Book.Delay(delay, mark.Since(deleted))
	}
	return err
}

// Linode reads a Linode that exists: a 404 may be a mistake for a while.
func (l *Lab) Linode(ctx context.Context, id int) (*api.Instance, error) {
	var found *api.Instance
	there, err := Within(ctx, lost, func(ctx context.Context) (bool, error) {
		i, err := l.Client.GetInstance(ctx, id)
		found = i
		return err == nil, err
	})
	if err == nil && !there {
		err = errors.New("a Linode of the run is a 404")
	}
	return found, err
}

// Lost is how long a change without effect is waited for.
const Lost = lost

// Within waits a limited time for something to show. A 404 is only a no.
func Within(ctx context.Context, limit time.Duration, has func(context.Context) (bool, error)) (bool, error) {
	start, there := time.Now(), false
	err := poll.Until(ctx, func(ctx context.Context) (bool, error) {
		var err error
		there, err = has(ctx)
		if linode.KindOf(err) == linode.KindNotFound {
			err = nil
		}
		return there || time.Since(start) > limit, err
	})
	return there, err
}
