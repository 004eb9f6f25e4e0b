package fate_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/claimstest/explore"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/claimstest/explore/fate"
)

// counter is a platform with one number, and a core that adds one to it, or reads it, once.
type counter struct {
	now      time.Time
	requests fate.Requests[string, result]
	views    fate.Views[state]
	n        int
	told     string
}

type result struct {
	shown int
	err   error
}

type state struct{ n int }

func (*state) SharedByClones() {}

var (
	epoch = time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC)
	errNo = errors.New("no answer")
)

func (c *counter) record() { c.views.Record(c.now, fmt.Sprint(c.n), &state{c.n}) }

func (c *counter) begin(action string) {
	c.requests.Under = append(c.requests.Under, fate.Request[string, result]{
		Action: action, Write: action == "add", Single: action == "read", Sent: c.now, Expires: c.now.Add(time.Minute),
	})
}

func (c *counter) lagging(r *fate.Request[string, result]) []fate.View[state] {
	return c.views.Of(r.Sent, 4*time.Second)
}

func (c *counter) Shown(r *fate.Request[string, result]) (texts []string) {
	for _, view := range c.lagging(r) {
		texts = append(texts, view.Text)
	}
	return texts
}

func (c *counter) Show(r *fate.Request[string, result], view int) result {
	return result{shown: c.lagging(r)[view].State.n}
}

func (c *counter) Land(*fate.Request[string, result]) result {
	c.n++
	c.record()
	return result{shown: c.n}
}

func (c *counter) Refuse(_ string, kind claims.Kind, effect claims.Effect) result {
	return result{err: fmt.Errorf("%s, %s: %w", kind, effect, errNo)}
}

func (c *counter) Done(_ fate.Request[string, result], r result) {
	c.told = fmt.Sprint(r.shown)
	if r.err != nil {
		c.told = r.err.Error()
	}
}

func (c *counter) Broken() string          { return "" }
func (c *counter) Text(m fate.Move) string { return m.Kind.String() }

func (c *counter) Moves() []fate.Move {
	if c.requests.None() {
		return nil
	}
	moves, passes := c.requests.Moves(c, func(*fate.Request[string, result]) bool { return false })
	if passes {
		moves = append(moves, fate.Move{Kind: fate.Waits})
	}
	return moves
}

func (c *counter) Take(m fate.Move) {
	switch m.Kind {
	case fate.Waits:
		c.now = c.requests.Next()
		c.requests.Elapse(c, c.now)
	case fate.Crashes, fate.Ends:
		c.requests.TakeOver(c, c.now)
	default:
		c.requests.Take(c, m, c.now)
	}
}

// endings returns how a world may end: the number, and the last result that the core got.
func endings(t *testing.T, b fate.Bound, action string) map[string]bool {
	t.Helper()
	b.LateEffect = 2 * time.Minute
	found := map[string]bool{}
	explore.Search[*ending, fate.Move]{Workers: 1, Recheck: 1, Start: func() *ending {
		c := &counter{now: epoch, requests: fate.New[string, result](&b)}
		c.record()
		c.n, c.now = 5, c.now.Add(time.Hour)
		c.record()
		c.n, c.now = 6, c.now.Add(5*time.Second)
		c.record()
		c.now = c.now.Add(time.Second)
		c.begin(action)
		return &ending{counter: c, found: (*endingsFound)(&found)}
	}}.Test(t, false)
	return found
}

// ending is a counter that notes how it ends.
type ending struct {
	*counter
	found *endingsFound
}

type endingsFound map[string]bool

func (*endingsFound) SharedByClones() {}

func (e *ending) Moves() []fate.Move {
	moves := e.counter.Moves()
	if len(moves) == 0 {
		(*e.found)[fmt.Sprintf("%d: %s", e.n, e.told)] = true
	}
	return moves
}

func TestEveryFateOfARequestIsMet(t *testing.T) {
	refused := func(n int, kind claims.Kind, effect claims.Effect) string {
		return fmt.Sprintf("%d: %s, %s: no answer", n, kind, effect)
	}
	none := refused(6, claims.KindUnavailable, claims.EffectNone)
	for name, tt := range map[string]struct {
		bound  fate.Bound
		action string
		want   []string
	}{
		"a write": {fate.Bound{}, "add", []string{"7: 7"}},
		"a read":  {fate.Bound{}, "read", []string{"6: 5", "6: 6"}},
		"a slow write": {fate.Bound{Faults: 1, Only: []fate.Kind{fate.IsSlow}}, "add", []string{
			"7: 7", refused(6, claims.KindUnavailable, claims.EffectUnknown), refused(7, claims.KindUnavailable, claims.EffectUnknown),
		}},
		"a write with any fault": {fate.Bound{Faults: 1}, "add", []string{
			"7: 7", none, refused(6, claims.KindUnavailable, claims.EffectUnknown), refused(7, claims.KindUnavailable, claims.EffectUnknown),
		}},
		"a read with any fault": {fate.Bound{Faults: 1}, "read", []string{
			"6: 5", "6: 6", none, refused(6, claims.KindNotFound, claims.EffectNone),
		}},
		"a list with any fault": {fate.Bound{Faults: 1}, "list", []string{"6: 5", "6: 6", none}},
		"a late write": {fate.Bound{Faults: 1, Only: []fate.Kind{fate.IsLate}}, "add", []string{
			"7: 7", refused(6, claims.KindUnavailable, claims.EffectUnknown), refused(7, claims.KindUnavailable, claims.EffectUnknown),
		}},
		// A request that the previous process had under way takes effect or not, and the core gets no answer.
		"a crash":     {fate.Bound{Crash: true}, "add", []string{"7: 7", "6: ", "7: "}},
		"a clean end": {fate.Bound{Clean: true}, "add", []string{"7: 7"}},
	} {
		found := slices.Sorted(maps.Keys(endings(t, tt.bound, tt.action)))
		slices.Sort(tt.want)
		if !slices.Equal(found, tt.want) {
			t.Errorf("%s:\nfound %q\nwant  %q", name, found, tt.want)
		}
	}
}

func TestARequestThatIsSparedHasNoFault(t *testing.T) {
	b := fate.Bound{Faults: 2}
	c := &counter{now: epoch, requests: fate.New[string, result](&b)}
	c.record()
	c.begin("add")
	c.requests.Under[0].Spared = true
	if moves, _ := c.requests.Moves(c, func(*fate.Request[string, result]) bool { return false }); len(moves) != 1 {
		t.Errorf("%v", moves)
	}
}

// A search takes two worlds with one fingerprint for one, so what readings may yet show
// belongs to it, although clones share the states.
func TestAFingerprintHasWhatReadingsMayShow(t *testing.T) {
	p := explore.NewPrinter()
	print := func(before int) uint64 {
		c := &counter{now: epoch}
		for _, c.n = range []int{before, 3} {
			c.record()
		}
		return p.Fingerprint(&c)
	}
	first, again := print(1), print(1)
	if first != again || first == print(2) {
		t.Error("two histories with one present are one world")
	}
}
