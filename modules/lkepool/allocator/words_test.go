package allocator_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/allocator"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/memory"
)

// Programs make one series for each name in Actions: an action that Actions lacks would have no series.
func TestEveryReportedActionIsOfActions(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var mu sync.Mutex
		reported := map[string]bool{}
		a, err := allocator.New(memory.New(memory.Config{}), lkepool.Config{
			Records: &claims.RecordMap{}, Observer: claims.Observer{Action: func(end claims.ActionEnd) {
				mu.Lock()
				defer mu.Unlock()
				reported[end.Op] = true
			}}})
		if err != nil {
			t.Fatal(err)
		}
		who := claims.Claimant{Name: "a"}
		n, err := a.Claim(within(t, time.Minute), lkepool.Request{Claimant: who, Key: key})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Release(within(t, time.Minute), n.InstanceID, who); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(reported) < 3 {
			t.Errorf("a claim and a release are only %v", reported)
		}
		for op := range reported {
			if !slices.Contains(allocator.Actions(), op) {
				t.Errorf("Actions lacks %q", op)
			}
		}
	})
}

func TestShortenKeepsShortValuesAndDistinguishesLongOnes(t *testing.T) {
	long := strings.Repeat("a", 60)
	first, second := claims.Shorten(long+"1", 30), claims.Shorten(long+"2", 30)
	if len(first) != 30 || len(second) != 30 || first == second || !strings.HasPrefix(first, "aaaaaaaaaa") {
		t.Errorf("%q and %q", first, second)
	}
	if got := claims.Shorten("short", 30); got != "short" {
		t.Errorf("got %q", got)
	}
	if got, want := claims.Tag("key", long), "key="+claims.Shorten(long, claims.MaxTagLength-len("key=")); got != want {
		t.Errorf("Tag gives %q, want %q", got, want)
	}
}
