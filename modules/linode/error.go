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
	// KindInvalid: the request can never work as it is; Reasons name the field. Also a mistake found before anything
	// was sent (Status 0), such as an ID below 1.
	KindInvalid Kind = "Invalid"
	// KindUnauthorized: the API refused the token, or there was none to send.
	KindUnauthorized Kind = "Unauthorized"
	// KindForbidden: the token lacks a scope, or its user a right.
	KindForbidden Kind = "Forbidden"
	// KindNotFound: the API itself answered so, with 404 and its own error body. Nothing else has this kind: not a proxy's
	// 404, not an unreachable API.
	KindNotFound Kind = "NotFound"
	// KindRateLimited: 429, and waiting it out would have taken too many attempts or longer than the context lasts; or
	// nothing was sent (Status 0), because the client's own limiter has no room before the context's deadline.
	KindRateLimited Kind = "RateLimited"
	// KindBusy: another job runs on the object, and it did not end within the retries.
	KindBusy Kind = "Busy"
	// KindUnavailable: the API could not be reached or failed (5xx, maintenance, a proxy's own answer). A change that
	// ends so was a PUT or a DELETE and may have had its effect, or may have it later.
	KindUnavailable Kind = "Unavailable"
	// KindAmbiguous: a POST was sent and nothing proves whether it had its effect. It was not repeated, and must not be
	// before the effect was looked up.
	KindAmbiguous Kind = "Ambiguous"
	// KindMalformed: the API answered success with something that is not what the description promises.
	KindMalformed Kind = "Malformed"
	// KindCanceled: the caller's context ended first. errors.Is finds context.Canceled or context.DeadlineExceeded.
	// The request may have been sent. A POST that may have been sent has KindAmbiguous instead.
	KindCanceled Kind = "Canceled"
	// KindNotSent: the time of SendBefore had passed when the request could be sent. It had no effect.
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
	// Reasons are the API's own, in its words and order. Empty when the API gave none.
	Reasons []Reason
	// RetryAfter is the pause before the next attempt, from the API's answer; 0 when it has none.
	RetryAfter time.Duration
	// Err is the cause when there is one besides the API's reasons.
	Err error
}

// Reason is one reason of a refusal.
type Reason struct {
	Field  string // path of the field at fault, such as tags[0]; empty when the reason is about none
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
