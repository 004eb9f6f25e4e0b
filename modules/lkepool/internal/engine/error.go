package engine

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Kind is what a caller can do about an error. The set is closed.
type Kind string

const (
	// KindProvisioning: capacity is on its way; ask again soon.
	KindProvisioning Kind = "Provisioning"
	// KindInsufficientCapacity: this instance type is not to be had in this
	// region now; try another one.
	KindInsufficientCapacity Kind = "InsufficientCapacity"
	// KindQuotaExceeded: a limit of the account or of the cluster is reached.
	KindQuotaExceeded Kind = "QuotaExceeded"
	// KindRateLimited: the API asks for fewer requests; see RetryAfter.
	KindRateLimited Kind = "RateLimited"
	// KindInvalid: the request can never work; Field names the reason.
	KindInvalid Kind = "Invalid"
	// KindNotFound: proven by a 404 for this very instance, and by nothing else.
	KindNotFound Kind = "NotFound"
	// KindConflict: the cluster is in a state that only a person can resolve,
	// or the instance is not one of ours.
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
	// Op is what was being done, for example "claim" or "scale pool".
	Op string
	// PoolID is the pool concerned, 0 if there is none.
	PoolID int
	// Field names what was invalid, for example "Key.InstanceType".
	Field string
	// RetryAfter is how long to wait at least, 0 if not known.
	RetryAfter time.Duration
	// Effect is what is known of the request's effect on the platform.
	Effect Effect
	// Err is the cause.
	Err error
}

// Error has one kind in it, that of the error itself: those of its causes are
// for programs, and two of them in a line leave a reader to guess which counts.
func (e *Error) Error() string { return e.text(fmt.Sprintf(": %s", e.Kind)) }

// text describes the error, with what stands between what was done and why it failed.
func (e *Error) text(between string) string {
	var text strings.Builder
	text.WriteString(e.Op)
	if e.PoolID != 0 {
		fmt.Fprintf(&text, " (pool %d)", e.PoolID)
	}
	text.WriteString(between)
	if e.Field != "" {
		fmt.Fprintf(&text, " %s", e.Field)
	}
	if e.Err != nil {
		fmt.Fprintf(&text, ": %s", withoutKind(e.Err))
	}
	return text.String()
}

// withoutKind is the text of a cause.
func withoutKind(err error) string {
	if e, ok := err.(*Error); ok { //nolint:errorlint // the error itself, whose text this is
		return e.text("")
	}
	return err.Error()
}

// A late error is that of a caller whose context ended: what was not done, and
// why, if that is known.
type late struct {
	what       string
	why, cause error
}

func (e late) Error() string {
	if e.why == nil {
		return fmt.Sprintf("%s: %v", e.what, e.cause)
	}
	return fmt.Sprintf("%s: %s (%v)", e.what, withoutKind(e.why), e.cause)
}

func (e late) Unwrap() []error {
	if e.why == nil {
		return []error{e.cause}
	}
	return []error{e.why, e.cause}
}

func (e *Error) Unwrap() error { return e.Err }

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

// Invalid is the error of a value that can never work.
func Invalid(op, field, format string, args ...any) *Error {
	return &Error{Kind: KindInvalid, Op: op, Field: field, Err: fmt.Errorf(format, args...)}
}

// effectOf returns what is known of a failed write's effect.
func effectOf(err error) Effect {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Effect
	}
	return EffectUnknown
}

// lasting reports whether the reason of an error does not end by waiting, so
// that is returned to a claimant at once.
func lasting(err error) bool {
	switch KindOf(err) {
	case KindInvalid, KindForbidden, KindConflict, KindInsufficientCapacity, KindQuotaExceeded:
		return true
	}
	return false
}

// retryAfter is the pause that the platform asked for.
func retryAfter(err error) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.RetryAfter
	}
	return 0
}
