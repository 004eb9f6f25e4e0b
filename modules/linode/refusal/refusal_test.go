package refusal_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/refusal"
)

func TestEachKindOfTheClientHasAKindAndAnEffect(t *testing.T) {
	for _, c := range []struct {
		kind   linode.Kind
		method string
		want   refusal.Kind
		effect refusal.Effect
	}{
		{linode.KindInvalid, "POST", refusal.Invalid, refusal.EffectNone},
		{linode.KindUnauthorized, "GET", refusal.Forbidden, refusal.EffectNone},
		{linode.KindForbidden, "PUT", refusal.Forbidden, refusal.EffectNone},
		{linode.KindNotFound, "GET", refusal.NotFound, refusal.EffectNone},
		{linode.KindRateLimited, "POST", refusal.RateLimited, refusal.EffectNone},
		{linode.KindBusy, "PUT", refusal.Unavailable, refusal.EffectNone},
		{linode.KindMalformed, "POST", refusal.Unavailable, refusal.EffectApplied},
		{linode.KindAmbiguous, "POST", refusal.Unavailable, refusal.EffectUnknown},
		{linode.KindUnavailable, "POST", refusal.Unavailable, refusal.EffectNone},
		{linode.KindUnavailable, "PUT", refusal.Unavailable, refusal.EffectUnknown},
		{linode.KindCanceled, "DELETE", refusal.Unavailable, refusal.EffectUnknown},
		{linode.KindUnknown, "PUT", refusal.Unavailable, refusal.EffectUnknown},
	} {
		err := fmt.Errorf("wrapped: %w", &linode.Error{Kind: c.kind, Method: c.method})
		if v := refusal.Of(err); v.Kind != c.want || v.Effect != c.effect || v.Cause == nil {
			t.Errorf("%s of a %s: %+v", c.kind, c.method, v)
		}
	}
	if v := refusal.Of(errors.New("boom")); v != (refusal.Verdict{Kind: refusal.Unavailable}) {
		t.Errorf("an error that is not the client's: %+v", v)
	}
}

func TestOnlyTheReasonsOfA400AreForWords(t *testing.T) {
	reasons := []linode.Reason{{Reason: "account limit"}}
	for _, c := range []struct {
		kind   linode.Kind
		status int
		want   int
	}{
		{linode.KindInvalid, 400, 1},
		{linode.KindBusy, 400, 0},
		{linode.KindInvalid, 422, 0},
		{linode.KindForbidden, 403, 0},
		{linode.KindUnavailable, 503, 0},
	} {
		v := refusal.Of(&linode.Error{Kind: c.kind, Status: c.status, Reasons: reasons})
		if got := v.Reasons(); len(got) != c.want {
			t.Errorf("%s with status %d: %v", c.kind, c.status, got)
		}
	}
}

func TestShortage(t *testing.T) {
	for _, c := range []struct {
		field, reason string
		want          refusal.Kind
	}{
		{"", "Account Limit reached. Please open a support ticket.", refusal.QuotaExceeded},
		{"count", "limited to 20 nodes", refusal.QuotaExceeded},
		{"", "There is no capacity in this region", refusal.InsufficientCapacity},
		{"type", "g6-standard-2 is not available in us-ord", refusal.InsufficientCapacity},
		{"type", "type is not valid", ""},
		{"labels", "labels are limited to 20", ""},
		{"tags", "quota of tags: limit reached", ""},
		{"taints[0].key", "insufficient", ""},
	} {
		if got := refusal.Shortage(linode.Reason{Field: c.field, Reason: c.reason}, "", "type", "count"); got != c.want {
			t.Errorf("%s: %q: %q", c.field, c.reason, got)
		}
	}
}
