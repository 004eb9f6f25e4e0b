package main

import (
	"context"
	"math"
	"runtime/debug"
	"testing"
	"testing/synctest"
)

func TestMemoryLimit(t *testing.T) {
	const mb = 1 << 20
	for name, test := range map[string]struct {
		most int64
		live uint64
		want int64
	}{
		"a small cluster":                       {900 * mb, 60 * mb, 420 * mb},
		"a heap that needs more":                {900 * mb, 500 * mb, 650 * mb},
		"never above core's":                    {900 * mb, 800 * mb, 900 * mb},
		"a container with little":               {230 * mb, 60 * mb, 230 * mb},
		"no limit in the container, small":      {math.MaxInt64, 60 * mb, 420 * mb},
		"no limit in the container, a lot used": {math.MaxInt64, 5000 * mb, 6500 * mb},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (softLimit{test.most}).limit(test.live); got != test.want {
				t.Errorf("got %d MB, want %d MB", got/mb, test.want/mb)
			}
		})
	}
}

func TestMemorySetsTheLimitOfTheProcess(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- softLimit{most: math.MaxInt64}.Start(ctx) }()
		synctest.Wait()
		if got := debug.SetMemoryLimit(-1); got < calmMemory || got == math.MaxInt64 {
			t.Errorf("the limit is %d", got)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
