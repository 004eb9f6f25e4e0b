package linode

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Kind classifies an error by what its caller can do. The set is closed: every error of this package has one of these kinds.
type Kind string

const (
	// KindInvalid: the request can never work without a change; Reasons name the field. The client uses this kind, too, for
	// a mistake that it finds before it sends anything (Status 0), such as an ID below 1.
	KindInvalid Kind = "Invalid"
	// KindUnauthorized: the API refused the token, or the token source had no token.
	KindUnauthorized Kind = "Unauthorized"
	// KindForbidden: the token lacks a scope, or its user a right.
	KindForbidden Kind = "Forbidden"
	// KindNotFound: the API itself answered 404, with its own error body. A proxy's 404 and an unreachable API have other
	// kinds.
	KindNotFound Kind = "NotFound"
	// KindRateLimited has two cases. The API answered 429 to the last of five attempts, or it requires a pause that is longer
	// than 90 s or than the context. Or the client's own limiter had no room before the context's deadline; then the last
	// attempt was not sent (Status 0).
	KindRateLimited Kind = "RateLimited"
	// KindBusy: another job runs on the object, and it did not end within the retries.
	KindBusy Kind = "Busy"
	// KindUnavailable: the API could not be reached or failed (5xx, maintenance, a proxy's own answer). A POST of this
	// kind had no effect. A PUT or DELETE of this kind may have had its effect, or may have it later.
	KindUnavailable Kind = "Unavailable"
	// KindAmbiguous: a POST was sent, and nothing proves whether it had its effect. The client did not repeat it. The
	// caller must look for the effect before it sends the POST again.
	KindAmbiguous Kind = "Ambiguous"
	// KindMalformed: the API answered success with a body that does not match the API's description.
	KindMalformed Kind = "Malformed"
	// KindCanceled: the caller's context ended first. errors.Is finds context.Canceled or context.DeadlineExceeded.
	// The request may have been sent. A POST that may have been sent has KindAmbiguous instead.
	KindCanceled Kind = "Canceled"
	// KindNotSent: the time of SendBefore passed before the request could be sent. The request had no effect.
	KindNotSent Kind = "NotSent"
	// KindUnknown: none of the above.
	KindUnknown Kind = "Unknown"
)

// Error is the one type of error that methods of Client return. Its text never holds the token.
type Error struct {
	Kind   Kind
	Status int    // HTTP status; 0 when there was no answer
	Method string // HTTP method
	Route  string // path template without the version, such as /lke/clusters/{clusterId}
	// Reasons are the API's reasons, in its words and order. With Status 0 they are the client's, such as an ID below 1.
	// They may be empty.
	Reasons []Reason
	// RetryAfter is the pause before the next attempt, which the API or the client's own limiter requires. It is 0 when
	// neither does; KindRateLimited always has one.
	RetryAfter time.Duration
	// MayHaveEffect reports that an earlier attempt of a DELETE may have had its effect, whatever Kind is: Kind and Status
	// are of the last attempt. Example: the connection is lost, and the next attempt is answered 429.
	MayHaveEffect bool
	// Err is the cause when there is one besides the API's reasons.
	Err error
}

// Reason is one reason of a refusal.
type Reason struct {
	Field  string // path of the field at fault, such as tags[0]; empty when the reason names no field
	Reason string // text for people; do not branch on it
}

// Error is method, route, kind, status and reasons on one line.
func (e *Error) Error() string { return e.text(": " + string(e.Kind)) }

// Detail is Error without the kind, for the text of an outer error that has its own kind.
func (e *Error) Detail() string { return e.text("") }

func (e *Error) text(kind string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "linode: %s %s%s", e.Method, e.Route, kind)
	if e.Status != 0 {
		fmt.Fprintf(&b, " (status %d)", e.Status)
	}
	for i, reason := range e.Reasons {
		separator := "; "
		if i == 0 {
			separator = ": "
		}
		b.WriteString(separator)
		if reason.Field != "" {
			fmt.Fprintf(&b, "[%s] ", reason.Field)
		}
		b.WriteString(reason.Reason)
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the first *Error in err's chain, "" for nil, and KindUnknown for any other error.
func KindOf(err error) Kind {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return KindUnknown
}
