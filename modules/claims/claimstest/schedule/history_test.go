package schedule_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims/claimstest/schedule"
)

func TestAHistoryAnswersWithWhatWas(t *testing.T) {
	var h schedule.History[string]
	if _, existed := h.At(time.Hour); existed {
		t.Error("an object exists that was never recorded")
	}
	h.Record(time.Second, "new", true)
	h.Record(3*time.Second, "old", true)
	h.Record(3*time.Second, "older", true)
	h.Record(5*time.Second, "", false)
	for at, want := range map[time.Duration]string{
		0: "", time.Second: "new", 2 * time.Second: "new", 4 * time.Second: "older", time.Hour: "",
	} {
		if got, existed := h.At(at); got != want || existed != (want != "") {
			t.Errorf("at %s: %q, %t, want %q", at, got, existed, want)
		}
	}
	isNew := func(value string) bool { return value == "new" }
	if !h.Was(2*time.Second, isNew) || h.Was(3*time.Second, isNew) {
		t.Error("an object was new until 3 s")
	}
}

func TestAGapHidesItsShareWhileItLasts(t *testing.T) {
	g := schedule.Gap{From: time.Minute, Length: 10 * time.Second, Share: 2}
	for at, hidden := range map[time.Duration]bool{
		59 * time.Second: false, time.Minute: true, 69 * time.Second: true, 70 * time.Second: false,
	} {
		if g.Hides(at, 4) != hidden || g.Hides(at, 5) {
			t.Errorf("at %s: %t and %t, want %t and false", at, g.Hides(at, 4), g.Hides(at, 5), hidden)
		}
	}
}

// least is the dice that draws the simplest.
type least struct{}

func (least) IntN(int) int { return 0 }

func TestWhatIsDrawnIsWithinItsBounds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	early := 0
	for range 3000 {
		at := schedule.Moment(random, 6*time.Minute)
		if at < 0 || at >= 6*time.Minute {
			t.Fatalf("a moment at %s", at)
		}
		if at < 10*time.Second {
			early++
		}
		if wait := schedule.Between(random, time.Second, 3*time.Second); wait < time.Second || wait >= 3*time.Second {
			t.Fatalf("between 1 and 3 s: %s", wait)
		}
		if at := schedule.Moment(random, 5*time.Second); at >= 5*time.Second {
			t.Fatalf("a moment at %s of 5 s", at)
		}
	}
	if early < 1000 {
		t.Errorf("%d of 3000 moments are within the first ten seconds", early)
	}
	if d := schedule.OneOf(least{}, time.Second, 5, 1); d != 5*time.Second {
		t.Errorf("the simplest is %s", d)
	}
	if d := schedule.Between(random, time.Second, time.Second); d != time.Second {
		t.Errorf("between 1 and 1 s: %s", d)
	}
}
