package main

import (
	"context"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Go lets garbage grow to the size of what is in use, and what core leaves behind while it plans for hundreds of
// nodes is several times that in a minute. The limit that core sets, 0.9 of the container's, is only meant to
// prevent the end of the process.
const (
	// calmMemory is what the process may use without its garbage collector working harder for it: a cluster of
	// 500 nodes with 5,000 pods needs less.
	calmMemory = 420 << 20
	// roomPerLive is how much a larger heap may have for each byte in use: less makes collection frequent.
	roomPerLive = 1.3
	// memoryInterval is short against a scale-up, and costs nothing.
	memoryInterval = 2 * time.Second
)

// softLimit keeps the limit that Go's garbage collector aims at near what is in use. It is a Runnable of
// controller-runtime's manager, for replicas that wait as well.
type softLimit struct{ most int64 } // never above: what core has set

// NeedLeaderElection says that it runs in every replica.
func (softLimit) NeedLeaderElection() bool { return false }

// Start adjusts the limit until ctx ends.
func (l softLimit) Start(ctx context.Context) error {
	ticker := time.NewTicker(memoryInterval)
	defer ticker.Stop()
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for {
		metrics.Read(sample)
		debug.SetMemoryLimit(l.limit(sample[0].Value.Uint64()))
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// limit for so many bytes in use after the last collection.
func (l softLimit) limit(live uint64) int64 {
	wanted := max(calmMemory, roomPerLive*float64(live))
	return int64(math.Min(wanted, float64(l.most)))
}
