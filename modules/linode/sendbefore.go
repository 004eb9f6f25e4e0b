package linode

import (
	"context"
	"errors"
	"time"
)

type sendBeforeKey struct{}

var errExpired = errors.New("the time until which the request could be sent passed while it waited")

// SendBefore returns a context for calls whose requests may be sent until the given time, also after waits for the rate
// limit or a 429. A call that is not sent by then ends with KindNotSent. A request that was sent may take longer. The
// time does not bound the further attempts of a GET or DELETE whose earlier attempt may have had its effect.
func SendBefore(ctx context.Context, before time.Time) context.Context {
	return context.WithValue(ctx, sendBeforeKey{}, before)
}
