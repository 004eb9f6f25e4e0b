package refusal_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/refusal"
)

func TestEachKindOfTheClientHasAKindAndAnEffect(t *testing.T) {
	for _, c := range []struct {
		kind   linode.Kind
		method string
		want   claims.Kind
		effect claims.Effect
	}{
		{linode.KindInvalid, "POST", claims.KindInvalid, claims.EffectNone},
		{linode.KindUnauthorized, "GET", claims.KindForbidden, claims.EffectNone},
		{linode.KindForbidden, "PUT", claims.KindForbidden, claims.EffectNone},
		{linode.KindNotFound, "GET", claims.KindNotFound, claims.EffectNone},
		{linode.KindRateLimited, "POST", claims.KindRateLimited, claims.EffectNone},
		{linode.KindBusy, "PUT", claims.KindUnavailable, claims.EffectNone},
		{linode.KindMalformed, "POST", claims.KindUnavailable, claims.EffectApplied},
		{linode.KindAmbiguous, "POST", claims.KindUnavailable, claims.EffectUnknown},
		{linode.KindUnavailable, "POST", claims.KindUnavailable, claims.EffectNone},
		{linode.KindUnavailable, "PUT", claims.KindUnavailable, claims.EffectUnknown},
		{linode.KindNotSent, "PUT", claims.KindRateLimited, claims.EffectNone},
		{linode.KindCanceled, "DELETE", claims.KindUnavailable, claims.EffectUnknown},
		{linode.KindUnknown, "PUT", claims.KindUnavailable, claims.EffectUnknown},
	} {
		err := fmt.Errorf("wrapped: %w", &linode.Error{Kind: c.kind, Method: c.method})
		if v := refusal.Of(err); v.Kind != c.want || v.Effect != c.effect || v.Cause == nil {
			t.Errorf("%s of a %s: %+v", c.kind, c.method, v)
		}
	}
	lost := &linode.Error{Kind: linode.KindRateLimited, Method: "DELETE", Status: 429, MayHaveEffect: true}
	if v := refusal.Of(lost); v.Kind != claims.KindRateLimited || v.Effect != claims.EffectUnknown {
		t.Errorf("a DELETE that is throttled after a lost attempt: %+v", v)
	}
	if v := refusal.Of(errors.New("boom")); v != (refusal.Verdict{Kind: claims.KindUnavailable}) {
		t.Errorf("an error that is not the client's: %+v", v)
	}
}

func TestTheErrorOfARequestHasWhatTheClientReported(t *testing.T) {
	refused := &linode.Error{
		Kind: linode.KindInvalid, Status: 400, Method: "POST", Reasons: []linode.Reason{{Field: "region", Reason: "is not valid"}},
	}
	limited := &linode.Error{Kind: linode.KindRateLimited, Status: 429, Method: "GET", RetryAfter: time.Second}
	boom := errors.New("boom")
	for _, c := range []struct {
		what  string
		err   error
		kind  claims.Kind
		field string
		after time.Duration
	}{
		{"a refusal", refused, claims.KindInvalid, "region", 0},
		{"a throttled request", limited, claims.KindRateLimited, "", time.Second},
		{"another error", boom, claims.KindUnavailable, "", 0},
	} {
		e := refusal.Error("create pool", "pool 7", c.err)
		if e.Kind != c.kind || e.Field != c.field || e.RetryAfter != c.after || e.Op != "create pool" || e.Object != "pool 7" {
			t.Errorf("%s: %+v", c.what, e)
		}
		if !errors.Is(e, c.err) {
			t.Errorf("%s: the cause is lost", c.what)
		}
		if kind := string(linode.KindOf(c.err)); strings.Contains(claims.Reason(e), kind) {
			t.Errorf("%s: %q contains the client's kind %q", c.what, claims.Reason(e), kind)
		}
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
		want          claims.Kind
	}{
		{"", "Account Limit reached. Please open a support ticket.", claims.KindQuotaExceeded},
		{"count", "limited to 20 nodes", claims.KindQuotaExceeded},
		{"", "There is no capacity in this region", claims.KindInsufficientCapacity},
		{"type", "g6-standard-2 is not available in us-ord", claims.KindInsufficientCapacity},
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
