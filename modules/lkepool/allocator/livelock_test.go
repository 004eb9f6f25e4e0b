package allocator_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/utils/clock"
)

// mostAtOnce bounds how often the clock may be read at one moment of virtual time.
// The engine reads it in every turn of every loop that it has.
const mostAtOnce = 200_000

// boundedClock is the clock of the bubble it is used in. In a bubble time stands
// still while any goroutine is busy, so an engine that turns in circles would hang the
// test for ever; this clock panics instead, which ends the test with the seed.
type boundedClock struct {
	clock.RealClock
	seed uint64
	most int
	// wrong is by how much the clock is off.
	wrong time.Duration

	mu    sync.Mutex
	at    time.Time
	asked int
}

func newBoundedClock(seed uint64) *boundedClock { return &boundedClock{seed: seed, most: mostAtOnce} }

// Now counts.
func (c *boundedClock) Now() time.Time {
	now := time.Now().Add(c.wrong)
	c.count(now)
	return now
}

// Since counts.
func (c *boundedClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

func (c *boundedClock) count(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !now.Equal(c.at) {
		c.at, c.asked = now, 0
	}
	if c.asked++; c.asked > c.most {
		panic(fmt.Sprintf("livelock: the engine looked at the clock %d times, and it is still %s; life-seed %d", c.asked, now, c.seed))
	}
}

func TestBoundedClockEndsALivelock(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := newBoundedClock(7)
		c.most = 100
		for range 10 {
			for range 100 {
				c.Now()
			}
			time.Sleep(time.Nanosecond)
		}
		defer func() {
			if text := fmt.Sprint(recover()); !strings.Contains(text, "livelock") || !strings.Contains(text, "life-seed 7") {
				t.Errorf("got %s", text)
			}
		}()
		for {
			c.Since(time.Time{})
		}
	})
}
