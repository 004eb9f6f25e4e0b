package poll_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/poll"
)

// The bounds contain the true delay, for every duration of the readings and every moment at which it
// happens, and they are narrow.
func TestBoundsContainTheTrueDelay(t *testing.T) {
	for _, truth := range []time.Duration{0, 70 * time.Millisecond, time.Second, 31 * time.Second, 299 * time.Second} {
		for _, cost := range []time.Duration{0, 5 * time.Millisecond, 400 * time.Millisecond} {
			synctest.Test(t, func(t *testing.T) {
				var happened time.Time
				cause, err := poll.Around(func() error {
					time.Sleep(cost / 2)
					happened = time.Now()
					time.Sleep(cost / 2)
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				var mark poll.Mark
				reads := 0
				err = poll.Until(t.Context(), func(context.Context) (bool, error) {
					reads++
					present := false
					read, err := poll.Around(func() error {
						time.Sleep(cost / 2)
						present = time.Since(happened) >= truth
						time.Sleep(cost / 2)
						return nil
					})
					mark.Note(present, read)
					return mark.Seen(), err
				})
				if err != nil {
					t.Fatal(err)
				}
				s := mark.Since(cause)
				if s.AtLeast > truth || s.AtMost < truth {
					t.Errorf("truth %v, cost %v: bounds %v", truth, cost, s)
				}
				if width := s.AtMost - s.AtLeast; width > 100*time.Millisecond+truth/10+3*cost {
					t.Errorf("truth %v, cost %v: bounds %v are %v wide", truth, cost, s, width)
				}
				if reads > 300 {
					t.Errorf("truth %v: %d readings", truth, reads)
				}
			})
		}
	}
}

func TestMarkCountsWhatDisappears(t *testing.T) {
	var m poll.Mark
	for _, present := range []bool{false, true, false, true, false} {
		m.Note(present, poll.Window{From: time.Now(), To: time.Now()})
	}
	if !m.Seen() || m.Lost() != 2 {
		t.Errorf("seen %v, lost %d", m.Seen(), m.Lost())
	}
}

func TestUntilEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := poll.Until(ctx, func(context.Context) (bool, error) { return false, nil })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}
