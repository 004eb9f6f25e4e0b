package linode_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
)

func TestLimiterLearnsFromHeaders(t *testing.T) {
	// Each row: the headers of the first answer, and when the second request goes out if n requests follow at once.
	rows := []struct {
		name    string
		headers func(now time.Time) []string
		calls   int
		least   time.Duration
		most    time.Duration
	}{
		{"none", func(time.Time) []string { return nil }, 100, 0, 0},
		{"nothing left until the reset", func(now time.Time) []string {
			return []string{"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", unix(now.Add(20 * time.Second))}
		}, 1, 20 * time.Second, 20 * time.Second},
		{"enough left", func(now time.Time) []string {
			return []string{"X-RateLimit-Remaining", "50", "X-RateLimit-Reset", unix(now.Add(20 * time.Second))}
		}, 50, 0, 0},
		{"too few left", func(now time.Time) []string {
			return []string{"X-RateLimit-Remaining", "50", "X-RateLimit-Reset", unix(now.Add(20 * time.Second))}
		}, 51, 20 * time.Second, 20 * time.Second},
		{"a smaller limit", func(time.Time) []string { return []string{"X-RateLimit-Limit", "40"} }, 40, time.Minute, time.Minute},
		{"a larger limit is not believed", func(time.Time) []string { return []string{"X-RateLimit-Limit", "1840"} }, 200, time.Minute,
			time.Minute},
		{"our clock is an hour off", func(now time.Time) []string {
			return []string{
				"Date", now.Add(time.Hour).UTC().Format(http.TimeFormat),
				"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", unix(now.Add(time.Hour + 20*time.Second)),
			}
		}, 1, 20 * time.Second, 20 * time.Second},
		{"nonsense", func(time.Time) []string {
			return []string{"X-RateLimit-Limit", "many", "X-RateLimit-Remaining", "-3", "X-RateLimit-Reset", "9999999999999"}
		}, 100, 0, 0},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := &server{answer: func(n int, _ *http.Request) (*http.Response, error) {
					if n == 1 {
						return reply(200, emptyPage, row.headers(time.Now())...)
					}
					return reply(200, emptyPage)
				}}
				client := newClient(t, api)
				if err := listOne(t.Context(), client); err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				flood(t, row.calls, func() error { return listOne(t.Context(), client) })
				if took := time.Since(start); took < row.least || took > row.most {
					t.Errorf("%d requests took %v, want %v to %v", row.calls, took, row.least, row.most)
				}
			})
		})
	}
}

func TestNoRoomBeforeTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &server{answer: always(200, emptyPage)}
		client := newClient(t, api)
		flood(t, 200, func() error { return listOne(t.Context(), client) })
		start := time.Now()
		flood(t, 3, func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			err := listOne(ctx, client)
			var e *linode.Error
			if !errors.As(err, &e) || e.Kind != linode.KindRateLimited || e.Status != 0 || e.RetryAfter != time.Minute ||
				!strings.HasSuffix(err.Error(), "rate limited: the next request may be sent in 1m0s, after the context's deadline") {
				t.Errorf("got %v", err)
			}
			return nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), 61*time.Second)
		defer cancel()
		if time.Since(start) != 0 || api.count() != 200 {
			t.Errorf("the calls took %v and sent %d requests", time.Since(start), api.count()-200)
		}
		if err := listOne(ctx, client); err != nil || time.Since(start) != time.Minute {
			t.Errorf("with time enough: %v after %v", err, time.Since(start))
		}
	})
}

// TestOtherCallsAfterALongRetryAfter: the hour is the matter of the call that was refused.
func TestOtherCallsAfterALongRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &server{answer: sequence(always(429, refusal("x"), "Retry-After", "3600"), always(200, poolBody))}
		client := newClient(t, api)
		if err := methods[http.MethodPost](t.Context(), client); linode.KindOf(err) != linode.KindRateLimited {
			t.Error(err)
		}
		start := time.Now()
		if err := methods[http.MethodGet](t.Context(), client); err != nil || time.Since(start) > 72*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// TestRequestsOnTheirWayCountAgainstTheBudget: the server's Remaining does not include a request that has not reached the server.
func TestRequestsOnTheirWayCountAgainstTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &server{answer: func(n int, _ *http.Request) (*http.Response, error) {
			if n == 1 {
				time.Sleep(time.Second)
				return reply(200, emptyPage, "X-RateLimit-Remaining", "50", "X-RateLimit-Reset", unix(time.Now().Add(30*time.Second)))
			}
			time.Sleep(5 * time.Second)
			return reply(200, emptyPage)
		}}
		client := newClient(t, api)
		var group sync.WaitGroup
		more := func(n int) { group.Go(func() { flood(t, n, func() error { return listOne(t.Context(), client) }) }) }
		more(31)
		time.Sleep(2 * time.Second) // one is answered, 30 are on their way
		more(25)
		time.Sleep(time.Second)
		if api.count() != 31+20 {
			t.Errorf("%d requests were sent, want 51", api.count())
		}
		group.Wait()
	})
}

// TestUnequalDelaysWasteNoRequestOfAWindow: answers arrive in another order than the server counted their requests, and
// most requests on their way have been counted.
func TestUnequalDelaysWasteNoRequestOfAWindow(t *testing.T) {
	const limit, window = 200, time.Minute
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var end time.Time
		count := 0
		api := &server{answer: func(n int, _ *http.Request) (*http.Response, error) {
			mu.Lock()
			if now := time.Now(); !now.Before(end) {
				end, count = now.Add(window), 0
			}
			count++
			remaining, reset := limit-count, end
			mu.Unlock()
			time.Sleep(time.Duration(100+n*37%300) * time.Millisecond)
			if remaining < 0 {
				return reply(429, refusal("x"))
			}
			return reply(200, emptyPage, "X-RateLimit-Remaining", strconv.Itoa(remaining), "X-RateLimit-Reset", unix(reset))
		}}
		client := newClient(t, api)
		start := time.Now()
		flood(t, 4*limit, func() error { return listOne(t.Context(), client) })
		if took := time.Since(start); took > 3*window+5*time.Second || api.count() != 4*limit {
			t.Errorf("took %v and %d requests for four windows' worth", took, api.count())
		}
	})
}

// TestSharedToken runs two clients, as two processes would, against one limit that the server enforces.
func TestSharedToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			mu       sync.Mutex
			arrivals []time.Time
			refused  int
		)
		api := &server{answer: func(int, *http.Request) (*http.Response, error) {
			time.Sleep(200 * time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			now := time.Now()
			for len(arrivals) > 0 && now.Sub(arrivals[0]) >= time.Minute {
				arrivals = arrivals[1:]
			}
			if len(arrivals) >= 200 {
				refused++
				return reply(429, refusal("Too many requests"), "Retry-After",
					strconv.Itoa(int(time.Minute.Seconds()-now.Sub(arrivals[0]).Seconds())+1))
			}
			arrivals = append(arrivals, now)
			return reply(200, emptyPage)
		}}
		first, second := newClient(t, api), newClient(t, api)
		start := time.Now()
		var group sync.WaitGroup
		for _, client := range []*linode.Client{first, second} {
			group.Go(func() { flood(t, 300, func() error { return listOne(t.Context(), client) }) })
		}
		group.Wait()
		// Both send their 200 at once, so 200 are refused; after that hardly any may be.
		if refused > 260 {
			t.Errorf("%d requests were refused", refused)
		}
		if took := time.Since(start); took > 8*time.Minute {
			t.Errorf("took %v", took)
		}
		t.Logf("refused %d, took %v", refused, time.Since(start))
	})
}
