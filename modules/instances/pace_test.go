package instances_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// One claimant learns that there is no room; the others of the burst get the same
// answer without a request each.
func TestARefusalAnswersTheWholeBurst(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Realistic()})
		l.sim.SetAccountLimit(1)
		p := l.start(instances.Config{})
		began := time.Now()
		burst(t, 100, func(n int) {
			_, err := p.Create(within(t, 5*time.Minute), spec(fmt.Sprintf("a-%d", n), "1"))
			wantKind(t, err, claims.KindQuotaExceeded)
		})
		if took := time.Since(began); took > 3*time.Second || l.sent("POST") > 20 {
			t.Errorf("took %s and %d POSTs", took, l.sent("POST"))
		}
	})
}

func burst(t *testing.T, n int, one func(n int)) {
	t.Helper()
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { one(i) })
	}
	group.Wait()
}

func TestAHundredClaimantsArePacedWithoutA429(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Realistic()})
		p := l.start(instances.Config{})
		began := time.Now()
		ids := make([]int, 100)
		burst(t, len(ids), func(n int) {
			i, err := p.Create(within(t, 3*time.Minute), spec(fmt.Sprintf("default-%03d", n), fmt.Sprint(n)))
			if err != nil {
				t.Error(err)
			}
			ids[n] = i.InstanceID
		})
		took := time.Since(began)
		slices.Sort(ids)
		if len(slices.Compact(ids)) != 100 || l.created() != 100 {
			t.Errorf("%d instances made", l.created())
		}
		if l.throttled() != 0 {
			t.Errorf("%d answers were 429", l.throttled())
		}
		if floor := 4 * 15 * time.Second; took > floor*115/100 { // the last 20 need no window to pass
			t.Errorf("took %s, the limit of 20 per 15 s sets %s", took, floor)
		}
		if calls := float64(l.sent("")) / 100; calls > 2.2 {
			t.Errorf("%.2f calls per claim", calls)
		}
		t.Logf("100 claimants: %s, %d calls", took, l.sent(""))
	})
}

// Callers come back as a controller's do, with a deadline of 10 s each.
func TestACallerWhoseTimeEndsLearnsItsPosition(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Realistic()})
		p := l.start(instances.Config{})
		var mu sync.Mutex
		var texts []string
		began := time.Now()
		burst(t, 100, func(n int) {
			for pause := time.Second; ; pause = min(2*pause, 10*time.Second) {
				_, err := p.Create(within(t, 10*time.Second), spec(fmt.Sprintf("default-%03d", n), fmt.Sprint(n)))
				if err == nil {
					return
				}
				wantKind(t, err, claims.KindProvisioning)
				mu.Lock()
				texts = append(texts, err.Error())
				mu.Unlock()
				time.Sleep(pause)
			}
		})
		if !slices.ContainsFunc(texts, func(text string) bool {
			return strings.Contains(text, "position 37 of 80 in the queue for creations, the next creation is sent in ")
		}) {
			t.Errorf("no caller was told position 37 of 80: %v", texts[:min(5, len(texts))])
		}
		if took := time.Since(began); took > 110*time.Second || l.created() != 100 || l.throttled() != 0 {
			t.Errorf("took %s, %d made, %d throttled", took, l.created(), l.throttled())
		}
	})
}

func TestA429OfAnotherClientIsWaitedOut(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
		l.sim.Fail(linodesim.Rule{Method: "POST", Route: instancesRoute, Answer: linodesim.Answer{Status: 429, RetryAfter: 100 * time.Second},
			Times: 1})
		p := l.start(instances.Config{})
		_, err := p.Create(within(t, 20*time.Second), spec("a", "1"))
		wantKind(t, err, claims.KindRateLimited)
		if e, ok := errors.AsType[*claims.Error](err); !ok || e.RetryAfter < 70*time.Second {
			t.Errorf("%+v", err)
		}
		p.create(t, spec("a", "1"))
		if l.created() != 1 {
			t.Errorf("%d made", l.created())
		}
	})
}

// A burst counts the instances being created for its other members.
func TestCeilingsBoundTheCluster(t *testing.T) {
	prices := func(instanceType string) (float64, bool) { return 0.036, instanceType == "g6-standard-2" }
	for field, ceilings := range map[string]claims.Ceilings{
		claims.FieldMaxNodes:       {MaxNodes: 3},
		claims.FieldMaxHourlyPrice: {MaxHourlyPrice: 3.5 * 0.036, HourlyPrice: prices},
	} {
		t.Run(field, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				l := newLab(t, linodesim.Config{Profile: linodesim.Realistic()})
				p := l.start(instances.Config{Ceilings: ceilings})
				p.Begin(claims.Ended)
				time.Sleep(2 * time.Minute)
				burst(t, 5, func(n int) {
					_, err := p.Create(within(t, time.Minute), spec(fmt.Sprintf("a-%d", n), "1"))
					if err == nil {
						return
					}
					wantKind(t, err, claims.KindQuotaExceeded)
					if e, ok := errors.AsType[*claims.Error](err); !ok || e.Field != field {
						t.Errorf("%v, want the field %s", err, field)
					}
				})
				if len(l.ours()) != 3 {
					t.Errorf("%d instances", len(l.ours()))
				}
			})
		})
	}
}
