// Package leadership keeps a replica that does not lead from changing anything through the Linode API.
//
// The API has no preconditions, so two replicas that write at once give one instance to two NodeClaims. Leader
// election alone does not keep them apart: a leader that was frozen (a stalled host, a paused VM, SIGSTOP) for
// longer than its Lease lasts wakes up with requests in hand that were right when it fell asleep, and client-go
// gives it another renew deadline, 10 s, to find out that somebody else leads by now.
//
// A [Fence] watches the requests by which the elector holds the Lease and lets a write pass to the Linode API only
// while the last of them that succeeded still counts. It costs no request. Wired by cmd/controller:
//
//	fence := leadership.NewFence()
//	config.Wrap(fence.Watch) // the elector's client
//	client.Transport = fence.Guard(client.Transport)
//	manager.Add(fence)       // ends the process when its Lease has run out
//
// Guaranteed: no write is begun after the Lease has run out by this host's clock, nor before the first election, nor
// after the Lease was given back. The other replicas wait for as long, from when they saw the last renewal, which is
// later. Reads always pass.
//
// Not guaranteed: a write that was begun in time may arrive late, and a process that is frozen between the check and
// the first byte sends it when it wakes. Requests to the Kubernetes API server are not held back; the process ends
// within a second after it wakes.
//
// A Fence is safe for concurrent use. The clock is the wall clock, because that of a paused VM may be the only one
// that goes on.
package leadership

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
)

// ErrNotLeading is the cause when a write was held back.
var ErrNotLeading = errors.New("this replica does not lead: its Lease has run out or was never held")

// checkInterval is how often a leader looks whether its Lease has run out.
const checkInterval = time.Second

// Fence knows until when this process leads.
type Fence struct {
	until atomic.Int64 // Unix time in nanoseconds; 0 = does not lead
	open  bool
}

// NewFence returns the Fence of a process that does not lead yet.
func NewFence() *Fence { return &Fence{} }

// Open returns the Fence of a process that takes part in no election: everything passes.
func Open() *Fence { return &Fence{open: true} }

func (f *Fence) leads() bool {
	return f.open || time.Now().UnixNano() < f.until.Load()
}

// Guard returns a transport that passes on what changes something only while this process leads. What it holds back
// fails as a connection that could not be made does: certainly not sent.
func (f *Fence) Guard(next http.RoundTripper) http.RoundTripper {
	return transport(func(request *http.Request) (*http.Response, error) {
		if request.Method != http.MethodGet && request.Method != http.MethodHead && !f.leads() {
			return nil, &net.OpError{Op: "dial", Err: ErrNotLeading}
		}
		return next.RoundTrip(request)
	})
}

// Watch returns a transport that learns from the elector's writes to the Lease until when this process leads: from
// when a write was begun, for as long as it says. A Lease that has run out is not given back.
func (f *Fence) Watch(next http.RoundTripper) http.RoundTripper {
	return transport(func(request *http.Request) (*http.Response, error) {
		lasts, isLease := leaseOf(request)
		begun := time.Now()
		if isLease && lasts == 0 {
			if !f.leads() {
				// client-go gives back what it last saw, which by now may be the Lease of another.
				return nil, ErrNotLeading
			}
			f.until.Store(0) // whoever sees it may lead at once
		}
		answer, err := next.RoundTrip(request)
		if isLease && err == nil && answer.StatusCode < http.StatusMultipleChoices {
			f.until.Store(begun.Add(lasts).UnixNano())
		}
		return answer, err
	})
}

// leaseOf reads how long the Lease in a write lasts; 0 when it is given back, that is to have no holder.
func leaseOf(request *http.Request) (lasts time.Duration, ok bool) {
	if request.Method != http.MethodPut && request.Method != http.MethodPost || !strings.Contains(request.URL.Path, "/leases") || request.GetBody == nil {
		return 0, false
	}
	body, err := request.GetBody()
	if err != nil {
		return 0, false
	}
	defer func() { _ = body.Close() }()
	content, err := io.ReadAll(body)
	if err != nil {
		return 0, false
	}
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(content, nil, nil) // client-go chooses the encoding
	if err != nil {
		return 0, false
	}
	lease, ok := object.(*coordinationv1.Lease)
	if !ok {
		return 0, false
	}
	if ptr.Deref(lease.Spec.HolderIdentity, "") == "" {
		return 0, true
	}
	return time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0)) * time.Second, true
}

// Start returns an error when the Lease has run out: the process stood still, and somebody else may lead. It is a
// Runnable of controller-runtime's manager, which starts it once this process leads, and ends with it.
func (f *Fence) Start(ctx context.Context) error {
	ticker := time.NewTicker(checkInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if !f.leads() && ctx.Err() == nil {
			return fmt.Errorf("%w; this process must have stood still", ErrNotLeading)
		}
	}
}

type transport func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(request *http.Request) (*http.Response, error) { return t(request) }
