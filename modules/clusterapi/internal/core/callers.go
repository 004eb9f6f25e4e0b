package core

import (
	"fmt"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// call is one call that waits.
type call struct {
	token int
	ask   Ask
	// after is the number of the newest reading that had begun when the call came. Only a later reading serves the call.
	after int
	// why has the reason for which the call waits.
	why error
}

func (k Kind) String() string {
	return [...]string{"claim", "release", "read"}[k]
}

// pending is the error of a call whose context ended.
func (c *call) pending(cause error) error {
	if c.why != nil {
		return c.why
	}
	return claims.Errorf(claims.KindProvisioning, c.ask.Kind.String(), "", "no reading of the management cluster has ended yet: %w", cause)
}

// waits notes what a call waits for.
func (c *call) waits(object, format string, args ...any) {
	c.why = &claims.Error{Kind: claims.KindProvisioning, Op: c.ask.Kind.String(), Object: object, Effect: claims.EffectApplied,
		Err: fmt.Errorf(format, args...)}
}

// named returns an error of a request as an error of the call.
func (c *call) named(err error) error {
	return &claims.Error{Kind: claims.KindOf(err), Op: c.ask.Kind.String(), Effect: claims.EffectOf(err),
		RetryAfter: claims.RetryAfterOf(err), Err: err}
}
