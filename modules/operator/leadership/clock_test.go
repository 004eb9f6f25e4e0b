package leadership

import (
	"testing"
	"time"
)

func TestTheLeaseEndsOnTheClockThatIsFirst(t *testing.T) {
	const lasts = 15 * time.Second
	renewed := moment{wall: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), mono: time.Hour}
	for name, test := range map[string]struct {
		wall, mono time.Duration
		valid      bool
	}{
		"both go on":                                 {14 * time.Second, 14 * time.Second, true},
		"both are over":                              {15 * time.Second, 15 * time.Second, false},
		"the wall clock is set back":                 {-time.Hour, 15 * time.Second, false},
		"the wall clock is set back, still valid":    {-time.Hour, 14 * time.Second, true},
		"the monotonic clock stopped in a paused VM": {time.Minute, time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			now := moment{wall: renewed.wall.Add(test.wall), mono: renewed.mono + test.mono}
			f := NewFence(2*time.Minute, nil)
			f.now = func() moment { return now }
			f.lease.Store(&lease{renewed, lasts})
			if f.leads() != test.valid {
				t.Errorf("leads: %t, want %t", !test.valid, test.valid)
			}
		})
	}
}
