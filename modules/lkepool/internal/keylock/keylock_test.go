package keylock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/keylock"
)

func TestOneHolderPerKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			locks   keylock.Set[string]
			group   sync.WaitGroup
			holders int
			most    int
			mu      sync.Mutex
		)
		for range 20 {
			group.Go(func() {
				unlock, err := locks.Lock(t.Context(), "a")
				if err != nil {
					t.Error(err)
					return
				}
				defer unlock()
				mu.Lock()
				holders++
				most = max(most, holders)
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				holders--
				mu.Unlock()
			})
		}
		group.Wait()
		if most != 1 {
			t.Errorf("%d holders at once", most)
		}
		if locks.Len() != 0 {
			t.Errorf("%d keys kept after the last unlock", locks.Len())
		}
	})
}

func TestKeysDoNotWaitForEachOther(t *testing.T) {
	var locks keylock.Set[int]
	unlockOne, err := locks.Lock(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer unlockOne()
	unlockTwo, err := locks.Lock(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	unlockTwo()
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var locks keylock.Set[string]
		unlock, err := locks.Lock(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := locks.Lock(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		unlock()
		if unlock, err = locks.Lock(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		unlock()
		if locks.Len() != 0 {
			t.Errorf("%d keys kept", locks.Len())
		}
	})
}
