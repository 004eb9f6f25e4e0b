package linodesim

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/operation"
)

// ServeHTTP answers a request of the Linode API, below /v4 or /v4beta.
func (s *Sim) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := s.exchange(r)
	if x.dropped != nil {
		// Closes the connection without an answer.
		panic(http.ErrAbortHandler)
	}
	for name, values := range x.answer.header {
		w.Header()[name] = values
	}
	w.WriteHeader(x.answer.status)
	_, _ = w.Write(x.answer.body) // the client may be gone, and nothing else takes the error
}

// Transport gives the API without a network: requests are answered in the
// goroutine of the caller, whatever host they name. It waits by the
// simulator's clock, honours the context of each request and can be used
// inside a testing/synctest bubble.
func (s *Sim) Transport() http.RoundTripper { return transport{s} }

type transport struct{ sim *Sim }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer func() { _ = r.Body.Close() }()
	}
	x := t.sim.exchange(r)
	if x.dropped != nil {
		if errors.Is(x.dropped, errDropped) {
			return nil, fmt.Errorf("%s %s: %w", r.Method, r.URL.Path, io.ErrUnexpectedEOF)
		}
		return nil, x.dropped
	}
	return &http.Response{
		Status: strconv.Itoa(x.answer.status) + " " + http.StatusText(x.answer.status), StatusCode: x.answer.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: x.answer.header,
		Body: io.NopCloser(bytes.NewReader(x.answer.body)), ContentLength: int64(len(x.answer.body)), Request: r,
	}, nil
}

// routed is the context's key for the exchange that is being routed.
type routed struct{}

// routes is the table of operations. A route's handler only notes which it is.
func routes(all []*operation.Operation) *http.ServeMux {
	mux := http.NewServeMux()
	for _, op := range all {
		mux.HandleFunc(op.Method+" "+op.Route, func(_ http.ResponseWriter, r *http.Request) {
			if x, ok := r.Context().Value(routed{}).(*exchange); ok && (x.caller.Beta || !op.Beta) {
				x.op, x.bare = op, r
			}
		})
	}
	return mux
}

// nowhere takes what the mux itself writes: redirects and errors.
type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) WriteHeader(int)             {}
func (nowhere) Write(p []byte) (int, error) { return len(p), nil }

// version takes /v4 or /v4beta off a path; without one the rest is empty.
func version(p string) (rest string, beta bool) {
	if rest, ok := strings.CutPrefix(p, "/v4beta/"); ok {
		return "/" + rest, true
	}
	if rest, ok := strings.CutPrefix(p, "/v4/"); ok {
		return "/" + rest, false
	}
	return "", false
}
