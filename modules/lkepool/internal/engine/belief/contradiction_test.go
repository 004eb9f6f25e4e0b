package belief

import (
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// A list takes nothing away, but what it lacks is read.
func TestAListThatLacksASlotIsLookedInto(t *testing.T) {
	h := newHearer()
	pool, lacking := testPool(1, lkepool.Slot{NodeID: "5-1", InstanceID: 7}), testPool(1)
	h.after(5*time.Minute, poolListed(pool))
	h.after(5*time.Minute, poolShown(pool))
	if p := h.pool(); p.Doubtful() || !p.Direct.Agrees {
		t.Errorf("a read that shows the same: look %t, agrees %t", p.Look, p.Direct.Agrees)
	}
	h.after(5*time.Minute, poolListed(lacking))
	if p := h.pool(); !p.Doubtful() || len(p.KnownSlots) != 1 {
		t.Errorf("a list without its slot: look %t, slots %v", p.Look, p.KnownSlots)
	}
	h.after(5*time.Minute, poolShown(lacking))
	if p := h.pool(); p.Direct.Agrees || len(p.KnownSlots) != 0 {
		t.Errorf("a read without its slot: agrees %t, slots %v", p.Direct.Agrees, p.KnownSlots)
	}
}
