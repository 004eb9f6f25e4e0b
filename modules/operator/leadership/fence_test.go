package leadership_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/leadership"
)

const lasts = 15 * time.Second

// cluster answers for the Kubernetes API server, in memory: it keeps one Lease, or refuses every write.
type cluster struct {
	stored  []byte
	kind    string // of what is stored
	refuses bool
	takes   time.Duration // to answer
}

func (c *cluster) RoundTrip(request *http.Request) (*http.Response, error) {
	time.Sleep(c.takes) // virtual
	answer := &http.Response{StatusCode: http.StatusOK, Request: request}
	if request.Method != http.MethodGet {
		content, err := io.ReadAll(request.Body)
		if err != nil {
			return nil, err
		}
		if c.refuses {
			answer.StatusCode = http.StatusConflict
		} else {
			c.stored, c.kind = content, request.Header.Get("Content-Type")
		}
	}
	answer.Header = http.Header{"Content-Type": {c.kind}}
	answer.Body = io.NopCloser(bytes.NewReader(c.stored))
	return answer, nil
}

// replica is an elector's own lock over a Fence, and a client of the Linode API behind it.
type replica struct {
	*testing.T
	cluster *cluster
	lock    resourcelock.Interface
	fence   *leadership.Fence
	linode  http.RoundTripper
	sent    int
}

func newReplica(t *testing.T) *replica {
	t.Helper()
	r := &replica{T: t, cluster: &cluster{}, fence: leadership.NewFence()}
	config := &rest.Config{Host: "https://kubernetes.invalid", Transport: r.cluster}
	config.Wrap(r.fence.Watch)
	client, err := coordinationv1client.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	r.lock = &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "karpenter-leader-election"}, Client: client,
		LockConfig: resourcelock.ResourceLockConfig{Identity: "replica-1"},
	}
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

func TestTheProcessEndsWithItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplica(t)
		r.acquire()
		begun := time.Now()
		if err := r.fence.Start(t.Context()); !errors.Is(err, leadership.ErrNotLeading) {
			t.Errorf("it ended with %v", err)
		}
		if took := time.Since(begun); took < lasts || took > lasts+time.Second {
			t.Errorf("it ended after %s, the Lease lasts %s", took, lasts)
		}
	})
}

func TestALeaderGoesOnUntilItIsStopped(t *testing.T) {
	for name, fence := range map[string]*leadership.Fence{"without election": leadership.Open(), "elected": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newReplica(t)
				if fence != nil {
					r.linode, r.fence = fence.Guard(answers(func() { r.sent++ })), fence
				}
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
		})
	}
}
