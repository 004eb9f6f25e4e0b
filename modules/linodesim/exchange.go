package linodesim

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/filter"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/handlers"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/operation"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/world"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
)

const maxBody = 1 << 20

// exchange is one request on its way through the simulator.
type exchange struct {
	sim     *Sim
	r       *http.Request // as the client sent it
	bare    *http.Request // without the version in its path, routed
	id      string
	start   time.Time
	op      *operation.Operation // nil = unknown
	caller  world.Caller
	pause   time.Duration // the rest of the request's delay
	fault   decision
	answer  answer
	dropped error // the answer never arrives, for this reason
}

type answer struct {
	header http.Header
	status int
	body   []byte
}

var errDropped = errors.New("connection dropped by a fault rule")

// chain lists the steps of every request, in this order. A step that returns false has
// answered the request, or the connection is gone; no further step runs.
var chain = []func(*exchange) bool{
	(*exchange).route, (*exchange).maintenance, (*exchange).authenticate, (*exchange).limit, (*exchange).arrive,
	(*exchange).authorize, (*exchange).decide, (*exchange).failBefore, (*exchange).handle, (*exchange).failAfter,
}

// exchange runs the steps of a request and records the request.
func (s *Sim) exchange(r *http.Request) *exchange {
	x := &exchange{sim: s, r: r, id: s.journal.nextID(), start: s.clock.Now()}
	x.answer.header = http.Header{}
	for _, step := range chain {
		if !step(x) {
			break
		}
	}
	x.dropped = cmp.Or(x.dropped, x.wait(x.pause))
	if x.dropped == nil && s.check && x.op != nil {
		x.validate()
	}
	x.record()
	return x
}

// route finds the operation below the version of the path.
func (x *exchange) route() bool {
	r := x.r.Clone(x.r.Context())
	r.URL.Path, x.caller.Beta = version(r.URL.Path)
	if r.URL.RawPath != "" {
		r.URL.RawPath, _ = version(r.URL.RawPath)
	}
	r.Host, r.URL.Host = "", ""
	if r.URL.Path != "" {
		x.op, x.bare = x.sim.routes.find(r, x.caller.Beta), r
	}
	x.pause = x.sim.world.RequestDelay(x.op != nil && strings.HasPrefix(x.op.Route, "/lke/") && x.r.Method != http.MethodGet)
	if x.op == nil {
		x.sim.journal.notKnown(x.r.Method + " " + x.r.URL.RequestURI())
		return x.refuse(http.StatusNotFound, world.Reason{Reason: "Not found"})
	}
	return true
}

func (x *exchange) maintenance() bool {
	if x.sim.maintenance.Load() {
		x.answer.header.Set("X-Maintenance-Mode", "API maintenance")
		return x.refuse(http.StatusServiceUnavailable, world.Reason{Reason: "The API is undergoing maintenance."})
	}
	return true
}

func (x *exchange) authenticate() bool {
	who, known := x.sim.tokens.find(x.r.Header.Get("Authorization"))
	if !known && !x.op.Public { // a public operation ignores a wrong token (FACTS 18, third table, 20)
		return x.refuse(http.StatusUnauthorized, world.Reason{Reason: "Invalid Token"})
	}
	beta := x.caller.Beta
	x.caller = who
	x.caller.RequestID, x.caller.Beta = x.id, beta
	x.answer.header.Set("X-Accepted-OAuth-Scopes", cmp.Or(strings.Join(x.op.Scopes, ","), "*"))
	if known {
		x.answer.header.Set("X-OAuth-Scopes", strings.Join(who.Scopes, " "))
	}
	return true
}

func (x *exchange) limit() bool {
	d := x.sim.limiter.Take(cmp.Or(x.caller.User, "(without token)"), string(x.op.Class), x.start)
	if x.op.RateHeaders && d.Limited && !x.sim.Lies(report.NoLimitHeaders) {
		x.answer.header.Set("X-RateLimit-Limit", strconv.Itoa(d.Limit))
		x.answer.header.Set("X-RateLimit-Remaining", strconv.Itoa(d.Remaining))
		x.answer.header.Set("X-RateLimit-Reset", strconv.FormatInt(d.Reset.Unix(), 10))
	}
	if !d.Allowed {
		seconds := (d.Reset.Sub(x.start) + time.Second - 1) / time.Second
		if !x.sim.Lies(report.NoLimitHeaders) {
			x.answer.header.Set("Retry-After", strconv.Itoa(max(1, int(seconds))))
		}
		return x.refuse(http.StatusTooManyRequests, world.Reason{Reason: "Too many requests"})
	}
	return true
}

// arrive waits for the first half of the delay: a request that its client cancels there has
// no effect, and a request that is cancelled later has its effect.
func (x *exchange) arrive() bool {
	there := x.pause / 2
	x.pause -= there
	x.dropped = x.wait(there)
	return x.dropped == nil
}

func (x *exchange) authorize() bool {
	if !x.op.Public && !x.caller.May(x.op.Scopes...) {
		return x.refuse(http.StatusForbidden, world.Reason{Reason: "Your OAuth token is not authorized to use this endpoint."})
	}
	if strings.HasPrefix(x.op.Route, "/lke/clusters") && !x.caller.MayLKE(x.r.Method != http.MethodGet) {
		return x.refuse(http.StatusForbidden, world.Reason{Reason: "Unauthorized"})
	}
	return true
}

func (x *exchange) readBody() ([]byte, error) {
	if x.r.Body == nil {
		return nil, nil
	}
	return io.ReadAll(http.MaxBytesReader(nil, x.r.Body, maxBody))
}

// handle checks the body's form and runs the operation.
func (x *exchange) handle() bool {
	body, err := x.readBody()
	if err != nil {
		return x.refuse(http.StatusBadRequest, world.Reason{Reason: "The body could not be read"})
	}
	if wrong := x.op.CheckBody(body, x.caller.Beta); len(wrong) > 0 {
		reasons := make([]world.Reason, len(wrong))
		for i, f := range wrong {
			reasons[i] = world.Reason{Field: f.Field, Reason: f.Reason}
			if f.Unknown {
				x.sim.journal.notKnown(x.op.Method + " " + x.op.Route + ": field " + f.Field)
			}
		}
		return x.refuse(http.StatusBadRequest, reasons...)
	}
	answer, err := x.run(body)
	if err != nil {
		return x.refused(err)
	}
	x.write(http.StatusOK, "application/json", append(answer, '\n'))
	return true
}

// run carries out the operation in one moment of the world.
func (x *exchange) run(body []byte) ([]byte, error) {
	x.caller.AnswersIn = x.pause
	live, end := x.sim.world.Begin(x.caller)
	defer end()
	seen := live
	if past := x.sim.past(live, x.fault); past != nil {
		var over func()
		seen, over = past.Begin(x.caller)
		defer over()
	}
	if x.fault.Rule.NoEffect {
		live, _ = live.History().Fork().Begin(x.caller) // no other caller has the fork
	}
	found, err := handlers.Answer(x.request(live, seen), body)
	if err != nil {
		return nil, err
	}
	return json.Marshal(found)
}

func (x *exchange) request(live, seen *world.Moment) handlers.Request {
	return handlers.Request{
		Live: live, Seen: seen, Missing: x.fault.Rule.Missing, Chance: x.fault.Chance, Shift: x.fault.Rule.Shift,
		IgnoreFilter: x.op.ID == api.OpListLKENodePools && x.sim.behaviour.IgnorePoolFilter, LenientPages: x.sim.behaviour.LenientPages,
		Operation: x.op, HTTP: x.bare,
	}
}

// carryOutLater plans the effect of a write. If the API would refuse the write at that later
// time, the write has no effect, and no caller learns about it.
func (x *exchange) carryOutLater(after time.Duration) {
	body, err := x.readBody()
	if err != nil || len(x.op.CheckBody(body, x.caller.Beta)) > 0 {
		return
	}
	live, end := x.sim.world.Begin(x.caller)
	defer end()
	live.Later(after, func(then *world.Moment) { _, _ = handlers.Answer(x.request(then, then), body) })
}

// refused answers with the error of a handler.
func (x *exchange) refused(err error) bool {
	var refusal *world.Refusal
	var wrongFilter *filter.Error
	switch {
	case errors.As(err, &refusal):
		return x.refuse(refusal.Status, refusal.Reasons...)
	case errors.As(err, &wrongFilter):
		if wrongFilter.Field != "" {
			x.sim.journal.notKnown(x.op.Method + " " + x.op.Route + ": filter " + wrongFilter.Field)
		}
		return x.refuse(http.StatusBadRequest, world.Reason{Field: "X-Filter", Reason: wrongFilter.Reason})
	}
	return x.refuse(http.StatusInternalServerError, world.Reason{Reason: err.Error()})
}

// refuse answers with an error; false ends the chain.
func (x *exchange) refuse(status int, reasons ...world.Reason) bool {
	body, err := json.Marshal(map[string]any{"errors": reasons})
	if err != nil { // texts always marshal
		panic(err)
	}
	x.write(status, "application/json", append(body, '\n'))
	return false
}

func (x *exchange) write(status int, contentType string, body []byte) {
	x.answer.header.Set("Content-Type", contentType)
	x.answer.status, x.answer.body = status, body
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

// validate compares the answer with the description. It skips HTML answers: a rule made them,
// as a proxy does, and the API does not send them.
func (x *exchange) validate() {
	if x.answer.header.Get("Content-Type") == "text/html" {
		return
	}
	if err := x.op.CheckAnswer(x.bare, x.answer.status, x.answer.header, x.answer.body); err != nil {
		text := x.op.Method + " " + x.op.Route + ": " + err.Error()
		x.sim.journal.violation(text)
		x.refuse(http.StatusInternalServerError, world.Reason{Reason: "linodesim: the answer differs from the API's description: " + text})
	}
}

func (x *exchange) record() {
	c := Call{
		At: x.start, Took: x.sim.clock.Now().Sub(x.start), User: x.caller.User, Method: x.r.Method, Path: x.r.URL.RequestURI(),
		Route: unknownRoute, Status: x.answer.status, RequestID: x.id,
	}
	if x.op != nil {
		c.Route, c.Class = x.op.Route, string(x.op.Class)
	}
	if x.dropped != nil {
		c.Status = 0
	}
	x.sim.journal.add(c)
}
