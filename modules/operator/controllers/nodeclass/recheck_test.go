package nodeclass_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/nodeclass"
)

// The object that a class waits for may exist by now: the operator reads it again after 20 seconds, although it remembers an answer.
func TestAnswersForAClassThatIsNotReadyAreYoung(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := newSim(t, linodesim.Instant())
		sim.WithdrawCapability(linodesim.NoCapability{Region: "us-ord", Capability: status.CapabilityMetadata})
		l := newLookup(t, sim, "full")
		has := func(l *nodeclass.Lookup) bool {
			t.Helper()
			region, err := l.Region(t.Context(), "us-ord")
			if err != nil {
				t.Fatal(err)
			}
			return slices.Contains(region.Capabilities, status.CapabilityMetadata)
		}
		if has(l) || has(l.Young()) {
			t.Error("the region has what was withdrawn")
		}
		sim.RestoreCapabilities()
		before := calls(sim)
		time.Sleep(20 * time.Second)
		if has(l.Young()) || calls(sim) != before {
			t.Error("an answer of 20 seconds was not given again")
		}
		time.Sleep(time.Second)
		if has(l) || !has(l.Young()) || !has(l) || calls(sim) != before+1 {
			t.Errorf("%d calls; a class that waits for the capability gets an answer without it", calls(sim)-before)
		}
	})
}

func TestAClassThatIsNotReadyIsRechecked(t *testing.T) {
	const name = "instance-recheck"
	lacks, has := newSim(t, linodesim.Instant()), newSim(t, linodesim.Instant())
	lacks.WithdrawCapability(linodesim.NoCapability{Region: "us-ord", Capability: status.CapabilityMetadata})
	class := &v1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	create(t, class)
	inCache(t, class)
	p := start(cached, nodeclass.Config{
		Lookup: newLookup(t, lacks, "full"), Recheck: newLookup(t, has, "full"),
		Cluster: func(context.Context) status.Cluster {
			return status.Cluster{Mode: v1alpha1.ModeInstance, Region: "us-ord", ControlPlaneVersion: "v1.35.1"}
		},
	})
	class = p.until(t, name, "the region is found unsuitable", readyWith(v1alpha1.ReasonRegionUnsuitable))
	inCache(t, class)
	p.until(t, name, "it is found suitable", readyWith("Ready"))
}
