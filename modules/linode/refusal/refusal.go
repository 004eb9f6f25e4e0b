// Package refusal tells what an error of the client means for the request that
// failed: what its caller can do, and whether the request had an effect.
//
// It is what is known of the Linode API's refusals, in one place. A request that
// was answered with a refusal had no effect. One without an answer, or answered with
// a failure of the API's own, may have had one. The API has one status, 400, for
// everything that it refuses, and no codes; only there, and only for a field that a
// lack of capacity or a limit can be about, are the words of a reason looked at.
package refusal

import (
	"errors"
	"slices"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
)

// Kind is what a caller can do about an error. The set is closed.
type Kind string

// The kinds of failed requests.
const (
	// InsufficientCapacity: the plan is not to be had in the region now.
	InsufficientCapacity Kind = "InsufficientCapacity"
	// QuotaExceeded: a limit of the account or of the object is reached.
	QuotaExceeded Kind = "QuotaExceeded"
	// RateLimited: the API asks for fewer requests.
	RateLimited Kind = "RateLimited"
	// Invalid: the request can never work.
	Invalid Kind = "Invalid"
	// NotFound: the API itself answered 404.
	NotFound Kind = "NotFound"
	// Forbidden: the API refuses the token or its scopes.
	Forbidden Kind = "Forbidden"
	// Unavailable: the API did not answer, or not sensibly, or the object is busy.
	Unavailable Kind = "Unavailable"
)

// Effect is what is known of the effect of a request that failed.
type Effect string

const (
	// EffectUnknown: it may or may not have happened.
	EffectUnknown Effect = ""
	// EffectNone: it did not happen.
	EffectNone Effect = "none"
	// EffectApplied: it happened, although the answer cannot be read.
	EffectApplied Effect = "applied"
)

// Verdict is what an error means.
type Verdict struct {
	Kind   Kind
	Effect Effect
	// Cause is the client's error, nil if there is none.
	Cause *linode.Error
}

var verdicts = map[linode.Kind]Verdict{
	linode.KindInvalid:      {Kind: Invalid, Effect: EffectNone},
	linode.KindUnauthorized: {Kind: Forbidden, Effect: EffectNone},
	linode.KindForbidden:    {Kind: Forbidden, Effect: EffectNone},
	linode.KindNotFound:     {Kind: NotFound, Effect: EffectNone},
	linode.KindRateLimited:  {Kind: RateLimited, Effect: EffectNone},
	linode.KindBusy:         {Kind: Unavailable, Effect: EffectNone},
	linode.KindMalformed:    {Kind: Unavailable, Effect: EffectApplied},
}

// Of returns what an error of a request means.
func Of(err error) Verdict {
	cause, ok := errors.AsType[*linode.Error](err)
	if !ok {
		return Verdict{Kind: Unavailable}
	}
	v, known := verdicts[cause.Kind]
	switch {
	case known:
	case cause.Kind == linode.KindUnavailable && cause.Method == "POST":
		// The client calls a POST that may have had its effect ambiguous.
		v = Verdict{Kind: Unavailable, Effect: EffectNone}
	default:
		v = Verdict{Kind: Unavailable}
	}
	v.Cause = cause
	return v
}

// Reasons are those of a 400, the only status whose words are worth a look; none
// for any other answer.
func (v Verdict) Reasons() []linode.Reason {
	if v.Cause == nil || v.Cause.Status != 400 || v.Cause.Kind != linode.KindInvalid {
		return nil
	}
	return v.Cause.Reasons
}

// "Account Limit reached. Please open a support ticket." was reported; the words
// for a lack of capacity are not known, so several likely ones are listed.
var (
	quotaWords    = []string{"account limit", "limit reached", "limited to", "quota", "exceeds the limit", "support ticket"}
	capacityWords = []string{"capacity", "not available in", "unavailable in", "sold out", "out of stock", "insufficient",
		"no available hosts"}
)

// Shortage returns QuotaExceeded or InsufficientCapacity for a reason about one of
// the fields whose words are of that, and "" for any other. The field "" is that
// of a reason about none.
func Shortage(reason linode.Reason, fields ...string) Kind {
	switch {
	case !slices.Contains(fields, reason.Field):
	case Mentions(reason, quotaWords...):
		return QuotaExceeded
	case Mentions(reason, capacityWords...):
		return InsufficientCapacity
	}
	return ""
}

// Mentions reports whether a reason contains one of the words, which are in lower case.
func Mentions(reason linode.Reason, words ...string) bool {
	text := strings.ToLower(reason.Reason)
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
}
