package linodesim

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/filter"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/operation"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/server"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
)

// ServeHTTP answers a request of the Linode API, below /v4 or /v4beta.
func (s *Sim) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := s.answer(r) //nolint:contextcheck // the request carries it, and every step takes it from there
	if x.dropped != nil {
		// Closes the connection without an answer.
		panic(http.ErrAbortHandler)
	}
	for name, values := range x.header {
		w.Header()[name] = values
	}
	w.WriteHeader(x.status)
	_, _ = w.Write(x.body) // the client may be gone; nobody is left to tell
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
	x := t.sim.answer(r)
	if x.dropped != nil {
		if errors.Is(x.dropped, errDropped) {
			return nil, fmt.Errorf("%s %s: %w", r.Method, r.URL.Path, io.ErrUnexpectedEOF)
		}
		return nil, x.dropped
	}
	return &http.Response{
		Status: strconv.Itoa(x.status) + " " + http.StatusText(x.status), StatusCode: x.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: x.header,
		Body: io.NopCloser(bytes.NewReader(x.body)), ContentLength: int64(len(x.body)), Request: r,
	}, nil
}

// route is a mux's handler that only names its operation: the mux is asked,
// never run.
type route struct{ op *operation.Operation }

func (route) ServeHTTP(http.ResponseWriter, *http.Request) {}

func routes(api *operation.API) *http.ServeMux {
	mux := http.NewServeMux()
	for _, op := range api.Operations {
		mux.Handle(op.Method+" "+op.Route, route{op})
	}
	return mux
}

// find gives the operation of a request, or nil. A GET route of the mux also
// takes HEAD, which the API's description does not have.
func (s *Sim) find(r *http.Request, bare string, beta bool) *operation.Operation {
	if bare == "" || path.Clean(bare) != bare || r.Method == http.MethodHead {
		return nil
	}
	q := r.Clone(r.Context())
	q.Host, q.URL.Host = "", ""
	q.URL.Path = bare
	if q.URL.RawPath != "" {
		q.URL.RawPath, _ = version(q.URL.RawPath)
	}
	h, _ := s.routes.Handler(q)
	found, ok := h.(route)
	if !ok || found.op.Beta && !beta {
		return nil
	}
	return found.op
}

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

// refuseRequest writes what a handler, or the generated code, refused.
func refuseRequest(w http.ResponseWriter, _ *http.Request, err error) {
	status, reasons := http.StatusInternalServerError, []world.Reason{{Reason: err.Error()}}
	var wrongFilter *filter.Error
	var wrongParam *server.InvalidParamFormatError
	switch refusal := world.AsRefusal(err); {
	case refusal != nil:
		status, reasons = refusal.Status, refusal.Reasons
	case errors.As(err, &wrongFilter):
		status, reasons = http.StatusBadRequest, []world.Reason{{Field: "X-Filter", Reason: wrongFilter.Reason}}
	case errors.As(err, &wrongParam):
		status, reasons = wrongParameter(wrongParam.ParamName)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(errorBody(reasons)) // into a buffer
}

// A query parameter that is no number is refused as such; a path segment that
// is none names nothing.
func wrongParameter(name string) (int, []world.Reason) {
	if name == "page" || name == "page_size" {
		return http.StatusBadRequest, []world.Reason{{Field: name, Reason: "Must be an integer"}}
	}
	return http.StatusNotFound, []world.Reason{{Reason: "Not found"}}
}
