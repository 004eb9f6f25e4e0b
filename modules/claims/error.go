package claims

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind classifies an error by what its caller can do. The set is closed.
type Kind string

const (
	// KindProvisioning means that capacity is on its way: repeat the call soon.
	KindProvisioning Kind = "Provisioning"
	// KindInsufficientCapacity means that the instance type is not available in the
	// region now: use another one.
	KindInsufficientCapacity Kind = "InsufficientCapacity"
	// KindQuotaExceeded means that a limit is reached: of the account, of an object
	// of the API, or of [Ceilings], which Error.Field names.
	KindQuotaExceeded Kind = "QuotaExceeded"
	// KindRateLimited means that the API requires fewer requests; see Error.RetryAfter.
	KindRateLimited Kind = "RateLimited"
	// KindInvalid means that the request can never succeed; Error.Field names the reason.
	KindInvalid Kind = "Invalid"
	// KindNotFound means that the object does not exist. An engine returns it only on
	// proof, which its documentation defines; a backend only for a 404 of this object.
	KindNotFound Kind = "NotFound"
	// KindConflict means that the object is not the claimant's or not the engine's, or
	// is in a state that only a person can resolve.
	KindConflict Kind = "Conflict"
	// KindForbidden means that the API refuses the token or its scopes.
	KindForbidden Kind = "Forbidden"
	// KindUnavailable means that the API returned no usable answer.
	KindUnavailable Kind = "Unavailable"
)

// Effect classifies how a failed request changed the platform.
type Effect string

const (
	// EffectUnknown requests may have had their effect; only a read shows it.
	EffectUnknown Effect = ""
	// EffectNone requests changed nothing.
	EffectNone Effect = "none"
	// EffectApplied requests had their effect, although the answer is an error or
	// cannot be read.
	EffectApplied Effect = "applied"
)

// Values of Error.Field on which callers branch.
const (
	// FieldMaxNodes and FieldMaxHourlyPrice name the ceiling that refused a node.
	FieldMaxNodes       = "Config.MaxNodes"
	FieldMaxHourlyPrice = "Config.MaxHourlyPrice"
	// FieldInstanceType names the instance type of a request that the API refused.
	FieldInstanceType = "type"
	// FieldPlacementGroups names the placement groups of a class, all of which are full.
	FieldPlacementGroups = "spec.placementGroups"
)

// Error is the error type of all engines and their backends.
type Error struct {
	Kind Kind
	// Op names the call or request that failed, for example "claim" or "scale pool".
	Op string
	// Object names the object concerned, for example "pool 12", "" for none. See [Object].
	Object string
	// Field names the value at fault, for example "Key.InstanceType".
	Field string
	// RetryAfter is the shortest useful pause, 0 if it is not known.
	RetryAfter time.Duration
	// Effect reports how the request changed the platform.
	Effect Effect
	// Err is the cause.
	Err error
}

// Error describes the failure with one kind, the kind of e. It leaves out the kinds of
// causes: with two kinds in a line a reader cannot see which one counts.
func (e *Error) Error() string { return e.text(": " + string(e.Kind)) }

// text puts a text between the operation and the cause.
func (e *Error) text(between string) string {
	var text strings.Builder
	text.WriteString(e.Op)
	if e.Object != "" {
		fmt.Fprintf(&text, " (%s)", e.Object)
	}
	text.WriteString(between)
	if e.Field != "" {
		fmt.Fprintf(&text, " %s", e.Field)
	}
	if e.Err != nil {
		fmt.Fprintf(&text, ": %s", Reason(e.Err))
	}
	return text.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Reason returns the text of an error for use in the text of another error. The text of an
// *Error is then without its kind.
func Reason(err error) string {
	if e, ok := err.(*Error); ok { //nolint:errorlint // the error itself, whose text this is
		return e.text("")
	}
	return err.Error()
}

// KindOf returns the kind of the outermost *Error in err's chain, KindUnavailable
// if the chain has no *Error, and "" for nil.
func KindOf(err error) Kind {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return KindUnavailable
}

// EffectOf returns the effect in the outermost *Error in err's chain, EffectUnknown
// if the chain has no *Error.
func EffectOf(err error) Effect {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Effect
	}
	return EffectUnknown
}

// RetryAfterOf returns the pause in the outermost *Error in err's chain, 0 if the
// chain has no *Error.
func RetryAfterOf(err error) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.RetryAfter
	}
	return 0
}

// Errorf returns an error without an effect on the platform. object is "" for none.
func Errorf(kind Kind, op, object, format string, args ...any) *Error {
	return &Error{Kind: kind, Op: op, Object: object, Effect: EffectNone, Err: fmt.Errorf(format, args...)}
}

// Invalid returns the KindInvalid error of a value that can never work.
func Invalid(op, field, format string, args ...any) *Error {
	return &Error{Kind: KindInvalid, Op: op, Field: field, Effect: EffectNone, Err: fmt.Errorf(format, args...)}
}

// CheckDurations returns a KindInvalid error if a duration is negative. Of several negative durations the error names the field that comes
// first in the alphabet. Fields have the names of settings, such as "Config.ListLag".
func CheckDurations(op string, durations map[string]time.Duration) error {
	for _, field := range slices.Sorted(maps.Keys(durations)) {
		if value := durations[field]; value < 0 {
			return Invalid(op, field, "%s is negative; durations must be 0 (the default) or positive", value)
		}
	}
	return nil
}

// Object returns the value of Error.Object for an object of a type, for example
// "instance 7", and "" for the ID 0.
func Object(objectType string, id int) string {
	if id == 0 {
		return ""
	}
	return objectType + " " + strconv.Itoa(id)
}
