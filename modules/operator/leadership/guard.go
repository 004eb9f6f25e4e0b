package leadership

import (
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

// Guard returns a transport that passes writes, which are all requests except GET and HEAD, only while this process leads. A write that it
// holds back fails with the error of a connection that could not be made, so it was certainly not sent.
func (f *Fence) Guard(next http.RoundTripper) http.RoundTripper { return guard{next, f} }

type guard struct {
	next  http.RoundTripper
	fence *Fence
}

// RoundTrip implements http.RoundTripper.
func (g guard) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method == http.MethodGet || request.Method == http.MethodHead {
		return g.next.RoundTrip(request)
	}
	w := &write{fence: g.fence}
	g.fence.writes.begin()
	if w.mayNot() { // after begin: either a concurrent release of the Lease counts this write, or this check sees the release
		g.fence.writes.end(false, g.fence.now())
		return nil, heldBack()
	}
	answer, err := g.next.RoundTrip(w.guarded(request))
	held := err != nil && w.held.Load()
	g.fence.writes.end(!held && leavesOpen(answer, err), g.fence.now())
	if held {
		return nil, heldBack()
	}
	return answer, err
}

func heldBack() error { return &net.OpError{Op: "dial", Err: ErrNotLeading} }

// A write is a request that changes something, on its way through the transport.
type write struct {
	fence *Fence
	held  atomic.Bool // the last check held the write back
}

func (w *write) mayNot() bool {
	w.held.Store(!w.fence.leads())
	return w.held.Load()
}

// guarded returns the request with the later checks: when it has its connection, and with each piece of its body. Only closing the
// connection before the first byte keeps a request without a body from being sent.
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
			return body{copied, w}, err
		}
	}
	return request
}

// body is the body of a write. The transport sends each piece as soon as it has read it, and the server has no complete request without the
// last piece. At the end of the body the whole request may have been sent, so the guard can no longer hold the write back.
type body struct {
	io.ReadCloser
	write *write
}

// Read implements io.Reader.
func (b body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 && b.write.mayNot() {
		return 0, ErrNotLeading
	}
	return n, err
}
