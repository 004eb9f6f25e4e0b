package allocator_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/allocator"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/memory"
)

// listPrices returns the price of a node by the hour; other types have none.
func listPrices(instanceType string) (float64, bool) {
	price, known := map[string]float64{"g6-standard-1": 0.018, "g6-standard-2": 0.036, "g6-standard-4": 0.072}[instanceType]
	return price, known
}

// MaxHourlyPrice bounds what the nodes of all keys cost together: of a burst as
// many are bought as it leaves room for, and a cheaper type may still be had.
func TestMaxHourlyPriceBoundsAllKeys(t *testing.T) {
	onBothTiers(t, realistic, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{Ceilings: claims.Ceilings{MaxHourlyPrice: 0.108 + 0.018, HourlyPrice: listPrices}})
		claim := func(claimant, instanceType string) error {
			_, err := p.Claim(within(t, 5*time.Minute), lkepool.Request{
				Claimant: claims.Claimant{Name: claimant}, Key: lkepool.Key{NodePool: "pool-" + instanceType, InstanceType: instanceType},
			})
			return err
		}
		answers := make(chan error)
		for i := range 5 {
			go func() { answers <- claim(fmt.Sprintf("burst-%d", i), "g6-standard-2") }()
		}
		served := 0
		for range 5 {
			switch err := <-answers; {
			case err == nil:
				served++
			case claims.KindOf(err) != claims.KindQuotaExceeded || !strings.Contains(err.Error(), claims.FieldMaxHourlyPrice):
				t.Error(err)
			}
		}
		if served != 3 || l.requested() != 3 {
			t.Errorf("%d of 5 were served and %d nodes bought, want 3 of each", served, l.requested())
		}
		if err := claim("large", "g6-standard-4"); claims.KindOf(err) != claims.KindQuotaExceeded {
			t.Errorf("a type beyond the ceiling: %v", err)
		}
		if err := claim("small", "g6-standard-1"); err != nil {
			t.Errorf("a type below the ceiling: %v", err)
		}
		if err := claim("one-more", "g6-standard-1"); claims.KindOf(err) != claims.KindQuotaExceeded {
			t.Errorf("beyond the ceiling: %v", err)
		}
		if l.requested() != 4 {
			t.Errorf("%d nodes were bought, want 4", l.requested())
		}
	})
}

// Bursts of two keys at the same time: nodes that are being bought for one count for
// the other.
func TestCeilingsCountPurchasesUnderWay(t *testing.T) {
	for name, ceilings := range map[string]claims.Ceilings{
		"nodes": {MaxNodes: 4}, "price": {MaxHourlyPrice: 4 * 0.036, HourlyPrice: listPrices},
	} {
		t.Run(name, func(t *testing.T) {
			onBothTiers(t, realistic, func(t *testing.T, l *lab) {
				p := l.start(lkepool.Config{Ceilings: ceilings})
				answers := make(chan error)
				for i := range 12 {
					k := key
					k.NodePool = fmt.Sprintf("pool-%d", i%3)
					go func() {
						_, err := p.Claim(within(t, 5*time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: fmt.Sprintf("c%d", i)}, Key: k})
						answers <- err
					}()
				}
				for range 12 {
					if err := <-answers; err != nil && claims.KindOf(err) != claims.KindQuotaExceeded {
						t.Error(err)
					}
				}
				if l.requested() != 4 {
					t.Errorf("%d nodes were bought, at most 4 are allowed", l.requested())
				}
			})
		})
	}
}

// What has no known price cannot be held below a price, so it is not bought, and
// no more is while such a node is there.
func TestMaxHourlyPriceRefusesWhatHasNoPrice(t *testing.T) {
	onBothTiers(t, realistic, func(t *testing.T, l *lab) {
		known := true
		p := l.start(lkepool.Config{Ceilings: claims.Ceilings{MaxHourlyPrice: 100, HourlyPrice: func(instanceType string) (float64, bool) {
			price, listed := listPrices(instanceType)
			return price, listed && (known || instanceType != "g6-standard-1")
		}}})
		claim := func(claimant, instanceType string) error {
			_, err := p.Claim(within(t, 5*time.Minute),
				lkepool.Request{Claimant: claims.Claimant{Name: claimant}, Key: lkepool.Key{NodePool: "default", InstanceType: instanceType}})
			return err
		}
		if err := claim("unlisted", "g6-standard-6"); claims.KindOf(err) != claims.KindQuotaExceeded ||
			!strings.Contains(err.Error(), "g6-standard-6") {
			t.Errorf("a type without price: %v", err)
		}
		if err := claim("first", "g6-standard-1"); err != nil {
			t.Fatal(err)
		}
		known = false
		if err := claim("second", "g6-standard-2"); claims.KindOf(err) != claims.KindQuotaExceeded ||
			!strings.Contains(err.Error(), "g6-standard-1") {
			t.Errorf("beside a node without price: %v", err)
		}
	})
}

func TestCeilingsThatCannotBeAreRefused(t *testing.T) {
	for _, ceilings := range []claims.Ceilings{
		{MaxNodes: -1}, {MaxHourlyPrice: -1, HourlyPrice: listPrices}, {MaxHourlyPrice: math.NaN(), HourlyPrice: listPrices},
		{MaxHourlyPrice: math.Inf(1), HourlyPrice: listPrices}, {MaxHourlyPrice: 1},
	} {
		if _, err := allocator.New(memory.New(memory.Config{}), lkepool.Config{
			Records: &claims.RecordMap{}, Ceilings: ceilings,
		}); claims.KindOf(err) != claims.KindInvalid {
			t.Errorf("%+v: %v", ceilings, err)
		}
	}
}
