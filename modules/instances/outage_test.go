package instances_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// alive is a sweep of a cluster whose claimants a-0 to a-n-1 exist.
func alive(n int) claims.Sweep {
	return claims.Sweep{Alive: func(context.Context) ([]claims.Claimant, error) {
		var all []claims.Claimant
		for i := range n {
			all = append(all, nth(i).Claimant)
		}
		return all, nil
	}}
}

func nth(n int) instances.Spec { return spec(fmt.Sprintf("a-%d", n), "1") }

// createAll makes the instances of the claimants a-0 to a-n-1 at once.
func (p *process) createAll(t *testing.T, n int) []int {
	t.Helper()
	ids := make([]int, n)
	burst(t, n, func(n int) {
		i, err := p.Create(within(t, 10*time.Minute), nth(n))
		if err != nil {
			t.Errorf("create: %v", err)
		}
		ids[n] = i.InstanceID
	})
	return ids
}

// Every request hangs for ten minutes, before its effect or after it: each call ends with its context, with an error that there is no
// answer. Afterwards everything works.
func TestTenMinutesWithoutAnAnswer(t *testing.T) {
	for name, after := range map[string]bool{"before the effects": false, "after the effects": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
				p := l.start(instances.Config{})
				kept, leaving := p.create(t, nth(0)), p.create(t, nth(1))
				time.Sleep(time.Minute)
				outage := l.sim.Fail(linodesim.Rule{Hang: true, AfterEffect: after})
				calls := map[string]func(context.Context) error{
					"create": func(ctx context.Context) error { _, err := p.Create(ctx, nth(2)); return err },
					"get":    func(ctx context.Context) error { _, err := p.Get(ctx, kept.InstanceID); return err },
					"list":   func(ctx context.Context) error { _, err := p.List(ctx); return err },
					"tags": func(ctx context.Context) error {
						return p.SetTags(ctx, kept.InstanceID, nth(0).Claimant, nil, []string{"one-tag"})
					},
					"delete":  func(ctx context.Context) error { return p.Delete(ctx, leaving.InstanceID, nth(1).Claimant) },
					"collect": func(ctx context.Context) error { _, err := p.Collect(ctx, alive(3)); return err },
				}
				began := time.Now()
				for time.Since(began) < 10*time.Minute {
					for name, call := range calls {
						const patience = 7 * time.Second
						called := time.Now()
						err := call(within(t, patience))
						kind := claims.KindOf(err)
						if kind != claims.KindUnavailable && (name != "create" || kind != claims.KindProvisioning) {
							t.Errorf("%s after %s: kind %q of %v", name, time.Since(began), kind, err)
						}
						if took := time.Since(called); took > patience {
							t.Errorf("%s took %s", name, took)
						}
					}
				}
				l.sim.Heal(outage)
				if _, err := p.Create(within(t, time.Minute), nth(2)); err != nil {
					t.Errorf("afterwards: %v", err)
				}
				if got, err := p.Get(within(t, time.Minute), kept.InstanceID); err != nil || got.InstanceID != kept.InstanceID {
					t.Errorf("afterwards: %+v, %v", got, err)
				}
				for p.SetTags(within(t, 20*time.Second), kept.InstanceID, nth(0).Claimant, nil, []string{"one-tag"}) != nil {
					time.Sleep(time.Second)
				}
				for claims.KindOf(p.Delete(within(t, 20*time.Second), leaving.InstanceID, nth(1).Claimant)) != claims.KindNotFound {
					time.Sleep(time.Second)
				}
				if collected, err := p.Collect(within(t, time.Minute), alive(3)); err != nil || len(collected.Removed) != 0 {
					t.Errorf("afterwards: %+v, %v", collected, err)
				}
				if l.created() != 3 || len(l.ours()) != 2 || time.Since(began) > 14*time.Minute {
					t.Errorf("%d made, %d there after %s", l.created(), len(l.ours()), time.Since(began))
				}
			})
		})
	}
}

// Another client uses up the limit for five minutes: callers learn the reason and the length of their wait, and at the end there is one
// instance. If the 429 has no time, the client itself waits, and a caller may leave while its creation is under way.
func TestMinutesOf429s(t *testing.T) {
	for name, wait := range map[string]time.Duration{"with a time": time.Minute, "without a time": 0} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
				p := l.start(instances.Config{})
				time.Sleep(5 * time.Minute) // since then no list goes before a creation
				kept := p.create(t, nth(0))
				time.Sleep(time.Minute)
				storm := l.sim.Fail(linodesim.Rule{Answer: linodesim.Answer{Status: http.StatusTooManyRequests, RetryAfter: wait}})
				end := time.Now().Add(5 * time.Minute)
				time.AfterFunc(5*time.Minute, func() { l.sim.Heal(storm) })
				group := sync.WaitGroup{}
				group.Go(func() {
					throttled(t, end, wait == 0, func(ctx context.Context) error { _, err := p.Create(ctx, nth(1)); return err })
				})
				group.Go(func() {
					throttled(t, end, false, func(ctx context.Context) error { _, err := p.Get(ctx, kept.InstanceID); return err })
				})
				group.Wait()
				if l.created() != 2 || len(l.ours()) != 2 || l.sim.Hits(storm) > 150 {
					t.Errorf("%d made, %d there, after %d requests", l.created(), len(l.ours()), l.sim.Hits(storm))
				}
			})
		})
	}
}

// throttled calls until it succeeds, as a controller does: no later than two minutes after
// the end of the storm, and until then it learns the limit and how long to wait, or also
// that a creation is under way.
func throttled(t *testing.T, end time.Time, underWay bool, call func(context.Context) error) {
	t.Helper()
	for limited := 0; ; limited++ {
		err := call(within(t, 45*time.Second))
		if err == nil && limited >= 4 {
			return
		}
		if err == nil || time.Since(end) > 2*time.Minute {
			t.Errorf("%s after the end, %d answers named the limit: %v", time.Since(end), limited, err)
			return
		}
		limits := claims.KindOf(err) == claims.KindRateLimited && claims.RetryAfterOf(err) > 0
		if !limits && (!underWay || claims.KindOf(err) != claims.KindProvisioning) {
			t.Errorf("kind %q, %s to wait: %v", claims.KindOf(err), claims.RetryAfterOf(err), err)
		}
		time.Sleep(max(time.Second, claims.RetryAfterOf(err)))
	}
}

// All lists are empty for ten minutes: an instance that this process knows does not count as gone.
func TestEmptyListsHideNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
		p := l.start(instances.Config{OrphanTTL: time.Minute})
		ids := p.createAll(t, 3)
		time.Sleep(5 * time.Minute)
		rule := l.sim.Fail(linodesim.Rule{Kind: linodesim.Lists, View: linodesim.View{Missing: 1000}})
		for began := time.Now(); time.Since(began) < 10*time.Minute; time.Sleep(time.Minute) {
			l.checkKept(p, ids)
		}
		if _, err := p.Create(within(t, time.Minute), nth(3)); err != nil {
			t.Errorf("a new claimant: %v", err)
		}
		l.sim.Heal(rule)
		l.checkKept(p, ids)
		if l.created() != 4 || len(l.ours()) != 4 {
			t.Errorf("%d made, %d there", l.created(), len(l.ours()))
		}
	})
}

// checkKept calls everything for claimants that have an instance each: nothing is reported
// as gone, and nothing removed.
func (l *lab) checkKept(p *process, ids []int) {
	l.t.Helper()
	list, err := p.List(l.t.Context())
	if err != nil {
		l.t.Errorf("list: %v", err)
	}
	for n, id := range ids {
		if !slices.ContainsFunc(list, func(i instances.Instance) bool { return i.InstanceID == id }) {
			l.t.Errorf("the list lacks %d", id)
		}
		if got, err := p.Get(within(l.t, time.Minute), id); err != nil || got.InstanceID != id {
			l.t.Errorf("get %d: %+v, %v", id, got, err)
		}
		if again, err := p.Create(within(l.t, time.Minute), nth(n)); err != nil || again.InstanceID != id {
			l.t.Errorf("create again: %d, want %d: %v", again.InstanceID, id, err)
		}
	}
	if collected, err := p.Collect(l.t.Context(), alive(len(ids)+1)); err != nil || len(collected.Removed) != 0 {
		l.t.Errorf("collected %+v, %v", collected.Removed, err)
	}
}

// A process begins to lead while all lists are empty, for three minutes.
func TestEmptyListsAfterATakeOverMakeNothingTwice(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
		first := l.start(instances.Config{})
		ids := first.createAll(t, 3)
		time.Sleep(5 * time.Minute)
		first.kill()
		rule := l.sim.Fail(linodesim.Rule{Kind: linodesim.Lists, View: linodesim.View{Missing: 1000}})
		p := l.start(instances.Config{OrphanTTL: time.Minute})
		for began := time.Now(); time.Since(began) < 3*time.Minute; time.Sleep(10 * time.Second) {
			for n, id := range ids {
				if got, err := p.Create(within(t, 10*time.Second), nth(n)); err == nil && got.InstanceID != id {
					t.Errorf("%d is returned for %d", got.InstanceID, id)
				} else if err != nil {
					wantKind(t, err, claims.KindProvisioning)
				}
				if n == 0 {
					continue // only its label can show it
				}
				if got, err := p.Get(within(t, time.Minute), id); err != nil || got.InstanceID != id {
					t.Errorf("get %d: %+v, %v", id, got, err)
				}
			}
			if collected, err := p.Collect(t.Context(), alive(3)); err != nil || len(collected.Removed) != 0 {
				t.Errorf("collected %+v, %v", collected.Removed, err)
			}
		}
		l.sim.Heal(rule)
		for n, id := range ids {
			if again := p.create(t, nth(n)); again.InstanceID != id {
				t.Errorf("got %d, want %d", again.InstanceID, id)
			}
		}
		l.checkKept(p, ids)
		if l.created() != 3 || len(l.ours()) != 3 {
			t.Errorf("%d made, %d there", l.created(), len(l.ours()))
		}
	})
}

// Entries are removed and added by others while lists of two pages are read: one entry is
// on neither page, or on both.
func TestPagesThatShiftHideNothing(t *testing.T) {
	for _, shift := range []int{1, -1, 5} {
		t.Run(fmt.Sprint(shift), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
				l.page = 25
				p := l.start(instances.Config{OrphanTTL: time.Minute})
				ids := p.createAll(t, 40)
				time.Sleep(5 * time.Minute)
				rule := l.sim.Fail(linodesim.Rule{Kind: linodesim.Lists, View: linodesim.View{Shift: shift}})
				for range 3 {
					l.checkKept(p, ids)
					time.Sleep(3 * time.Minute)
				}
				p.kill()
				p = l.start(instances.Config{OrphanTTL: time.Minute})
				for n, id := range ids {
					if again := p.create(t, nth(n)); again.InstanceID != id {
						t.Errorf("after a take-over: got %d, want %d", again.InstanceID, id)
					}
				}
				l.checkKept(p, ids)
				if l.sim.Hits(rule) == 0 || l.created() != 40 || len(l.ours()) != 40 {
					t.Errorf("%d lists, %d made, %d there", l.sim.Hits(rule), l.created(), len(l.ours()))
				}
			})
		})
	}
}
