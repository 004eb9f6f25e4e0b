// Package ratelimit counts requests as the API does: per caller and class, in
// windows of fixed length that begin with their first request.
//
// A request over the limit does not count. The caller passes the time. Safe for concurrent
// use.
//
// Package linodesim gives it the documented limits; a class without a limit is not
// counted. Example, a limit of 20 in 15 s: 20 requests at 10:00:00 pass, the next one is
// refused until 10:00:15. The state is lost with the process.
package ratelimit

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Limit allows so many requests per window.
type Limit struct {
	Requests int
	Window   time.Duration
}

// Decision is the result for one request, with the values of its answer's headers.
type Decision struct {
	Allowed          bool
	Limit, Remaining int
	Reset            time.Time // end of the window
	Limited          bool      // false: the class has no limit, and there are no headers
}

// Meter shows one window.
type Meter struct {
	Caller, Class string
	Limit         Limit
	Used          int
	Reset         time.Time
	Refused       int // since the start
}

// Limiter holds the windows.
type Limiter struct {
	limits  map[string]Limit
	mu      sync.Mutex
	windows map[key]*window
}

type key struct{ caller, class string }

type window struct {
	used, refused int
	end           time.Time
}

// New makes a limiter with limits by class.
func New(limits map[string]Limit) *Limiter {
	return &Limiter{limits: limits, windows: map[key]*window{}}
}

// Take counts a request, or refuses it.
func (l *Limiter) Take(caller, class string, now time.Time) Decision {
	limit, ok := l.limits[class]
	if !ok {
		return Decision{Allowed: true}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.windows[key{caller, class}]
	if w == nil {
		w = &window{}
		l.windows[key{caller, class}] = w
	}
	if !now.Before(w.end) {
		w.used, w.end = 0, now.Add(limit.Window)
	}
	allowed := w.used < limit.Requests
	if allowed {
		w.used++
	} else {
		w.refused++
	}
	return Decision{Allowed: allowed, Limit: limit.Requests, Remaining: limit.Requests - w.used, Reset: w.end, Limited: true}
}

// Meters shows all windows, by caller and class.
func (l *Limiter) Meters(now time.Time) []Meter {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]Meter, 0, len(l.windows))
	for k, w := range l.windows {
		m := Meter{Caller: k.caller, Class: k.class, Limit: l.limits[k.class], Used: w.used, Reset: w.end, Refused: w.refused}
		if !now.Before(w.end) {
			m.Used = 0
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b Meter) int {
		return cmp.Or(cmp.Compare(a.Caller, b.Caller), cmp.Compare(a.Class, b.Class))
	})
	return out
}
