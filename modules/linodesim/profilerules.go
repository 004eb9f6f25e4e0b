package linodesim

import (
	"cmp"
	"net/http"
	"strconv"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/world"
)

// profileRules returns the rules of a profile. Of these rules, only the first that hits a request applies to it. Lists
// with a missing entry or a shifted page lag as other lists do.
func profileRules(p Profile) []Rule {
	t, lists := p.Faults, Rule{Kind: Lists, View: View{Stale: p.StaleLists}, UpTo: true}
	missing, shifted := lists, lists
	missing.Missing, missing.Probability = 1, t.MissingEntry
	shifted.Shift, shifted.Probability = 1, t.PageShift
	var out []Rule
	for _, r := range []Rule{
		{Hang: true, Probability: t.Hang},
		{Kind: Reads, Answer: Answer{Status: http.StatusNotFound, Reason: "Not found"}, Probability: t.NotFound},
		{Method: http.MethodPut, View: View{NoEffect: true}, Probability: t.NoEffect},
		{Method: http.MethodDelete, View: View{NoEffect: true}, Probability: t.NoEffect},
		{Kind: Writes, View: View{Late: t.LateBy}, UpTo: true, Probability: t.Late / 2},
		{Kind: Writes, View: View{Late: t.LateBy}, UpTo: true, Hang: true, Probability: t.Late / 2},
		{Kind: Reads, Answer: Answer{Status: http.StatusNotFound, Reason: "Not found"}, For: t.NotFoundFor, Probability: t.NotFoundGroup},
		{Kind: Writes, Drop: true, AfterEffect: true, Probability: t.LostAnswer},
		missing, shifted,
	} {
		if r.Probability > 0 {
			out = append(out, r)
		}
	}
	for _, r := range []Rule{{Kind: Reads, View: View{Stale: p.StaleReads}, UpTo: true}, lists} {
		if r.Stale > 0 {
			out = append(out, r)
		}
	}
	return out
}

// decide finds the rule that hits the request.
func (x *exchange) decide() bool {
	x.fault = x.sim.rules.Decide(ruled{Request: x.bare, Route: x.op.Route, List: x.op.Paginated}, x.sim.clock.Now())
	x.dropped = x.wait(x.fault.Rule.Delay)
	return x.dropped == nil
}

func (x *exchange) failBefore() bool {
	if x.fault.Rule.Late > 0 && x.op.Method != http.MethodGet {
		x.carryOutLater(x.fault.Rule.Late)
		if rule := &x.fault.Rule; rule.Status == 0 && !rule.Drop && !rule.Hang {
			rule.Status = http.StatusGatewayTimeout
		}
	}
	return !x.fault.Hit || x.fault.Rule.AfterEffect || !x.fail(x.fault.Rule)
}

func (x *exchange) failAfter() bool {
	return !x.fault.Hit || !x.fault.Rule.AfterEffect || !x.fail(x.fault.Rule)
}

// fail carries out a rule's effect and reports whether the rule has an effect.
func (x *exchange) fail(rule Rule) bool {
	switch {
	case rule.Drop:
		x.dropped = errDropped
	case rule.Hang:
		<-x.r.Context().Done()
		x.dropped = x.r.Context().Err()
	case rule.Status != 0:
		for name, values := range rule.Header {
			x.answer.header[http.CanonicalHeaderKey(name)] = values
		}
		if rule.RetryAfter > 0 {
			x.answer.header.Set("Retry-After", strconv.Itoa(int(rule.RetryAfter/time.Second)))
		}
		if rule.HTML {
			x.write(rule.Status, "text/html", []byte("<html><body><h1>"+http.StatusText(rule.Status)+"</h1></body></html>\n"))
			return true
		}
		x.refuse(rule.Status, world.Reason{Field: rule.Field, Reason: cmp.Or(rule.Reason, http.StatusText(rule.Status))})
	default:
		return false
	}
	return true
}
