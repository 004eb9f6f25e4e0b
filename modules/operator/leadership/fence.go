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
//	manager.Add(fence)       // ends the process when another is seen to lead
//
// Guaranteed: no write is begun after the Lease has run out by this host's clock, nor before the first election, nor
// after the Lease was given back. The other replicas wait for as long, from when they saw the last renewal, which is
// later. Reads always pass.
//
// It is asked when a write is begun, when it has its connection (which takes as long as dialling and TLS do), and with
// each piece of its body.
//
// Not guaranteed: a write that was begun in time may arrive late, and a process that is frozen in the few instructions
// between the last check and the system call sends it when it wakes. Requests to the Kubernetes API server are not held
// back; the process ends as soon as its elector reads that another leads, which it does within its retry period, 2 s,
// after it wakes. A Lease that could not be renewed in time because the API server was slow holds writes back and ends
// nothing: whether to go on is then the elector's decision.
//
// A Fence is safe for concurrent use. The clock is the wall clock, because that of a paused VM may be the only one
// that goes on.
package leadership

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
)

// ErrNotLeading is the cause when a write was held back.
var ErrNotLeading = errors.New("this replica does not lead: its Lease has run out or was never held")

// ErrReplaced is why Start ended.
var ErrReplaced = errors.New("another replica leads by now: this process must have stood still")

// Fence knows until when this process leads.
type Fence struct {
	open     bool
	until    atomic.Int64 // Unix time in nanoseconds; 0 = does not lead
	identity atomic.Value // string: as whom this process held the Lease last
	replaced chan struct{}
	once     sync.Once // closes replaced
}

// NewFence returns the Fence of a process that does not lead yet.
func NewFence() *Fence { return &Fence{replaced: make(chan struct{})} }

// Open returns the Fence of a process that takes part in no election: everything passes.
func Open() *Fence { return &Fence{open: true, replaced: make(chan struct{})} }

func (f *Fence) leads() bool {
	return f.open || time.Now().UnixNano() < f.until.Load()
}

// Guard returns a transport that passes on what changes something only while this process leads. What it holds back
// fails as a connection that could not be made does: certainly not sent.
func (f *Fence) Guard(next http.RoundTripper) http.RoundTripper {
	return transport{next, func(request *http.Request) (*http.Response, error) {
		if request.Method == http.MethodGet || request.Method == http.MethodHead {
			return next.RoundTrip(request)
		}
		w := &write{fence: f}
		if w.mayNot() {
			return nil, heldBack()
		}
		answer, err := next.RoundTrip(w.guarded(request))
		if err != nil && w.held.Load() {
			return nil, heldBack()
		}
		return answer, err
	}}
}

func heldBack() error { return &net.OpError{Op: "dial", Err: ErrNotLeading} }

// A write is a request that changes something, on its way through the transport.
type write struct {
	fence *Fence
	held  atomic.Bool // by the last check
}

func (w *write) mayNot() bool {
	w.held.Store(!w.fence.leads())
	return w.held.Load()
}

// guarded is the request with the checks that come after it is begun. A connection that is closed before the first byte
// of a request is the one way to keep a request without a body from being sent.
func (w *write) guarded(request *http.Request) *http.Request {
	request = request.WithContext(httptrace.WithClientTrace(request.Context(), &httptrace.ClientTrace{
		GotConn: func(got httptrace.GotConnInfo) {
			if w.mayNot() {
				_ = got.Conn.Close()
			}
		},
	}))
	if request.Body == nil || request.Body == http.NoBody {
		return request
	}
	request.Body = body{request.Body, w}
	if again := request.GetBody; again != nil {
		request.GetBody = func() (io.ReadCloser, error) {
			copied, err := again()
			if err != nil {
				return nil, err
			}
			return body{copied, w}, nil
		}
	}
	return request
}

// body is that of a write. Each piece is sent as soon as it is read; without the last one the server has no request.
// At its end all may have been sent, so it is too late to hold anything back.
type body struct {
	io.ReadCloser
	write *write
}

func (b body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 && b.write.mayNot() {
		return 0, ErrNotLeading
	}
	return n, err
}

// Watch returns a transport that learns from the elector's writes to the Lease until when this process leads: from
// when a write was begun, for as long as it says. A Lease that has run out is not given back. From the elector's reads
// it learns who else leads.
func (f *Fence) Watch(next http.RoundTripper) http.RoundTripper {
	return transport{next, func(request *http.Request) (*http.Response, error) {
		if !strings.Contains(request.URL.Path, "/leases") {
			return next.RoundTrip(request)
		}
		begun, written := time.Now(), leaseWritten(request)
		if written != nil && holder(written) == "" {
			if !f.leads() {
				// client-go gives back what it last saw, which by now may be the Lease of another.
				return nil, ErrNotLeading
			}
			f.until.Store(0) // whoever sees it may lead at once
		}
		answer, err := next.RoundTrip(request)
		if err != nil || answer.StatusCode >= http.StatusMultipleChoices {
			return answer, err
		}
		switch {
		case written != nil && holder(written) != "":
			f.identity.Store(holder(written))
			f.until.Store(begun.Add(time.Duration(ptr.Deref(written.Spec.LeaseDurationSeconds, 0)) * time.Second).UnixNano())
		case request.Method == http.MethodGet:
			err = f.read(answer)
		}
		return answer, err
	}}
}

// leaseWritten is the Lease that a request writes; nil if it writes none.
func leaseWritten(request *http.Request) *coordinationv1.Lease {
	if request.Method != http.MethodPut && request.Method != http.MethodPost || request.GetBody == nil {
		return nil
	}
	body, err := request.GetBody()
	if err != nil {
		return nil
	}
	defer func() { _ = body.Close() }()
	content, err := io.ReadAll(body)
	if err != nil {
		return nil
	}
	return decode(content)
}

// read looks who holds the Lease that was read. The answer keeps its body.
func (f *Fence) read(answer *http.Response) error {
	content, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	answer.Body = io.NopCloser(bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("reading the Lease: %w", err)
	}
	self, led := f.identity.Load().(string)
	if lease := decode(content); led && lease != nil && holder(lease) != "" && holder(lease) != self {
		f.once.Do(func() { close(f.replaced) })
	}
	return nil
}

// decode reads a Lease in any of the encodings that client-go chooses from; nil if it is none.
func decode(content []byte) *coordinationv1.Lease {
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(content, nil, nil)
	if err != nil {
		return nil
	}
	lease, _ := object.(*coordinationv1.Lease)
	return lease
}

func holder(lease *coordinationv1.Lease) string { return ptr.Deref(lease.Spec.HolderIdentity, "") }

// Start returns an error when this process led and another leads by now. It is a Runnable of controller-runtime's
// manager, which starts it once this process leads, and ends with it.
func (f *Fence) Start(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-f.replaced:
		return ErrReplaced
	}
}

type transport struct {
	next http.RoundTripper
	do   func(*http.Request) (*http.Response, error)
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(request *http.Request) (*http.Response, error) { return t.do(request) }

// WrappedRoundTripper lets client-go reach the transport below, to cancel requests and to close idle connections.
func (t transport) WrappedRoundTripper() http.RoundTripper { return t.next }
