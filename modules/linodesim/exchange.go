package linodesim

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/fault"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/handlers"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/operation"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/ratelimit"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
)

const maxBody = 1 << 20

// exchange is one request on its way through the simulator.
type exchange struct {
	sim     *Sim
	r       *http.Request
	id      string
	start   time.Time
	op      *operation.Operation // nil = unknown
	path    string               // without version
	beta    bool
	caller  caller
	pause   time.Duration // what is left of the request's delay
	header  http.Header
	status  int
	body    []byte
	dropped error // the answer never arrives, for this reason
}

var errDropped = errors.New("connection dropped by a fault rule")

// answer takes a request through everything and records it.
func (s *Sim) answer(r *http.Request) *exchange {
	x := &exchange{sim: s, r: r, id: s.journal.nextID(), start: s.clock.Now(), header: http.Header{}}
	x.path, x.beta = version(r.URL.Path)
	x.op = s.find(r, x.path, x.beta)
	x.pause = s.world.RequestDelay()
	x.run()
	if x.dropped == nil {
		x.dropped = x.wait(x.pause)
	}
	if x.dropped == nil && s.check && x.op != nil {
		x.validate()
	}
	x.record()
	return x
}

// run does all that comes before the last part of the delay. Each step that
// fails has written the answer.
func (x *exchange) run() {
	if x.op == nil {
		x.refuse(http.StatusNotFound, world.Reason{Reason: "Not found"})
		return
	}
	if !x.admitted() {
		return
	}
	// The first half of the delay is the way there: a request that is given up
	// on it has no effect, one that is given up later has.
	there := x.pause / 2
	x.pause -= there
	if x.dropped = x.wait(there); x.dropped != nil {
		return
	}
	if x.op.Scopes != nil && !x.op.Public && !x.caller.may(x.op.Scopes) {
		x.refuse(http.StatusForbidden, world.Reason{Reason: "Your OAuth token is not authorized to use this endpoint."})
		return
	}
	d := x.sim.faults.Decide(fault.Request{Request: x.bare(), Route: x.op.Route, List: x.op.Paginated})
	if d.Rule.Delay > 0 {
		if x.dropped = x.wait(d.Rule.Delay); x.dropped != nil {
			return
		}
	}
	if d.Hit && !d.Rule.AfterEffect && x.spoil(d.Rule) {
		return
	}
	x.handle(d)
	if d.Hit && d.Rule.AfterEffect {
		x.spoil(d.Rule)
	}
}

// admitted checks maintenance, token and rate limit.
func (x *exchange) admitted() bool {
	if x.sim.journal.inMaintenance() {
		x.header.Set("X-Maintenance-Mode", "API maintenance")
		x.refuse(http.StatusServiceUnavailable, world.Reason{Reason: "The API is undergoing maintenance."})
		return false
	}
	who, known := x.sim.tokens.find(x.r.Header.Get("Authorization"))
	if !known && (!x.op.Public || x.r.Header.Get("Authorization") != "") {
		x.refuse(http.StatusUnauthorized, world.Reason{Reason: "Invalid Token"})
		return false
	}
	x.caller = who
	accepted := strings.Join(x.op.Scopes, ",")
	if accepted == "" {
		accepted = "*"
	}
	x.header.Set("X-Accepted-OAuth-Scopes", accepted)
	if known {
		x.header.Set("X-OAuth-Scopes", strings.Join(who.scopes, " "))
	}
	meter := who.user
	if !known {
		meter = "(without token)"
	}
	d := x.sim.limiter.Take(meter, x.op.Class, x.start)
	x.limits(d)
	if !d.Allowed {
		seconds := (d.Reset.Sub(x.start) + time.Second - 1) / time.Second
		x.header.Set("Retry-After", strconv.Itoa(max(1, int(seconds))))
		x.refuse(http.StatusTooManyRequests, world.Reason{Reason: "Too many requests"})
	}
	return d.Allowed
}

func (x *exchange) limits(d ratelimit.Decision) {
	if !d.Limited {
		return
	}
	x.header.Set("X-RateLimit-Limit", strconv.Itoa(d.Limit))
	x.header.Set("X-RateLimit-Remaining", strconv.Itoa(d.Remaining))
	x.header.Set("X-RateLimit-Reset", strconv.FormatInt(d.Reset.Unix(), 10))
}

// handle lets the generated server answer.
func (x *exchange) handle(d fault.Decision) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, orEmpty(x.r.Body), maxBody))
	if err != nil {
		x.refuse(http.StatusBadRequest, world.Reason{Reason: "The body could not be read"})
		return
	}
	if faults := x.op.CheckBody(body, x.beta); len(faults) > 0 {
		reasons := make([]world.Reason, len(faults))
		for i, f := range faults {
			reasons[i] = world.Reason{Field: f.Field, Reason: f.Reason}
		}
		x.refuse(http.StatusBadRequest, reasons...)
		return
	}
	r := x.bare()
	r.Body = io.NopCloser(bytes.NewReader(body))
	live := x.sim.world
	if d.Rule.NoEffect {
		live = live.Fork()
	}
	r = r.WithContext(handlers.With(r.Context(), handlers.Request{
		Live: live, Seen: x.sim.seen(d), Missing: d.Rule.Missing, Chance: d.Chance, Shift: d.Rule.Shift, Beta: x.beta, Operation: x.op,
		Actor: world.Actor{User: x.caller.user, RequestID: x.id},
		May:   func(scope string) bool { return x.caller.may([]string{scope}) },
	}))
	out := &buffer{header: x.header}
	x.sim.inner.ServeHTTP(out, r)
	x.status, x.body = out.status, out.body.Bytes()
}

// bare is the request below its version.
func (x *exchange) bare() *http.Request {
	r := x.r.Clone(x.r.Context())
	r.URL.Path = x.path
	if r.URL.RawPath != "" {
		r.URL.RawPath, _ = version(r.URL.RawPath)
	}
	r.Pattern = ""
	return r
}

// spoil carries out a rule's effect and reports whether there was one.
func (x *exchange) spoil(rule fault.Rule) bool {
	switch {
	case rule.Drop:
		x.dropped = errDropped
	case rule.Hang:
		<-x.r.Context().Done()
		x.dropped = x.r.Context().Err()
	case rule.Status != 0:
		for name, values := range rule.Header {
			x.header[http.CanonicalHeaderKey(name)] = values
		}
		if rule.RetryAfter > 0 {
			x.header.Set("Retry-After", strconv.Itoa(int(rule.RetryAfter/time.Second)))
		}
		if rule.HTML {
			x.header.Set("Content-Type", "text/html")
			x.status, x.body = rule.Status, []byte("<html><body><h1>"+http.StatusText(rule.Status)+"</h1></body></html>\n")
			return true
		}
		reason := rule.Reason
		if reason == "" {
			reason = http.StatusText(rule.Status)
		}
		x.refuse(rule.Status, world.Reason{Field: rule.Field, Reason: reason})
	default:
		return false
	}
	return true
}

func (x *exchange) refuse(status int, reasons ...world.Reason) {
	x.header.Set("Content-Type", "application/json")
	x.status, x.body = status, errorBody(reasons)
}

func (x *exchange) wait(d time.Duration) error {
	ctx := x.r.Context()
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	select {
	case <-x.sim.clock.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// validate compares the answer with the description. Answers made by a rule
// that plays a proxy are not the API's.
func (x *exchange) validate() {
	if x.header.Get("Content-Type") == "text/html" {
		return
	}
	if err := x.op.CheckAnswer(x.bare(), x.status, x.header, x.body); err != nil {
		text := x.op.Method + " " + x.op.Route + ": " + err.Error()
		x.sim.journal.violation(text)
		x.refuse(http.StatusInternalServerError, world.Reason{Reason: "linodesim: the answer differs from the API's description: " + text})
	}
}

func (x *exchange) record() {
	c := Call{
		At: x.start, Took: x.sim.clock.Now().Sub(x.start), User: x.caller.user, Method: x.r.Method, Path: x.r.URL.RequestURI(),
		Route: unknownRoute, Status: x.status, RequestID: x.id,
	}
	if x.op != nil {
		c.Route, c.Class = x.op.Route, x.op.Class
	}
	if x.dropped != nil {
		c.Status = 0
	}
	x.sim.journal.add(c)
}

func errorBody(reasons []world.Reason) []byte {
	type entry struct {
		Reason string `json:"reason"`
		Field  string `json:"field,omitempty"`
	}
	body := struct {
		Errors []entry `json:"errors"`
	}{}
	for _, r := range reasons {
		body.Errors = append(body.Errors, entry{Reason: r.Reason, Field: r.Field})
	}
	out, err := json.Marshal(body)
	if err != nil { // two strings always marshal
		panic(err)
	}
	return append(out, '\n')
}

func orEmpty(body io.ReadCloser) io.ReadCloser {
	if body == nil {
		return http.NoBody
	}
	return body
}

// buffer collects what the generated server writes.
type buffer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (b *buffer) Header() http.Header         { return b.header }
func (b *buffer) WriteHeader(status int)      { b.status = status }
func (b *buffer) Write(p []byte) (int, error) { return b.body.Write(p) }
