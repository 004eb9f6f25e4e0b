package instances

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Kind is what a caller can do about an error. The set is closed, and has the
// words of package lkepool.
type Kind string

const (
	// KindProvisioning: it goes on; ask again soon. The text has what is waited for.
	KindProvisioning Kind = "Provisioning"
	// KindInsufficientCapacity: this plan is not to be had here now; try another.
	KindInsufficientCapacity Kind = "InsufficientCapacity"
	// KindQuotaExceeded: a limit of the account, of a placement group or of
	// Config.MaxInstances is reached.
	KindQuotaExceeded Kind = "QuotaExceeded"
	// KindRateLimited: the API asks for fewer requests; see RetryAfter.
	KindRateLimited Kind = "RateLimited"
	// KindInvalid: the request can never work; Field names the reason.
	KindInvalid Kind = "Invalid"
	// KindNotFound: proven by 404s for this very instance, and by nothing else.
	KindNotFound Kind = "NotFound"
	// KindConflict: the instance or its label is not the claimant's.
	KindConflict Kind = "Conflict"
	// KindForbidden: the API refuses the token or its scopes.
	KindForbidden Kind = "Forbidden"
	// KindUnavailable: the API did not answer, or not sensibly.
	KindUnavailable Kind = "Unavailable"
)

// Effect is what is known of the effect of a request that failed.
type Effect string

const (
	// EffectUnknown: it may or may not have happened; only reading shows it.
	EffectUnknown Effect = ""
	// EffectNone: it did not happen.
	EffectNone Effect = "none"
	// EffectApplied: it happened, although the answer is an error or unreadable.
	EffectApplied Effect = "applied"
)

// Error is the only error type of this module.
type Error struct {
	Kind Kind
	// Op is what was being done, for example "create".
	Op string
	// InstanceID is the instance concerned, 0 if there is none.
	InstanceID int
	// Field names what was at fault, for example "Spec.Image".
	Field string
	// RetryAfter is how long to wait at least, 0 if that is not known.
	RetryAfter time.Duration
	// Effect is what is known of the request's effect on the platform.
	Effect Effect
	// Err is the cause.
	Err error
}

func (e *Error) Error() string {
	var text strings.Builder
	text.WriteString(e.Op)
	if e.InstanceID != 0 {
		fmt.Fprintf(&text, " (instance %d)", e.InstanceID)
	}
	fmt.Fprintf(&text, ": %s", e.Kind)
	if e.Field != "" {
		fmt.Fprintf(&text, " %s", e.Field)
	}
	if e.Err != nil {
		fmt.Fprintf(&text, ": %v", e.Err)
	}
	return text.String()
}

func (e *Error) Unwrap() error { return e.Err }

// ErrLabelTaken is the cause of a Backend's KindConflict when an instance of
// this label exists already.
var ErrLabelTaken = errors.New("the label is taken")

// KindOf returns the kind of err, KindUnavailable for an error that is not of
// this module, and "" for nil.
func KindOf(err error) Kind {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return KindUnavailable
}

func fail(kind Kind, op string, id int, format string, args ...any) *Error {
	return &Error{Kind: kind, Op: op, InstanceID: id, Effect: EffectNone, Err: fmt.Errorf(format, args...)}
}

func invalid(op, field, format string, args ...any) *Error {
	return &Error{Kind: KindInvalid, Op: op, Field: field, Effect: EffectNone, Err: fmt.Errorf(format, args...)}
}

// effectOf returns what is known of a failed write's effect.
func effectOf(err error) Effect {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Effect
	}
	return EffectUnknown
}

// retryAfter is the pause that the platform asked for.
func retryAfter(err error) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.RetryAfter
	}
	return 0
}
