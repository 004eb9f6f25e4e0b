package flight_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/flight"
)

func TestManyCallersCostTwoReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int32
		shared := flight.New(func(context.Context) (int32, error) {
			n := reads.Add(1)
			time.Sleep(time.Second)
			return n, nil
		})
		var group sync.WaitGroup
		for range 100 {
			group.Go(func() {
				if _, err := shared.Do(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if reads.Load() > 2 {
			t.Errorf("%d reads", reads.Load())
		}
	})
}

func TestAnswerIsNeverOlderThanTheQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := flight.New(func(context.Context) (time.Time, error) {
			began := time.Now()
			time.Sleep(time.Second)
			return began, nil
		})
		var group sync.WaitGroup
		for n := range 50 {
			group.Go(func() {
				time.Sleep(time.Duration(n) * 130 * time.Millisecond)
				asked := time.Now()
				began, err := shared.Do(t.Context())
				if err != nil || began.Before(asked) {
					t.Errorf("asked at %s, read began at %s, error %v", asked, began, err)
				}
			})
		}
		group.Wait()
	})
}

func TestRunningReadIsJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int32
		shared := flight.New(func(context.Context) (int32, error) {
			n := reads.Add(1)
			time.Sleep(time.Second)
			return n, nil
		})
		var group sync.WaitGroup
		for i := range 10 {
			group.Go(func() {
				time.Sleep(time.Duration(i) * 50 * time.Millisecond)
				if _, err := shared.Running(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if reads.Load() != 1 {
			t.Errorf("%d reads", reads.Load())
		}
	})
}

func TestReadEndsWithItsLastCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		shared := flight.New(func(ctx context.Context) (int, error) {
			<-ctx.Done()
			ended <- ctx.Err()
			return 0, ctx.Err()
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := shared.Do(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("caller got %v", err)
		}
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("read got %v", err)
		}
	})
}

func TestOneCallersEndLeavesTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := flight.New(func(ctx context.Context) (int, error) {
			select {
			case <-ctx.Done():
				return 0, ctx.Err()
			case <-time.After(10 * time.Second):
				return 7, nil
			}
		})
		var group sync.WaitGroup
		group.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := shared.Do(ctx); err == nil {
				t.Error("a caller outlived its context")
			}
		})
		for range 3 {
			group.Go(func() {
				if value, err := shared.Do(t.Context()); value != 7 || err != nil {
					t.Errorf("got %d, %v", value, err)
				}
			})
		}
		group.Wait()
	})
}
