package callers

import (
	"context"
	"errors"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

func TestTheTextOfAnErrorHasOneKind(t *testing.T) {
	refused := &claims.Error{Kind: claims.KindConflict, Op: "delete pool", Object: claims.Object("pool", 7),
		Err: errors.New("the last node pool")}
	overdue := &claims.Error{Kind: claims.KindConflict, Op: "release", Err: late{"not done yet", refused, context.DeadlineExceeded}}
	want := "release: Conflict: not done yet: delete pool (pool 7): the last node pool (context deadline exceeded)"
	if overdue.Error() != want {
		t.Errorf("got  %s\nwant %s", overdue, want)
	}
	if !errors.Is(overdue, context.DeadlineExceeded) || !errors.Is(overdue, error(refused)) {
		t.Error("a cause is lost")
	}
	around := &claims.Error{Kind: claims.KindUnavailable, Op: "collect", Err: refused}
	if want := "collect: Unavailable: delete pool (pool 7): the last node pool"; around.Error() != want {
		t.Errorf("got  %s\nwant %s", around, want)
	}
}
