package linode_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

func unix(t time.Time) string { return strconv.FormatInt((t.UnixNano()+999_999_999)/1_000_000_000, 10) }

// flood makes n calls at once and waits for them.
func flood(t *testing.T, n int, call func() error) {
	var group sync.WaitGroup
	for range n {
		group.Go(func() {
			if err := call(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func listOne(ctx context.Context, c *linode.Client) error {
	_, err := linode.Collect(c.ListInstances(ctx, linode.Filter{}))
	return err
}

// busiest returns the most arrivals in any window.
func busiest(arrivals []time.Time, window time.Duration) int {
	slices.SortFunc(arrivals, time.Time.Compare)
	most, first := 0, 0
	for i, at := range arrivals {
		for at.Sub(arrivals[first]) >= window {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// TestNoWindowHoldsMore lets bursts loose on an API that takes up to 2 s to receive a request and 2 s to answer it.
func TestNoWindowHoldsMore(t *testing.T) {
	rows := []struct {
		name   string
		calls  int
		limit  int
		window time.Duration
		call   func(context.Context, *linode.Client) error
	}{
		{"collections", 900, 200, time.Minute, listOne},
		{"general", 5000, 1600, time.Minute, methods[http.MethodGet]},
		{"images", 100, 20, time.Minute, func(ctx context.Context, c *linode.Client) error {
			_, err := linode.Collect(c.ListImages(ctx, linode.Filter{}))
			return err
		}},
		{"create-instance", 100, 20, 15 * time.Second, func(ctx context.Context, c *linode.Client) error {
			_, err := c.CreateInstance(ctx, api.InstanceCreate{Type: "g6-standard-2", Region: "us-ord"})
			return err
		}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var (
					mu       sync.Mutex
					arrivals []time.Time
				)
				service := &server{answer: func(_ int, r *http.Request) (*http.Response, error) {
					time.Sleep(rand.N(2 * time.Second))
					mu.Lock()
					arrivals = append(arrivals, time.Now())
					mu.Unlock()
					time.Sleep(rand.N(2 * time.Second))
					if row.name == "collections" || row.name == "images" {
						return reply(200, emptyPage)
					}
					return reply(200, `{"id":7}`)
				}}
				client := newClient(t, service)
				start := time.Now()
				flood(t, row.calls/3, func() error { return row.call(t.Context(), client) })
				time.Sleep(rand.N(time.Minute))
				flood(t, row.calls-row.calls/3, func() error { return row.call(t.Context(), client) })
				if most := busiest(arrivals, row.window); most > row.limit {
					t.Errorf("%d requests in %v, the limit is %d", most, row.window, row.limit)
				}
				// The promise must not cost much: windows that are full plus the time on the way.
				floor := time.Duration((row.calls-1)/row.limit) * row.window
				if took := time.Since(start); took > floor+2*time.Minute {
					t.Errorf("took %v, about %v would do", took, floor)
				}
			})
		})
	}
}

func TestClassesDoNotHoldEachOtherUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &server{answer: func(_ int, r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodGet {
				return reply(200, emptyPage)
			}
			return reply(200, `{}`)
		}}
		client := newClient(t, api)
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		for range 1000 {
			group.Go(func() { _ = listOne(ctx, client) })
		}
		synctest.Wait() // 200 lists are through, 800 wait
		start := time.Now()
		if err := client.DeletePool(t.Context(), 1, 7); err != nil || time.Since(start) != 0 {
			t.Errorf("a delete waited %v for lists: %v", time.Since(start), err)
		}
		cancel()
		group.Wait()
		if time.Since(start) != 0 || api.count() != 201 {
			t.Errorf("waiting lists ended %v after the context, %d requests", time.Since(start), api.count())
		}
	})
}

func TestRequestsPassInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &server{answer: always(200, emptyPage)}
		client := newClient(t, api)
		for range 200 { // one after another, so that room comes back one by one
			time.Sleep(time.Millisecond)
			if err := listOne(t.Context(), client); err != nil {
				t.Fatal(err)
			}
		}
		var group sync.WaitGroup
		for i := range 50 {
			time.Sleep(time.Millisecond)
			group.Go(func() {
				for _, err := range client.ListInstances(t.Context(), linode.Where("id").EqualInt(i)) {
					t.Error(err)
				}
			})
		}
		group.Wait()
		for i, r := range api.requests[200:] {
			if want := linode.Where("id").EqualInt(i).String(); r.filter != want {
				t.Fatalf("request %d is %s, want %s", i, r.filter, want)
			}
		}
	})
}
