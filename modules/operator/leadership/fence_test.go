package leadership_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/leadership"
)

const lasts = 15 * time.Second

// lease answers for the Kubernetes API server, in memory: it keeps one Lease, or refuses every write.
type lease struct {
	record  *resourcelock.LeaderElectionRecord
	refuses bool
	takes   time.Duration // to answer
}

func (l *lease) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	if l.record == nil {
		return nil, nil, errors.New("no Lease")
	}
	return l.record, nil, nil
}

func (l *lease) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.Update(ctx, record)
}

func (l *lease) Update(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	time.Sleep(l.takes) // virtual
	if l.refuses {
		return errors.New("conflict")
	}
	l.record = &record
	return nil
}

func (l *lease) RecordEvent(string) {}
func (l *lease) Identity() string   { return "replica-1" }
func (l *lease) Describe() string   { return "kube-system/karpenter-leader-election" }

// replica is an elector's lock behind a Fence, and a client of the Linode API behind it.
type replica struct {
	*testing.T
	cluster *lease
	lock    resourcelock.Interface
	fence   *leadership.Fence
	linode  http.RoundTripper
	sent    int
}

func newReplica(t *testing.T) *replica {
	t.Helper()
	r := &replica{T: t, cluster: &lease{}, fence: leadership.NewFence(lateEffect, nil)}
	r.lock = r.fence.Lock(r.cluster)
	r.linode = r.fence.Guard(answers(func() { r.sent++ }))
	return r
}

type answers func()

func (a answers) RoundTrip(request *http.Request) (*http.Response, error) {
	a()
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: request}, nil
}

func record(holder string) resourcelock.LeaderElectionRecord {
	record := resourcelock.LeaderElectionRecord{HolderIdentity: holder, LeaseDurationSeconds: int(lasts / time.Second)}
	if holder == "" {
		record.LeaseDurationSeconds = 1 // as client-go gives a Lease back
	}
	return record
}

func (r *replica) acquire() {
	r.Helper()
	if err := r.lock.Create(r.Context(), record("replica-1")); err != nil {
		r.Fatal(err)
	}
}

func (r *replica) update(holder string) error {
	if _, _, err := r.lock.Get(r.Context()); err != nil {
		r.Fatal(err)
	}
	return r.lock.Update(r.Context(), record(holder))
}

// may checks whether a request of each method passes to the Linode API.
func (r *replica) may(write bool) {
	r.Helper()
	for method, want := range map[string]bool{"GET": true, "HEAD": true, "POST": write, "PUT": write, "DELETE": write} {
		before := r.sent
		request, err := http.NewRequestWithContext(r.Context(), method, "https://api.linode.com/v4/linode/instances/1", nil)
		if err != nil {
			r.Fatal(err)
		}
		answer, err := r.linode.RoundTrip(request)
		if passed := err == nil && r.sent == before+1; passed != want {
			r.Errorf("%s passes: %t (%v), want %t", method, passed, err, want)
		}
		if err == nil {
			_ = answer.Body.Close()
		} else if r.sent != before || !errors.Is(err, leadership.ErrNotLeading) {
			r.Errorf("%s: sent %d times with error %v", method, r.sent-before, err)
		}
	}
}

func TestWritesPassOnlyWhileTheLeaseLasts(t *testing.T) {
	tests := map[string]struct {
		happens func(*replica)
		write   bool
	}{
		"before the first election": {func(*replica) {}, false},
		"elected":                   {func(r *replica) { r.acquire() }, true},
		"shortly before the Lease runs out": {func(r *replica) {
			r.acquire()
			time.Sleep(lasts - time.Millisecond)
		}, true},
		"frozen until the Lease has run out": {func(r *replica) {
			r.acquire()
			time.Sleep(lasts)
		}, false},
		"renewed": {func(r *replica) {
			r.acquire()
			time.Sleep(10 * time.Second)
			r.must(r.update("replica-1"))
			time.Sleep(10 * time.Second)
		}, true},
		"a renewal that is refused": {func(r *replica) {
			r.acquire()
			time.Sleep(10 * time.Second)
			r.cluster.refuses = true
			if r.update("replica-1") == nil {
				r.Error("the renewal worked")
			}
			time.Sleep(10 * time.Second)
		}, false},
		"a renewal whose answer took longer than the Lease lasts": {func(r *replica) {
			r.acquire()
			r.cluster.takes = lasts
			r.must(r.lock.Update(r.Context(), record("replica-1")))
		}, false},
		"given back": {func(r *replica) {
			r.acquire()
			r.must(r.update(""))
		}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newReplica(t)
				test.happens(r)
				r.may(test.write)
			})
		})
	}
}

func (r *replica) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// frozenAt is a body at a part of which, counted in reads, the process stands still.
type frozenAt struct {
	io.Reader
	read int
}

func (f *frozenAt) Read(p []byte) (int, error) {
	if f.read == 0 {
		time.Sleep(lasts)
	}
	f.read--
	return f.Reader.Read(p)
}

// A process may stand still after its write was begun, too: while it dials, and while it writes.
func TestAWriteIsHeldBackOnItsWay(t *testing.T) {
	tests := map[string]struct {
		method  string
		dialing time.Duration
		body    io.Reader
		answers time.Duration // after it has the request
		sent    bool
	}{
		"a write":                          {method: "PUT", body: strings.NewReader("{}"), sent: true},
		"a write without a body":           {method: "DELETE", sent: true},
		"frozen dialling":                  {method: "PUT", body: strings.NewReader("{}"), dialing: lasts},
		"frozen dialling, without a body":  {method: "DELETE", dialing: lasts},
		"frozen before the body":           {method: "POST", body: &frozenAt{strings.NewReader("{}"), 0}},
		"frozen after the body":            {method: "POST", body: &frozenAt{strings.NewReader("{}"), 1}, answers: 2 * lasts, sent: true},
		"frozen dialling for what is read": {method: "GET", dialing: lasts, sent: true},
		"a connection that takes its time": {method: "DELETE", dialing: lasts - time.Second, sent: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newReplica(t)
				r.acquire()
				received := make(chan string, 1)
				transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
					time.Sleep(test.dialing)
					ours, theirs := net.Pipe()
					go serve(theirs, test.answers, received)
					return ours, nil
				}}
				defer transport.CloseIdleConnections()
				request, err := http.NewRequestWithContext(t.Context(), test.method, "http://api.linode.invalid/", test.body)
				r.must(err)
				if test.body != nil {
					request.ContentLength = int64(len("{}"))
				}
				answer, err := r.fence.Guard(transport).RoundTrip(request)
				if err == nil {
					_ = answer.Body.Close()
				} else if !errors.Is(err, leadership.ErrNotLeading) {
					t.Error(err)
				}
				if got := <-received; err == nil != test.sent || got != "" != test.sent {
					t.Errorf("the server got %q, the client error %v; sent: want %t", got, err, test.sent)
				}
			})
		})
	}
}

// serve answers one request and returns its method. It returns "" if the connection ended before the request was complete.
func serve(connection net.Conn, after time.Duration, received chan<- string) {
	defer func() { _ = connection.Close() }()
	request, err := http.ReadRequest(bufio.NewReader(connection))
	if err == nil {
		_, err = io.Copy(io.Discard, request.Body)
	}
	if err != nil {
		received <- ""
		return
	}
	received <- request.Method
	time.Sleep(after)
	_, _ = io.WriteString(connection, "HTTP/1.1 204 No Content\r\n\r\n")
}

// client-go would give back the Lease that another holds by now.
func TestALeaseThatHasRunOutIsNotGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplica(t)
		r.acquire()
		time.Sleep(lasts)
		if err := r.update(""); !errors.Is(err, leadership.ErrNotLeading) {
			t.Errorf("giving it back: %v", err)
		}
		if held, _, err := r.lock.Get(t.Context()); err != nil || held.HolderIdentity != "replica-1" {
			t.Errorf("the Lease is %+v (%v)", held, err)
		}
	})
}

// The process ends only if another replica holds the Lease. A slow API server does not show which replica leads.
func TestTheProcessEndsWhenAnotherLeads(t *testing.T) {
	for name, test := range map[string]struct {
		holder string
		ends   bool
	}{
		"still its own":             {"replica-1", false},
		"released by the holder":    {"", false},
		"in the hands of a replica": {"replica-2", true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newReplica(t)
				if err := r.lock.Create(t.Context(), record("replica-1")); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- r.fence.Start(ctx) }()
				time.Sleep(2 * lasts) // frozen
				r.cluster.record = new(record(test.holder))
				if _, _, err := r.lock.Get(t.Context()); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				cancel()
				if err := <-ended; errors.Is(err, leadership.ErrReplaced) != test.ends || err == nil == test.ends {
					t.Errorf("it ended with %v; ends because of another: want %t", err, test.ends)
				}
				r.may(false)
			})
		})
	}
}

// A replica that waits reads all the time that another leads.
func TestAReplicaThatWaitsGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplica(t)
		r.cluster.record = new(record("replica-2"))
		if _, _, err := r.lock.Get(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.acquire()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := r.fence.Start(ctx); err != nil {
			t.Error(err)
		}
		r.may(true)
	})
}

func TestALeaderGoesOnUntilItIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplica(t)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		r.acquire()
		go func() { ended <- r.fence.Start(ctx) }()
		for range 10 {
			time.Sleep(lasts - time.Second)
			r.must(r.update("replica-1"))
			r.may(true)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
