package claims_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

func TestTheTextOfAnErrorHasOneKind(t *testing.T) {
	refused := &claims.Error{
		Kind: claims.KindConflict, Op: "delete pool", Object: claims.Object("pool", 7), Err: errors.New("the last node pool"),
	}
	around := &claims.Error{Kind: claims.KindUnavailable, Op: "collect", Err: refused}
	for want, err := range map[string]error{
		"delete pool (pool 7): Conflict: the last node pool":             refused,
		"collect: Unavailable: delete pool (pool 7): the last node pool": around,
		"configure: Invalid Config.MaxNodes: -1 is negative":             claims.Invalid("configure", "Config.MaxNodes", "%d is negative", -1),
		"get (instance 9): NotFound: it does not exist": claims.Errorf(claims.KindNotFound, "get", claims.Object("instance", 9),
			"it does not exist"),
		"list: Unavailable": &claims.Error{Kind: claims.KindUnavailable, Op: "list", Object: claims.Object("pool", 0)},
	} {
		if err.Error() != want {
			t.Errorf("got  %s\nwant %s", err, want)
		}
	}
	if got, want := claims.Reason(refused), "delete pool (pool 7): the last node pool"; got != want {
		t.Errorf("the reason is %q, want %q", got, want)
	}
	if got := claims.Reason(context.Canceled); got != context.Canceled.Error() {
		t.Errorf("the reason of another error is %q", got)
	}
	if !errors.Is(around, error(refused)) {
		t.Error("the cause is lost")
	}
}

func TestADurationBelowZeroIsInvalid(t *testing.T) {
	if err := claims.CheckDurations("configure", map[string]time.Duration{"Config.A": 0, "Config.B": time.Second}); err != nil {
		t.Errorf("0 and a second: %v", err)
	}
	err := claims.CheckDurations("configure", map[string]time.Duration{"Config.C": -1, "Config.B": -time.Second, "Config.A": 1})
	const want = "configure: Invalid Config.B: -1s is negative; durations must be 0 (the default) or positive"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// An error of another origin may be repeated after a read, and nothing more is
// concluded from it.
func TestKindEffectAndPauseOfAnyError(t *testing.T) {
	limited := &claims.Error{Kind: claims.KindRateLimited, Effect: claims.EffectNone, RetryAfter: time.Second}
	for _, c := range []struct {
		what   string
		err    error
		kind   claims.Kind
		effect claims.Effect
		after  time.Duration
	}{
		{"nil", nil, "", claims.EffectUnknown, 0},
		{"an error", limited, claims.KindRateLimited, claims.EffectNone, time.Second},
		{"a wrapped one", fmt.Errorf("claiming: %w", limited), claims.KindRateLimited, claims.EffectNone, time.Second},
		{"the outermost of two", &claims.Error{Kind: claims.KindConflict, Err: limited}, claims.KindConflict, claims.EffectUnknown, 0},
		{"another one", context.Canceled, claims.KindUnavailable, claims.EffectUnknown, 0},
		{"a constructed one", claims.Invalid("claim", "Key", "is empty"), claims.KindInvalid, claims.EffectNone, 0},
	} {
		if got := claims.KindOf(c.err); got != c.kind {
			t.Errorf("%s: kind %q, want %q", c.what, got, c.kind)
		}
		if got := claims.EffectOf(c.err); got != c.effect {
			t.Errorf("%s: effect %q, want %q", c.what, got, c.effect)
		}
		if got := claims.RetryAfterOf(c.err); got != c.after {
			t.Errorf("%s: retry after %s, want %s", c.what, got, c.after)
		}
	}
}
