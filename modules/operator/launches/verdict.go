package launches

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/pacing"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/printable"
)

// Reasons of events on a NodePool about failed launches. Core reports the failure on the NodeClaim as well, but deletes the NodeClaim
// soon afterwards.
const (
	EventTokenRefused         = "TokenRefused"         // on pods and NodeClaims, too
	EventInsufficientCapacity = "InsufficientCapacity" // the region has no more of a plan
	EventPurchaseOverdue      = "PurchaseOverdue"      // LKE has accepted a purchase of a plan, and no Linode came
	EventPlanRefused          = "PlanRefused"          // LKE does not take a plan
	EventAccountLimit         = "AccountLimitReached"  // the account, or the cluster, may not have more
	EventCeilingReached       = "CeilingReached"       // the settings allow no more nodes, or none that cost as much
)

// A row maps a kind of error to the end of a NodeClaim's launch.
type row struct {
	outcome string // label of the claim metric
	cause   Cause  // the plan rests, and core tries another one
	reason  string // otherwise: reason of the NodeClaim's Launched condition; core tries again
	message string
	detail  bool // the error's own text goes into the condition: a user has to act on it
}

// rows maps each kind of error to the answer for core. With a cause, core gives the NodeClaim up and schedules its pods anew. Without a
// cause, core calls Create again, with growing pauses. This includes requests that fail until a user corrects a setting.
var rows = map[claims.Kind]row{
	claims.KindProvisioning:         {outcome: outcomeProvisioning, reason: "Provisioning", message: "The node is on its way"},
	claims.KindInsufficientCapacity: {outcome: "insufficient_capacity", cause: NoCapacity},
	claims.KindQuotaExceeded:        {outcome: "quota_exceeded", cause: AccountLimit},
	claims.KindRateLimited: {outcome: "rate_limited", reason: "RateLimited",
		message: "The Linode API limits requests; trying again"},
	claims.KindInvalid:  {outcome: "invalid", reason: "InvalidRequest", message: "Linode refuses the request", detail: true},
	claims.KindNotFound: {outcome: "not_found", reason: "NotFound", message: "The cluster, pool or Linode was not found"},
	claims.KindConflict: {outcome: "conflict", reason: "Conflict",
		message: "A user has to correct the state of the pool, Linode or Machine", detail: true},
	claims.KindForbidden: {outcome: "forbidden", reason: "Forbidden",
		message: "The Linode API refuses the token, its scopes or its user's roles", detail: true},
	claims.KindUnavailable: {outcome: "unavailable", reason: "LinodeAPIUnavailable",
		message: "The Linode API does not answer; trying again"},
	tokenRefused: {outcome: "forbidden", reason: EventTokenRefused, message: TokenRefused + "; trying again"},
	planRefused:  {outcome: "plan_refused", cause: PlanRefused},
	overdue:      {outcome: "overdue", cause: Overdue},
	ceiling:      {outcome: "ceiling", cause: Ceiling},
	unknown:      {outcome: "error", reason: "LaunchFailed", message: "The launch failed; trying again", detail: true},
}

const (
	outcomeClaimed      = "claimed"
	outcomeProvisioning = "provisioning"

	tokenRefused claims.Kind = "token"   // the API refuses the token itself, not one of its scopes
	planRefused  claims.Kind = "plan"    // the request was refused because of the plan
	overdue      claims.Kind = "overdue" // LKE has accepted a purchase, and no Linode came
	ceiling      claims.Kind = "ceiling" // the settings MAX_NODES and MAX_HOURLY_PRICE refuse
	unknown      claims.Kind = "unknown" // no kind, as of a cancelled context
)

// TokenRefused is the text for a token that the Linode API refuses.
const TokenRefused = "The Linode API refuses the token (401): set LINODE_TOKEN to a valid one"

// rowOf looks the error up. If the API refuses the field `type`, the plan is the reason of the refusal. A refusal of any other field says
// nothing about the plan.
func rowOf(err error, lke bool) row {
	kind := unknown
	if e, ok := errors.AsType[*claims.Error](err); ok {
		switch {
		case e.Kind == claims.KindInvalid && e.Field == claims.FieldInstanceType:
			kind = planRefused
		case e.Field == claims.FieldMaxNodes || e.Field == claims.FieldMaxHourlyPrice:
			kind = ceiling
		case e.Kind == claims.KindForbidden && linode.KindOf(err) == linode.KindUnauthorized:
			kind = tokenRefused
		case lke && unanswered(e):
			kind = overdue
		default:
			kind = e.Kind
		}
	}
	if found, known := rows[kind]; known {
		return found
	}
	return rows[unknown]
}

// unanswered returns true if the engine, and not the API, has concluded that the plan cannot be bought: LKE accepted a purchase, and no
// Linode came for longer than Linodes of the plan take. The error of a pause after nodes that did not join is different: it names the
// pause's end.
func unanswered(e *claims.Error) bool {
	_, answered := errors.AsType[*linode.Error](e)
	return e.Kind == claims.KindInsufficientCapacity && e.Field == "" && e.RetryAfter == 0 && !answered
}

// Outcome returns the label of the claim metric for the result of a claim. lke is true in LKE mode.
func Outcome(err error, lke bool) string {
	if err == nil {
		return outcomeClaimed
	}
	return rowOf(err, lke).outcome
}

// Outcomes lists what Outcome can return.
func Outcomes() []string {
	outcomes := []string{outcomeClaimed}
	for _, r := range rows {
		outcomes = append(outcomes, r.outcome)
	}
	slices.Sort(outcomes)
	return slices.Compact(outcomes)
}

// A Launch has the facts about an attempt by which Judge judges its failure.
type Launch struct {
	LKE          bool     // from an LKE pool
	TokenRefused bool     // the Linode API refuses the operator's token now
	Plan, Region string   // that were asked for
	Larger       []string // other plans with at least as much of everything
	NodePool     string   // "" = the NodeClaim has none any more
	Static       bool     // the NodePool has replicas
	NodeClass    string
	From         Source
	Attempt      Attempt
}

// A Verdict has the results of a launch's failure: the answer for core, the event, and the records of Memory.
type Verdict struct {
	Err     error  // the failure, with the plan
	GivenUp bool   // the NodeClaim gets no node; core deletes it and schedules its pods anew
	Reason  string // of the NodeClaim's condition Launched, unless it is given up
	Message string
	Event   Event // on the NodePool; zero = none

	// The records of Memory.
	cause    Cause         // of the plan's rest, "" = it does not rest
	failures pacing.Record // of the NodePool with this one; zero = it does not pause
	refusal  Refusal
	limited  bool   // a limit refuses: nothing can surge
	held     string // why the static NodePool makes no NodeClaim for a while, "" = it may
}

// An Event is an event on a NodePool.
type Event struct {
	Reason, Message string
	Values          []string      // values that distinguish the event, in addition to the NodePool
	Silence         time.Duration // an equal one is left out for so long
}

// givenUpAfter is the number of attempts after which a launch is given up whose cause only a user can correct. While a NodeClaim has no
// provider ID, core plans nothing for any pod of the cluster, and it gives the NodeClaim up only after 5 minutes. A launch with a refused
// token is not given up: no NodePool can launch anything then, and the NodeClaim shows the reason and launches as soon as the token
// works.
const givenUpAfter = 4

// launchPauses are the delays of a NodePool after an abandoned launch: none after the first in a row, a minute after each further one.
// They are short, because a user who has corrected the cause waits for the next launch.
var launchPauses = []time.Duration{0, time.Minute}

// Causes that LKE Enterprise does not report, with their remedies. (FACTS of the Linode API, section 18, row 7: LKE accepts pools over
// the account's limits or without capacity, and then nothing happens.)
const (
	silentCauses = "the region may have no capacity for the plan, or the account's limit of Linodes or vCPUs may be reached (LKE " +
		"Enterprise reports neither)"
	Silence = silentCauses + "; allow more plans, or ask Linode's support for a higher limit"
)

// hintAfter is the time after which the NodeClaim of a node that has not come names the causes that LKE does not report. Recorded Linodes
// of LKE took seconds.
const hintAfter = 2 * time.Minute

// Judge returns the verdict on a launch that failed at a given time. planRest is the time for which a plan without capacity rests. before
// counts the NodePool's launches in a row that were given up.
//
// While the node is on its way, the message has the number of attempts, so that each failure changes the NodeClaim's status. After a
// change core repeats the launch a second later. Without a change core's pauses grow to a minute, and the node would go unnoticed during
// a pause (measured: 100 slow nodes came 1.4 times as late, docs/performance.md).
func Judge(err error, l Launch, now time.Time, planRest time.Duration, before pacing.Record) Verdict {
	r := rowOf(err, l.LKE)
	v := Verdict{Err: fmt.Errorf("claiming a %s: %w", l.Plan, err)}
	if r.cause != "" {
		return v.resting(l, r.cause, planRest)
	}
	if r.outcome == outcomeProvisioning && l.TokenRefused { // the engine waits for what it cannot read
		r = rows[tokenRefused]
	}
	v.Reason, v.Message = r.reason, r.message
	if r.outcome == outcomeProvisioning {
		v.Message = fmt.Sprintf("%s (attempt %d)", r.message, l.Attempt.Number)
		if l.LKE && now.Sub(l.Attempt.Began) >= hintAfter {
			v.Message += "; it takes long: " + silentCauses
		}
	}
	if r.detail {
		v.Message = printable.Message(fmt.Sprintf("%s: %s", r.message, v.Err))
	}
	if field, proven := provenRefusal(err); proven && l.NodePool != "" {
		return v.refused(l, field, now)
	}
	if r.detail && l.Attempt.Number >= givenUpAfter {
		return v.givenUp(l, before, now)
	}
	return v
}

// resting lets the plan rest: the next NodeClaim gets another plan, if one fits. The event is published once during the rest, for any
// number of refused NodeClaims.
func (v Verdict) resting(l Launch, cause Cause, planRest time.Duration) Verdict {
	message, lasts := "", cause.rest(planRest)
	switch cause {
	case NoCapacity:
		v.Event.Reason, message = EventInsufficientCapacity, fmt.Sprintf("Linode has no capacity for %s in %s", l.Plan, l.Region)
	case Overdue:
		v.Err = fmt.Errorf("%w: LKE has accepted the purchase and made no Linode: %s", v.Err, Silence)
		v.Event.Reason, message = EventPurchaseOverdue,
			fmt.Sprintf("LKE has accepted the purchase of a %s in %s and made no Linode: %s", l.Plan, l.Region, Silence)
	case PlanRefused:
		v.Event.Reason, message = EventPlanRefused, fmt.Sprintf("Linode refuses the plan %s in %s", l.Plan, l.Region)
	case AccountLimit:
		v.limited = true
		v.Event.Reason, message = EventAccountLimit,
			fmt.Sprintf("Linode refuses one more %s because a limit of the account or of the cluster is reached: "+
				"ask Linode's support for a higher limit, or remove Linodes", l.Plan)
	case Ceiling:
		v.limited = true
		v.Event.Reason, message = EventCeilingReached,
			fmt.Sprintf("%s allows no further %s: %s", ceilingSetting(v.Err), l.Plan, ceilingReason(v.Err))
	}
	v.GivenUp, v.cause = true, cause
	plans := "this plan"
	if larger := len(l.Larger); v.limited && larger > 0 {
		plans = fmt.Sprintf("this plan or any of %d plans at least as large", larger)
	}
	v.Event.Message = fmt.Sprintf("%s; the operator does not buy %s for %s", message, plans, lasts)
	v.Event.Values, v.Event.Silence = []string{l.Plan}, lasts
	return v
}

// ceilingSetting names the setting that refused a node, by its names in the chart and in the environment.
func ceilingSetting(err error) string {
	if e, ok := errors.AsType[*claims.Error](err); ok && e.Field == claims.FieldMaxHourlyPrice {
		return "The setting settings.maxHourlyPrice (MAX_HOURLY_PRICE)"
	}
	return "The setting settings.maxNodes (MAX_NODES)"
}

// ceilingReason returns the present and the allowed figure from the engine's error, without the words around them.
func ceilingReason(err error) string {
	if e, ok := errors.AsType[*claims.Error](err); ok && e.Err != nil {
		return claims.Reason(e.Err)
	}
	return err.Error()
}

// provenRefusal returns the refused field of a launch that the API would refuse again: the API has refused the request itself, without an
// effect, and not because of the plan. Such a launch must not be repeated, because core plans nothing for any pod of the cluster
// meanwhile.
func provenRefusal(err error) (field string, proven bool) {
	e, ok := errors.AsType[*claims.Error](err)
	if !ok || e.Kind != claims.KindInvalid || e.Effect != claims.EffectNone || e.Field == claims.FieldInstanceType {
		return "", false
	}
	return e.Field, true
}

// refused records that no launch is made from the NodePool, or from its class, until a user changes the refused object.
func (v Verdict) refused(l Launch, field string, now time.Time) Verdict {
	v.refusal = Refusal{NodePool: l.From.NodePool, NodeClass: l.From.NodeClass, Field: field, Message: v.Message, Until: now.Add(RefusalLasts)}
	changed := fmt.Sprintf("the NodePool or its LinodeNodeClass %s", l.NodeClass)
	if OfClass(field) {
		v.refusal.NodePool = Version{}
		changed = fmt.Sprintf("the LinodeNodeClass %s, for which all of its NodePools wait", l.NodeClass)
	}
	v.limited = field == claims.FieldPlacementGroups
	v.Event = Event{Reason: v.Reason, Silence: RefusalLasts, Message: fmt.Sprintf(
		"Launch refused; the next launch follows when a user changes %s, or after %s: %s", changed, RefusalLasts, v.Message)}
	return v.forGood(l)
}

// givenUp pauses the NodePool, so that its next launch does not follow at once.
func (v Verdict) givenUp(l Launch, failures pacing.Record, now time.Time) Verdict {
	pause := failures.Failed(now, launchPauses)
	if l.NodePool != "" {
		v.failures = failures
	}
	v.Event = Event{Reason: v.Reason, Silence: time.Minute,
		Message: fmt.Sprintf("Launch given up; the next launch follows after %s: %s", pause, v.Message)}
	return v.forGood(l)
}

// forGood gives a NodeClaim up for a cause that every plan has. It holds a static NodePool, for which core would make the next NodeClaim
// at once.
func (v Verdict) forGood(l Launch) Verdict {
	v.GivenUp = true
	if l.Static {
		v.held = printable.Message(v.Err.Error())
	}
	return v
}

// A Cause is why a plan rests.
type Cause string

// The causes.
const (
	NoCapacity   Cause = "NoCapacity"   // the region has none left
	PlanRefused  Cause = "PlanRefused"  // LKE does not take the plan here
	AccountLimit Cause = "AccountLimit" // the account may not have more of it
	Ceiling      Cause = "Ceiling"      // it would be beyond the settings' own bound on nodes or on their price
	Overdue      Cause = "Overdue"      // LKE has accepted a purchase, and no Linode came
)

// Causes lists all causes.
func Causes() []Cause { return []Cause{AccountLimit, Ceiling, NoCapacity, Overdue, PlanRefused} }

// PlanRest is the default of Config.PlanRest.
const PlanRest = 3 * time.Minute

// rest returns how long a plan is not bought after a refusal, 0 for an unknown cause. Capacity and an account's limit change from one
// minute to the next, but the plans that LKE takes do not. A ceiling of the settings ends with the next node that goes. A plan without a
// Linode after an accepted purchase rests longer: each try costs minutes, and with a short rest two such plans would be tried in turn,
// and never a third plan.
func (c Cause) rest(planRest time.Duration) time.Duration {
	switch c {
	case NoCapacity, AccountLimit:
		return cmp.Or(planRest, PlanRest)
	case Overdue:
		return 5 * cmp.Or(planRest, PlanRest)
	case PlanRefused:
		return 30 * time.Minute
	case Ceiling:
		return time.Minute
	}
	return 0
}

// Text returns why a plan that rests cannot be bought.
func (c Cause) Text() string {
	return map[Cause]string{
		NoCapacity:   "the region has no capacity",
		PlanRefused:  "Linode refuses the plan in the region",
		AccountLimit: "a limit of the account or of the cluster is reached",
		Overdue:      "LKE has accepted a purchase and made no Linode; " + silentCauses,
		Ceiling:      "settings.maxNodes or settings.maxHourlyPrice is reached",
	}[c]
}
