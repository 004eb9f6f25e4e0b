package lke_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/lke"
)

// call is one request of the backend about a pool, a node of it and an instance.
type call struct {
	name string
	do   func(ctx context.Context, b lkepool.Backend, pool lkepool.Pool) error
}

var (
	create = call{"create", func(ctx context.Context, b lkepool.Backend, _ lkepool.Pool) error {
		_, err := b.Create(ctx, lkepool.PoolSpec{Key: lkepool.Key{NodePool: "default", InstanceType: "g6-standard-2"}, Tags: []string{"team=a"},
			Count: 1})
		return err
	}}
	scale = call{"scale", func(ctx context.Context, b lkepool.Backend, pool lkepool.Pool) error {
		_, err := b.Scale(ctx, pool.ID, pool.Count+1)
		return err
	}}
	mark = call{"mark", func(ctx context.Context, b lkepool.Backend, pool lkepool.Pool) error {
		_, err := b.Mark(ctx, pool.Slots[0].InstanceID, []string{"team=a"})
		return err
	}}
	remove = call{"remove", func(ctx context.Context, b lkepool.Backend, pool lkepool.Pool) error {
		return b.Remove(ctx, pool.ID, pool.Slots[0].NodeID)
	}}
	drop     = call{"drop", func(ctx context.Context, b lkepool.Backend, pool lkepool.Pool) error { return b.Drop(ctx, pool.ID) }}
	instance = call{"instance", func(ctx context.Context, b lkepool.Backend, pool lkepool.Pool) error {
		_, err := b.Instance(ctx, pool.Slots[0].InstanceID)
		return err
	}}
	readPool = call{"pool", func(ctx context.Context, b lkepool.Backend, pool lkepool.Pool) error {
		_, err := b.Pool(ctx, pool.ID)
		return err
	}}
	listPools = call{"pools", func(ctx context.Context, b lkepool.Backend, _ lkepool.Pool) error {
		_, err := b.Pools(ctx)
		return err
	}}
)

// The status and the field of an answer decide the kind and the effect: only a 400 about
// no field, type or count is searched for words of capacity or quota, a refusal
// has no effect, and a request that the API failed to answer may have had one.
func TestAnswersBecomeKindsAndEffects(t *testing.T) {
	purchases := []call{create, scale}
	for _, c := range []struct {
		name   string
		calls  []call
		rule   linodesim.Rule
		kind   claims.Kind
		effect claims.Effect
	}{
		{"limit of the account", purchases, refuse(400, "", "Account Limit reached. Please open a support ticket."), claims.KindQuotaExceeded,
			claims.EffectNone},
		{"limit of the count", purchases, refuse(400, "count", "limited to 20 nodes"), claims.KindQuotaExceeded, claims.EffectNone},
		{"no capacity", purchases, refuse(400, "", "There is no capacity in this region"), claims.KindInsufficientCapacity, claims.EffectNone},
		{"plan not available", purchases, refuse(400, "type", "g6-standard-2 is not available in us-ord"), claims.KindInsufficientCapacity,
			claims.EffectNone},
		{"words of a limit about labels", purchases, refuse(400, "labels", "labels are limited to 20"), claims.KindInvalid, claims.EffectNone},
		{"words of a limit about tags", purchases, refuse(400, "tags", "quota of tags: limit reached"), claims.KindInvalid, claims.EffectNone},
		{"words of capacity about taints", purchases, refuse(400, "taints[0].key", "insufficient"), claims.KindInvalid, claims.EffectNone},
		{"another reason", purchases, refuse(400, "type", "type is not valid"), claims.KindInvalid, claims.EffectNone},
		{"words of capacity with a 403", purchases, refuse(403, "", "insufficient scope, account limit"), claims.KindForbidden,
			claims.EffectNone},
		{"words of capacity with a 401", purchases, refuse(401, "", "insufficient scope"), claims.KindForbidden, claims.EffectNone},
		{"words of capacity with a 503", purchases, refuse(503, "", "at capacity"), claims.KindUnavailable, claims.EffectUnknown},
		{"at capacity after the effect", purchases,
			linodesim.Rule{Answer: linodesim.Answer{Status: 503, Reason: "at capacity"}, AfterEffect: true}, claims.KindUnavailable,
			claims.EffectUnknown},
		{"words of a limit with a 500", purchases, refuse(500, "count", "quota"), claims.KindUnavailable, claims.EffectUnknown},
		{"gateway", []call{create, scale, mark, remove, drop}, linodesim.Rule{Answer: linodesim.Answer{Status: 502, HTML: true}},
			claims.KindUnavailable, claims.EffectUnknown},
		{"connection closed", []call{create, scale, mark}, linodesim.Rule{Drop: true, AfterEffect: true}, claims.KindUnavailable,
			claims.EffectUnknown},
		{"connection closed after a removal", []call{remove}, linodesim.Rule{Drop: true, AfterEffect: true}, "", claims.EffectUnknown},
		{"too many requests", []call{create, scale, mark, remove, drop},
			linodesim.Rule{Answer: linodesim.Answer{Status: 429, RetryAfter: time.Second}}, claims.KindRateLimited, claims.EffectNone},
		{"cluster is gone", []call{create, listPools}, refuse(404, "", "Not found"), claims.KindConflict, claims.EffectNone},
		{"pool is gone", []call{scale, readPool}, refuse(404, "", "Not found"), claims.KindNotFound, claims.EffectNone},
		{"instance is gone", []call{mark, instance}, refuse(404, "", "Not found"), claims.KindNotFound, claims.EffectNone},
		{"busy", []call{mark}, refuse(400, "", "Linode busy."), claims.KindUnavailable, claims.EffectNone},
		{"tag refused", []call{mark}, refuse(400, "tags[0]", "limit reached"), claims.KindInvalid, claims.EffectNone},
		{"locked", []call{remove, drop}, refuse(400, "", "The pool is locked"), claims.KindConflict, claims.EffectNone},
		{"token refused", []call{mark, remove, drop, instance, readPool, listPools}, refuse(403, "", "not authorized"), claims.KindForbidden,
			claims.EffectNone},
		{"removed before", []call{remove, drop}, refuse(404, "", "Not found"), "", claims.EffectUnknown},
	} {
		for _, tier := range []string{lke.Standard, lke.Enterprise} {
			for _, request := range c.calls {
				t.Run(fmt.Sprintf("%s/%s/%s", c.name, request.name, tier), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { answer(t, tier, request, c.rule, c.kind, c.effect) })
				})
			}
		}
	}
}

func refuse(status int, field, reason string) linodesim.Rule {
	return linodesim.Rule{Answer: linodesim.Answer{Status: status, Field: field, Reason: reason}}
}

// answer makes one request that the rule answers.
func answer(t *testing.T, tier string, request call, rule linodesim.Rule, kind claims.Kind, effect claims.Effect) {
	t.Helper()
	sim, cluster, b := backend(t, tier, linodesim.Config{})
	pools, err := b.Pools(t.Context())
	if err != nil || len(pools) != 1 || len(pools[0].Slots) == 0 {
		t.Fatalf("%+v, %v", pools, err)
	}
	// The cluster is read before a pool is created on Enterprise.
	route := fmt.Sprintf("/lke/clusters/%d", cluster.ID)
	rule.Match = func(r *http.Request) bool { return r.URL.Path != route }
	id := sim.Fail(rule)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	err = request.do(ctx, b, pools[0])
	if sim.Hits(id) == 0 {
		t.Fatal("no request met the rule")
	}
	if claims.KindOf(err) != kind {
		t.Fatalf("got %v, want %s", err, kind)
	}
	if e, ok := errors.AsType[*claims.Error](err); ok &&
		(e.Effect != effect || rule.Field != "" && kind == claims.KindInvalid && e.Field != rule.Field) {
		t.Errorf("effect %q, field %q of %v; want effect %q", e.Effect, e.Field, err, effect)
	}
}

// A line with two kinds leaves a reader to guess which counts; the client's is still there for programs.
func TestTheTextOfAnErrorHasOneKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, err := linodesim.New(linodesim.Config{ValidateAnswers: true, Profile: linodesim.Instant()})
		if err != nil {
			t.Fatal(err)
		}
		cluster, err := sim.AddCluster(linodesim.ClusterSpec{Label: "demo", Pools: []linodesim.PoolSpec{{Type: "g6-standard-2", Count: 1}}})
		if err != nil {
			t.Fatal(err)
		}
		client, err := linode.New(linode.Config{Token: linode.StaticToken(linodesim.DefaultToken), Transport: sim.Transport()})
		if err != nil {
			t.Fatal(err)
		}
		backend, err := lke.New(client, lke.Cluster{ID: cluster.ID, Name: "demo", Tier: lke.Standard})
		if err != nil {
			t.Fatal(err)
		}
		err = backend.Drop(t.Context(), cluster.Pools[0].ID)
		want := fmt.Sprintf("delete pool (pool %d): Conflict: linode: DELETE /lke/clusters/{clusterId}/pools/{poolId} (status 400): The last "+
			"node pool of a cluster cannot be deleted.", cluster.Pools[0].ID)
		if err == nil || err.Error() != want || linode.KindOf(err) != linode.KindInvalid || claims.KindOf(err) != claims.KindConflict {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	})
}
