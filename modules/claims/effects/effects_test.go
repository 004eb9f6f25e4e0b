package effects_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims/effects"
)

type system struct{}

func (system) Now() time.Time { return time.Now() }

// fill takes all slots of a Runner for a while.
func fill(r *effects.Runner, slots int, during time.Duration) {
	for range slots {
		go func() {
			_, _ = r.Do(context.Background(), effects.Request{Timeout: during}, func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			})
		}()
	}
	synctest.Wait()
}

func within(d time.Duration) effects.Request {
	return effects.Request{Lock: "instance 7", NotAfter: time.Now().Add(d), Timeout: time.Minute}
}

func TestAWriteThatWaitedTooLongIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := effects.NewRunner(2, system{})
		fill(r, 2, time.Minute)
		began := time.Now()
		o, err := r.Do(t.Context(), within(3*time.Second), func(context.Context) error {
			t.Error("it was sent")
			return nil
		})
		if !o.Unsent || !errors.Is(err, effects.ErrUnsent) || time.Since(began) != 3*time.Second {
			t.Errorf("%+v, %v after %s", o, err, time.Since(began))
		}
		time.Sleep(2 * time.Minute)
	})
}

// The time in which a request waits for its slot does not count as its own.
func TestATimeoutBeginsWhenARequestIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := effects.NewRunner(1, system{})
		fill(r, 1, 50*time.Second)
		queued := time.Now()
		o, err := r.Do(t.Context(), effects.Request{Timeout: 30 * time.Second}, func(ctx context.Context) error {
			deadline, _ := ctx.Deadline()
			if left := time.Until(deadline); left != 30*time.Second {
				t.Errorf("%s are left", left)
			}
			return nil
		})
		if err != nil || o.Began.Sub(queued) != 50*time.Second {
			t.Errorf("%+v, %v", o, err)
		}
	})
}

func TestWritesWithOneLockDoNotOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := effects.NewRunner(8, system{})
		var began []time.Duration
		start := time.Now()
		done := make(chan struct{}, 4)
		for range 3 {
			go func() {
				_, _ = r.Do(t.Context(), within(10*time.Second), func(context.Context) error {
					began = append(began, time.Since(start))
					time.Sleep(2 * time.Second)
					return nil
				})
				done <- struct{}{}
			}()
		}
		go func() {
			other := within(10 * time.Second)
			other.Lock = "instance 8"
			_, _ = r.Do(t.Context(), other, func(context.Context) error {
				if time.Since(start) != 0 {
					t.Error("a write to another object waits")
				}
				return nil
			})
			done <- struct{}{}
		}()
		for range 4 {
			<-done
		}
		if len(began) != 3 || began[0] != 0 || began[1] != 2*time.Second || began[2] != 4*time.Second {
			t.Errorf("sent at %v", began)
		}
	})
}

func TestWritesThatShareALockExcludeTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := effects.NewRunner(8, system{})
		start, done := time.Now(), make(chan time.Duration, 2)
		for range 2 {
			go func() {
				shared := within(time.Minute)
				shared.Shared = true
				_, _ = r.Do(t.Context(), shared, func(context.Context) error {
					done <- time.Since(start)
					time.Sleep(5 * time.Second)
					return nil
				})
			}()
		}
		if a, b := <-done, <-done; a != 0 || b != 0 {
			t.Errorf("two that share the lock are sent after %s and %s", a, b)
		}
		_, err := r.Do(t.Context(), within(time.Minute), func(context.Context) error { return nil })
		if err != nil || time.Since(start) != 5*time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
}

func TestAReadEndsWithItsCallersAndAWriteDoesNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := effects.NewRunner(8, system{})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		send := func(ctx context.Context) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(10 * time.Second):
				return nil
			}
		}
		if o, err := r.Do(ctx, effects.Request{Timeout: time.Minute}, send); !o.Cancelled || err == nil {
			t.Errorf("a read: %+v, %v", o, err)
		}
		if o, err := r.Do(ctx, within(time.Minute), send); o.Cancelled || o.Unsent || err != nil {
			t.Errorf("a write: %+v, %v", o, err)
		}
		if o, err := r.Do(t.Context(), effects.Request{Timeout: time.Second}, send); o.Cancelled || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a read without an answer: %+v, %v", o, err)
		}
	})
}

func TestABackendGetsTheTimeUntilWhichItMaySend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := effects.NewRunner(1, system{})
		request := within(3 * time.Second)
		_, _ = r.Do(t.Context(), request, func(ctx context.Context) error {
			if before, bounded := effects.SendBefore(ctx); !bounded || !before.Equal(request.NotAfter) {
				t.Errorf("%s, %t", before, bounded)
			}
			return nil
		})
		if _, bounded := effects.SendBefore(t.Context()); bounded {
			t.Error("a read is bounded")
		}
	})
}
