package allocator_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

func TestKeysThatBuyTogetherKeepToMaxNodes(t *testing.T) {
	onBothTiers(t, realistic, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{Ceilings: claims.Ceilings{MaxNodes: 3}})
		time.Sleep(3 * time.Minute)
		var group sync.WaitGroup
		for i := range 6 {
			group.Go(func() {
				k := key
				k.NodePool = fmt.Sprintf("pool-%d", i%2)
				if _, err := p.Claim(within(t, 5*time.Minute),
					lkepool.Request{Claimant: claims.Claimant{Name: fmt.Sprintf("c%d", i)}, Key: k}); err != nil &&
					claims.KindOf(err) != claims.KindQuotaExceeded {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if l.count() != 3 {
			t.Errorf("%d nodes, want 3", l.count())
		}
	})
}
