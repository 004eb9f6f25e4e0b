package callers

import (
	"errors"
	"fmt"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// A late error is the error of a caller whose context ended: what was not done,
// and why, if that is known.
type late struct {
	what       string
	why, cause error
}

func (e late) Error() string {
	if e.why == nil {
		return fmt.Sprintf("%s: %v", e.what, e.cause)
	}
	return fmt.Sprintf("%s: %s (%v)", e.what, claims.Reason(e.why), e.cause)
}

func (e late) Unwrap() []error {
	if e.why == nil {
		return []error{e.cause}
	}
	return []error{e.why, e.cause}
}

// AsError names the call in an error, and passes on the kind of its cause.
func AsError(op string, err error) error {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*claims.Error](err)
	if !ok {
		return &claims.Error{Kind: claims.KindUnavailable, Op: op, Err: err}
	}
	if e.Op == op {
		return e
	}
	return &claims.Error{Kind: e.Kind, Op: op, Object: e.Object, Field: e.Field, RetryAfter: e.RetryAfter, Effect: e.Effect, Err: e.Err}
}

// overdue returns the error of a caller whose context ended. why is the failure that
// keeps the engine from reading or writing; the error has its kind.
func overdue(op, what string, why, cause error) *claims.Error {
	e := &claims.Error{Kind: claims.KindProvisioning, Op: op}
	if why != nil {
		e.Kind, e.RetryAfter = claims.KindOf(why), claims.RetryAfterOf(why)
	}
	e.Err = late{what, why, cause}
	return e
}
