package linodesim

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
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

// router finds the operation of a request. http.ServeMux cannot hold the API's routes:
// of templates/{slug} and {firewallId}/devices, neither is more specific. Here a
// literal segment comes before a parameter.
type router []route

type route struct {
	op       *operation.Operation
	segments []string
}

func newRouter(all []*operation.Operation) router {
	var out router
	for _, op := range all {
		out = append(out, route{op, strings.Split(op.Route, "/")})
	}
	// Sorting puts a literal segment before a parameter, because { comes after all
	// letters.
	slices.SortFunc(out, func(a, b route) int { return slices.Compare(a.segments, b.segments) })
	return out
}

// find returns the operation of a request and sets the values of its path. It returns
// nil if the API has no such operation.
func (rs router) find(r *http.Request, beta bool) *operation.Operation {
	given := strings.Split(r.URL.EscapedPath(), "/")
	for _, candidate := range rs {
		if candidate.op.Method == r.Method && (beta || !candidate.op.Beta) && candidate.fits(r, given) {
			return candidate.op
		}
	}
	return nil
}

func (c route) fits(r *http.Request, given []string) bool {
	if len(given) != len(c.segments) {
		return false
	}
	values := map[string]string{}
	for n, segment := range c.segments {
		if !strings.HasPrefix(segment, "{") {
			if given[n] != segment {
				return false
			}
			continue
		}
		value, err := url.PathUnescape(given[n])
		name := strings.Trim(segment, "{}")
		if err != nil || value == "" {
			return false
		}
		if _, err := strconv.Atoi(value); err != nil && c.op.Numbered(name) {
			return false // a route that is not served, such as /nodebalancers/types
		}
		values[name] = value
	}
	for name, value := range values {
		r.SetPathValue(name, value)
	}
	return true
}

// version takes /v4 or /v4beta off the start of a path; rest is empty if the path has
// neither.
func version(p string) (rest string, beta bool) {
	if rest, ok := strings.CutPrefix(p, "/v4beta/"); ok {
		return "/" + rest, true
	}
	if rest, ok := strings.CutPrefix(p, "/v4/"); ok {
		return "/" + rest, false
	}
	return "", false
}
