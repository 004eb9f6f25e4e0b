package lke_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/lke"
)

// Each kind of write that waited out a 429 for longer than it may be sent ends without an
// effect, and without a second request; one that may be sent for longer is.
func TestAWriteThatWaitedOutA429IsNotSent(t *testing.T) {
	const limited = 5 * time.Second
	type write func(ctx context.Context, b lkepool.Backend, pool linodesim.Pool) error
	for name, send := range map[string]write{
		"a count": func(ctx context.Context, b lkepool.Backend, pool linodesim.Pool) error {
			_, err := b.Scale(ctx, pool.ID, pool.Count+1)
			return err
		},
		"a tag": func(ctx context.Context, b lkepool.Backend, pool linodesim.Pool) error {
			_, err := b.Mark(ctx, pool.Nodes[0].InstanceID, []string{"claimed"})
			return err
		},
		"a pool": func(ctx context.Context, b lkepool.Backend, _ linodesim.Pool) error {
			key := lkepool.Key{NodePool: "default", InstanceType: "g6-standard-2"}
			_, err := b.Create(ctx, lkepool.PoolSpec{Key: key, Count: 1, Tags: []string{"test"}})
			return err
		},
		"a removal": func(ctx context.Context, b lkepool.Backend, pool linodesim.Pool) error {
			return b.Remove(ctx, pool.ID, pool.Nodes[0].ID)
		},
		"a deletion": func(ctx context.Context, b lkepool.Backend, pool linodesim.Pool) error { return b.Drop(ctx, pool.ID) },
	} {
		for _, tier := range []string{lke.Standard, lke.Enterprise} {
			for within, sent := range map[time.Duration]bool{3 * time.Second: false, 15 * time.Second: true} {
				t.Run(name+"/"+tier+"/"+within.String(), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						sim, cluster, b := backend(t, tier, linodesim.Config{
							Profile: linodesim.Instant(), Behaviour: linodesim.Behaviour{AllowLastPool: true},
						})
						answer := linodesim.Answer{Status: http.StatusTooManyRequests, RetryAfter: limited}
						sim.Fail(linodesim.Rule{Kind: linodesim.Writes, Answer: answer, Times: 1})
						changes, began := len(sim.Audit()), time.Now()
						err := send(lkepool.WithSendBefore(t.Context(), began.Add(within)), b, cluster.Pools[0])
						switch changed := len(sim.Audit()) > changes; {
						case changed != sent:
							t.Errorf("the platform was changed: %t, want %t; %v", changed, sent, err)
						case sent && err != nil:
							t.Error(err)
						case !sent && (err == nil || claims.EffectOf(err) != claims.EffectNone || claims.KindOf(err) == claims.KindNotFound):
							t.Errorf("%v, effect %q", err, claims.EffectOf(err))
						}
						if writes := writesTo(sim); writes != map[bool]int{false: 1, true: 2}[sent] {
							t.Errorf("%d requests", writes)
						}
					})
				})
			}
		}
	}
}

// writesTo counts the requests that change something.
func writesTo(sim *linodesim.Sim) (n int) {
	for _, c := range sim.Calls() {
		if c.Method != http.MethodGet {
			n += c.N
		}
	}
	return n
}
