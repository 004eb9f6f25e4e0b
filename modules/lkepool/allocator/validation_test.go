package allocator_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/allocator"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/memory"
)

// A refusal names the field, the value and the rule.
func TestRefusalsNameFieldValueAndRule(t *testing.T) {
	long := strings.Repeat("x", 64)
	for _, c := range []struct {
		name, field, value, rule string
		change                   func(*lkepool.Request)
	}{
		{"no instance type", "Key.InstanceType", "", "is empty", func(r *lkepool.Request) { r.Key.InstanceType = "" }},
		{"label of Kubernetes", "Key.Template.Labels", "kubernetes.io/os", "refuses keys containing",
			func(r *lkepool.Request) { r.Key.Template.Labels = map[string]string{"kubernetes.io/os": "linux"} }},
		{"label of Linode", "Key.Template.Labels", "lke.linode.com/x", "refuses keys containing",
			func(r *lkepool.Request) { r.Key.Template.Labels = map[string]string{"lke.linode.com/x": "y"} }},
		{"label key too long", "Key.Template.Labels", long, "at most 63 characters",
			func(r *lkepool.Request) { r.Key.Template.Labels = map[string]string{long: ""} }},
		{"label value too long", "Key.Template.Labels", long, "at most 63",
			func(r *lkepool.Request) { r.Key.Template.Labels = map[string]string{"team": long} }},
		{"label value", "Key.Template.Labels", "-a", "letters, digits",
			func(r *lkepool.Request) { r.Key.Template.Labels = map[string]string{"team": "-a"} }},
		{"taint effect", "Key.Template.Taints[0]", "Sometimes", "must be NoSchedule, PreferNoSchedule or NoExecute",
			func(r *lkepool.Request) { r.Key.Template.Taints = []lkepool.Taint{{Key: "a", Effect: "Sometimes"}} }},
		{"taint key too long", "Key.Template.Taints[1]", long, "at most 63 characters", func(r *lkepool.Request) {
			r.Key.Template.Taints = []lkepool.Taint{{Key: "a", Effect: "NoSchedule"}, {Key: long, Effect: "NoSchedule"}}
		}},
		{"tag of 51 characters", "Request.Tags[0]", strings.Repeat("t", 51), "has 51 characters; a tag has 3 to 50",
			func(r *lkepool.Request) { r.Tags = []string{strings.Repeat("t", 51)} }},
		{"pool tag of 51 characters", "Request.PoolTags[0]", strings.Repeat("t", 51), "has 51 characters; a tag has 3 to 50",
			func(r *lkepool.Request) { r.PoolTags = []string{strings.Repeat("t", 51)} }},
		{"pool name of 64 characters", "Key.NodePool", long, "at most 63", func(r *lkepool.Request) { r.Key.NodePool = long }},
	} {
		t.Run(c.name, func(t *testing.T) {
			onBothTiers(t, linodesim.Config{}, func(t *testing.T, l *lab) {
				r := lkepool.Request{Claimant: claims.Claimant{Name: "a"}, Key: key}
				c.change(&r)
				_, err := l.start(lkepool.Config{}).Claim(within(t, time.Minute), r)
				e, ok := errors.AsType[*claims.Error](err)
				if !ok || e.Kind != claims.KindInvalid || e.Field != c.field || !strings.Contains(err.Error(), c.value) ||
					!strings.Contains(err.Error(), c.rule) {
					t.Errorf("got %v", err)
				}
				if total, _, _ := l.calls(); total != 0 {
					t.Errorf("%d requests were sent", total)
				}
			})
		})
	}
}

// 63 characters are a Kubernetes name like any other: the tag is shortened, and
// two long names stay two.
func TestPoolNameOf63Characters(t *testing.T) {
	onBothTiers(t, linodesim.Config{}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		pools := map[int]bool{}
		for _, end := range []string{"a", "b"} {
			k := key
			k.NodePool = strings.Repeat("p", 62) + end
			node, err := p.Claim(within(t, time.Minute), lkepool.Request{
				Claimant: claims.Claimant{Name: k.NodePool + "-x7k2p"}, Key: k, PoolTags: []string{claims.Tag("karpenter.sh/nodepool", k.NodePool)},
			})
			if err != nil {
				t.Fatal(err)
			}
			pools[node.PoolID] = true
			for _, tag := range node.Tags {
				if len(tag) > claims.MaxTagLength {
					t.Errorf("tag %q has %d characters", tag, len(tag))
				}
			}
			if again, err := p.Claim(within(t, time.Minute),
				lkepool.Request{Claimant: claims.Claimant{Name: k.NodePool + "-x7k2p"}, Key: k}); err != nil || again.InstanceID != node.InstanceID {
				t.Errorf("asked again: %+v, %v", again, err)
			}
		}
		if len(pools) != 2 {
			t.Errorf("two names share a pool: %v", pools)
		}
	})
}

func TestNegativeDurations(t *testing.T) {
	for field, cfg := range map[string]lkepool.Config{
		"Config.OrphanTTL":      {OrphanTTL: -time.Minute},
		"Config.RetryDelay":     {RetryDelay: -time.Minute},
		"Config.SettleTime":     {SettleTime: -time.Minute},
		"Config.BootTimeout":    {BootTimeout: -time.Minute},
		"Config.PendingTimeout": {PendingTimeout: -time.Minute},
	} {
		_, err := allocator.New(memory.New(memory.Config{}), cfg)
		e, ok := errors.AsType[*claims.Error](err)
		if !ok || e.Kind != claims.KindInvalid || e.Field != field || !strings.Contains(err.Error(), "-1m0s") ||
			!strings.Contains(err.Error(), "must be") {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// What LKE would refuse is refused before anything is sent.
func TestBadRequestsAreRefusedUnsent(t *testing.T) {
	onBothTiers(t, linodesim.Config{}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		for _, c := range badRequests() {
			_, err := p.Claim(within(t, time.Minute), c.request)
			e, ok := errors.AsType[*claims.Error](err)
			if !ok || e.Kind != claims.KindInvalid || !strings.HasPrefix(e.Field, c.field) {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		if total, _, _ := l.calls(); total != 0 {
			t.Errorf("%d requests were sent", total)
		}
		long := lkepool.Request{Claimant: claims.Claimant{Name: strings.Repeat("c", 200)}, Key: key}
		long.Key.NodePool = strings.Repeat("p", 63)
		long.PoolTags = []string{claims.Tag("karpenter.sh/nodepool", long.Key.NodePool)}
		if _, err := p.Claim(within(t, time.Minute), long); err != nil {
			t.Errorf("long names: %v", err)
		}
	})
}

type badRequest struct {
	name, field string
	request     lkepool.Request
}

func badRequests() []badRequest {
	with := func(change func(*lkepool.Request)) lkepool.Request {
		r := lkepool.Request{Claimant: claims.Claimant{Name: "a"}, Key: key}
		change(&r)
		return r
	}
	return []badRequest{
		{"no claimant", "Request.Claimant", with(func(r *lkepool.Request) { r.Claimant = claims.Claimant{} })},
		{"no instance type", "Key.InstanceType", with(func(r *lkepool.Request) { r.Key.InstanceType = "" })},
		{"NodePool too long", "Key.NodePool", with(func(r *lkepool.Request) { r.Key.NodePool = strings.Repeat("p", 64) })},
		{"reserved label", "Key.Template.Labels",
			with(func(r *lkepool.Request) { r.Key.Template.Labels = map[string]string{"kubernetes.io/os": "linux"} })},
		{"label key too long", "Key.Template.Labels",
			with(func(r *lkepool.Request) { r.Key.Template.Labels = map[string]string{strings.Repeat("k", 64): ""} })},
		{"label value", "Key.Template.Labels", with(func(r *lkepool.Request) { r.Key.Template.Labels = map[string]string{"team": "-a"} })},
		{"taint effect", "Key.Template.Taints[0]",
			with(func(r *lkepool.Request) { r.Key.Template.Taints = []lkepool.Taint{{Key: "a", Effect: "Sometimes"}} })},
		{"taint value", "Key.Template.Taints[0]", with(func(r *lkepool.Request) {
			r.Key.Template.Taints = []lkepool.Taint{{Key: "a", Value: "kubernetes.io", Effect: "NoSchedule"}}
		})},
		{"tag too long", "Request.Tags[1]", with(func(r *lkepool.Request) { r.Tags = []string{"team=a", strings.Repeat("t", 51)} })},
		{"tag too short", "Request.PoolTags[0]", with(func(r *lkepool.Request) { r.PoolTags = []string{"ab"} })},
		{"tag of the engine", "Request.Tags[0]", with(func(r *lkepool.Request) { r.Tags = []string{claimTag + "b"} })},
		{"tag of LKE", "Request.Tags[0]", with(func(r *lkepool.Request) { r.Tags = []string{"nodepool=7"} })},
		{"disk encryption", "Key.Template.DiskEncryption", with(func(r *lkepool.Request) { r.Key.Template.DiskEncryption = "maybe" })},
		{"firewall", "Key.Template.FirewallID", with(func(r *lkepool.Request) { r.Key.Template.FirewallID = -1 })},
	}
}
