package memory_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/memory"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/pooltest"
)

func TestConformance(t *testing.T) {
	for name, cfg := range map[string]memory.Config{
		"immediate": {},
		"slow": {InstanceAfter: func() time.Duration { return 30 * time.Second }, GoneAfter: 20 * time.Second,
			CallTakes: 200 * time.Millisecond},
		"lagging": {InstanceAfter: func() time.Duration { return 10 * time.Second }, ListedAfter: time.Minute, GoneAfter: 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			pooltest.Run(t, synctest.Test, func(*testing.T) pooltest.Harness {
				platform := memory.New(cfg)
				return pooltest.Harness{
					Backend: platform, Stall: platform.Stall,
					Key: lkepool.Key{NodePool: "default", InstanceType: "small"},
					BadKey: lkepool.Key{NodePool: "default", InstanceType: "small",
						Template: lkepool.Template{Labels: map[string]string{"kubernetes.io/os": "linux"}}},
					Patience: 5 * time.Minute,
				}
			})
		})
	}
}
