// Package refusal maps errors of the API client to the kinds and effects of package
// claims.
//
// It contains the established facts about refusals of the Linode API, in one place. A
// request that the API refused had no effect. A request without an answer, or with a
// failure of the API as its answer, may have had its effect. The API refuses everything
// with one status, 400, and without codes. Therefore the text of a reason is searched,
// but only in a 400, and only for a field that a lack of capacity or a limit can
// concern.
//
// Example: POST of a pool is answered 400 with field "type" and words about capacity:
// KindInsufficientCapacity, EffectNone. The same request without an answer:
// KindUnavailable, EffectUnknown. Callers are the backends of the engines, package
// reboot of the operator, and the experiments of module lkeprobe. All functions are
// pure.
package refusal

import (
	"errors"
	"slices"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
)

// Verdict classifies an error of a request.
type Verdict struct {
	Kind   claims.Kind
	Effect claims.Effect
	// Cause is the client's error, nil for an error of another origin.
	Cause *linode.Error
}

var verdicts = map[linode.Kind]Verdict{
	linode.KindInvalid:      {Kind: claims.KindInvalid, Effect: claims.EffectNone},
	linode.KindUnauthorized: {Kind: claims.KindForbidden, Effect: claims.EffectNone},
	linode.KindForbidden:    {Kind: claims.KindForbidden, Effect: claims.EffectNone},
	linode.KindNotFound:     {Kind: claims.KindNotFound, Effect: claims.EffectNone},
	linode.KindRateLimited:  {Kind: claims.KindRateLimited, Effect: claims.EffectNone},
	linode.KindNotSent:      {Kind: claims.KindRateLimited, Effect: claims.EffectNone},
	linode.KindBusy:         {Kind: claims.KindUnavailable, Effect: claims.EffectNone},
	linode.KindMalformed:    {Kind: claims.KindUnavailable, Effect: claims.EffectApplied},
}

// Of classifies an error of a request.
func Of(err error) Verdict {
	cause, ok := errors.AsType[*linode.Error](err)
	if !ok {
		return Verdict{Kind: claims.KindUnavailable}
	}
	v, known := verdicts[cause.Kind]
	switch {
	case known:
	case cause.Kind == linode.KindUnavailable && cause.Method == "POST":
		// The client gives KindAmbiguous to a POST that may have had its effect.
		v = Verdict{Kind: claims.KindUnavailable, Effect: claims.EffectNone}
	default:
		v = Verdict{Kind: claims.KindUnavailable}
	}
	if v.Cause = cause; cause.MayHaveEffect && v.Effect == claims.EffectNone {
		v.Effect = claims.EffectUnknown
	}
	return v
}

// Error returns the error of a request for callers of an engine. Its Field is the field
// of the API's first reason. object is "" for a request that concerns no object.
func Error(op, object string, err error) *claims.Error {
	v := Of(err)
	e := &claims.Error{Kind: v.Kind, Op: op, Object: object, Effect: v.Effect, Err: err}
	if v.Cause == nil {
		return e
	}
	e.RetryAfter, e.Err = v.Cause.RetryAfter, answer{cause: v.Cause}
	if e.Kind == claims.KindInvalid && len(v.Cause.Reasons) > 0 {
		e.Field = v.Cause.Reasons[0].Field
	}
	return e
}

// answer prints an error of the client without its kind: the error around it has one.
type answer struct{ cause *linode.Error }

func (a answer) Error() string { return a.cause.Detail() }
func (a answer) Unwrap() error { return a.cause }

// Reasons returns the reasons of a 400, and nil for any other status: only the texts of
// a 400 distinguish refusals.
func (v Verdict) Reasons() []linode.Reason {
	if v.Cause == nil || v.Cause.Status != 400 || v.Cause.Kind != linode.KindInvalid {
		return nil
	}
	return v.Cause.Reasons
}

// "Account Limit reached. Please open a support ticket." was reported; the texts for
// a lack of capacity are unknown, so several likely phrases are listed.
var (
	quotaWords    = []string{"account limit", "limit reached", "limited to", "quota", "exceeds the limit", "support ticket"}
	capacityWords = []string{"capacity", "not available in", "unavailable in", "sold out", "out of stock", "insufficient",
		"no available hosts"}
)

// Shortage returns KindQuotaExceeded or KindInsufficientCapacity if a reason is about
// one of the fields and its text mentions a quota or a lack of capacity. It returns ""
// for any other reason. The field "" matches a reason without a field.
func Shortage(reason linode.Reason, fields ...string) claims.Kind {
	switch {
	case !slices.Contains(fields, reason.Field):
	case Mentions(reason, quotaWords...):
		return claims.KindQuotaExceeded
	case Mentions(reason, capacityWords...):
		return claims.KindInsufficientCapacity
	}
	return ""
}

// Mentions reports whether a reason contains one of the words, given in lower case.
func Mentions(reason linode.Reason, words ...string) bool {
	text := strings.ToLower(reason.Reason)
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
}
