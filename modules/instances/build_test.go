package instances_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

func withDisks() instances.Spec {
	swap := 256
	s := spec("a", "1")
	s.Storage = instances.Storage{BootMB: 40_000, SwapMB: &swap, Data: []instances.Disk{
		{Label: "containers", SizeMB: 20_000}, {Label: "scratch", SizeMB: 10_000, Filesystem: "raw"},
	}}
	return s
}

// checkBuilt: the disks are there once, attached, and the instance runs.
func (l *lab) checkBuilt(id int) {
	l.t.Helper()
	text := l.read(fmt.Sprintf("/linode/instances/%d/disks", id))
	for _, label := range []string{"containers", "scratch"} {
		if strings.Count(text, `"`+label+`"`) != 1 {
			l.t.Errorf("disk %s: %s", label, text)
		}
	}
	if configs := l.read(fmt.Sprintf("/linode/instances/%d/configs", id)); strings.Count(configs, `"disk_id":`) != 4 ||
		strings.Count(configs, `"kernel"`) != 1 {
		l.t.Errorf("configurations: %s", configs)
	}
	all := l.ours()
	if len(all) != 1 || slices.Contains(all[0].Tags, "karpenter.k8s.linode/unfinished=true") {
		l.t.Fatalf("instances %+v", all)
	}
	if status := all[0].Status; status != linodesim.StatusBooting && status != linodesim.StatusRunning {
		l.t.Errorf("the instance is %s", status)
	}
}

func TestDisksAreMadeAttachedAndBooted(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Realistic()})
		p := l.start(instances.Config{})
		i := p.create(t, withDisks())
		l.checkBuilt(i.InstanceID)
		t.Logf("%d requests", l.sent(""))
		if l.sent("") > 60 {
			t.Errorf("%d requests", l.sent(""))
		}
	})
}

// The process dies after each of its requests in turn, before or after the
// request has had its effect. The next one continues from what the API has.
func TestBuildingContinuesWhereAProcessWasKilled(t *testing.T) {
	for nth := 1; nth <= 6; nth++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("write %d, after its effect %t", nth, after), func(t *testing.T) {
				inBubble(t, func(t *testing.T) {
					l := newLab(t, linodesim.Config{Profile: linodesim.Realistic()})
					first := l.start(instances.Config{})
					rule := l.sim.Fail(linodesim.Rule{Kind: linodesim.Writes, Nth: nth, Hang: true, AfterEffect: after})
					ctx, cancel := context.WithCancel(t.Context())
					done := make(chan struct{})
					go func() { _, _ = first.Create(ctx, withDisks()); close(done) }()
					for l.sim.Hits(rule) == 0 {
						select {
						case <-done:
							t.Fatal("the write never came")
						case <-time.After(time.Second):
						}
					}
					time.Sleep(2 * time.Second)
					first.kill()
					cancel()
					<-done
					l.sim.HealAll()
					i := l.start(instances.Config{}).create(t, withDisks())
					if l.created() != 1 {
						t.Errorf("%d made", l.created())
					}
					l.checkBuilt(i.InstanceID)
				})
			})
		}
	}
}

func TestAnInstanceThatIsNotFinishedInTimeIsRemoved(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
		l.sim.Fail(linodesim.Rule{Method: "POST", Route: "/linode/instances/{linodeId}/boot", Answer: linodesim.Answer{Status: 500}})
		p := l.start(instances.Config{FinishTimeout: 2 * time.Minute})
		var last error
		for began := time.Now(); time.Since(began) < 4*time.Minute && len(l.ours()) != 0 || l.created() == 0; {
			_, last = p.Create(within(t, 30*time.Second), withDisks())
			time.Sleep(5 * time.Second)
		}
		wantKind(t, last, claims.KindUnavailable)
		if len(l.ours()) != 0 || l.created() != 1 {
			t.Fatalf("%d there, %d made", len(l.ours()), l.created())
		}
		l.sim.HealAll()
		i := p.create(t, withDisks())
		l.checkBuilt(i.InstanceID)
	})
}
