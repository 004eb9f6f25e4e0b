package stored_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/pacing"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches/stored"
)

var name = types.NamespacedName{Namespace: "kube-system", Name: "karpenter-learned-capacity"}

func cluster(annotation string) client.Client {
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name,
		Annotations: map[string]string{"other": "stays", stored.Annotation: annotation}}, Data: map[string]string{"g6-standard-4": "{}"}}
	return fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(configMap).Build()
}

func keeping(kube client.Client, of *launches.Backoff) *stored.Keeper {
	return stored.New(kube, kube, name, stored.Of(stored.Annotation, of.Export, of.Import))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The API server refuses an object whose annotations have more than 256 KiB, as a fake client does not.
func TestManyRefusedNodePoolsLeaveRoomForThePauses(t *testing.T) {
	for refusals, kept := range map[int]int{250: 250, 5000: 250} {
		synctest.Test(t, func(t *testing.T) {
			rejected, failing := launches.NewRefusals(), launches.NewBackoff()
			long := strings.Repeat("the API says <no> & more ", 200)
			for n := range refusals {
				rejected.Note(launches.Source{
					NodePool:  launches.Version{UID: types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", n)), Generation: 12},
					NodeClass: launches.Version{UID: "11111111-1111-1111-1111-111111111111", Generation: 12},
				}, "type", long)
				failing.Failed(launches.Target{NodePool: fmt.Sprintf("nodepool-of-a-team-%d", n), Plan: "g6-dedicated-56"}, pacing.Joins)
			}
			kube := cluster("")
			sources := func(l *launches.Refusals, b *launches.Backoff) *stored.Keeper {
				return stored.New(kube, kube, name, stored.Of(stored.Annotation, b.Export, b.Import),
					stored.Of(stored.RefusedAnnotation, l.Export, l.Import), stored.Of(stored.PlansAnnotation, l.Export, l.Import))
			}
			must(t, sources(rejected, failing).Save(t.Context()))
			configMap := &corev1.ConfigMap{}
			must(t, kube.Get(t.Context(), name, configMap))
			total := 0
			for key, value := range configMap.Annotations {
				total += len(key) + len(value)
			}
			time.Sleep(2 * time.Second)
			after, again := launches.NewRefusals(), launches.NewBackoff()
			must(t, sources(after, again).Load(t.Context()))
			if got := len(after.Export()); total > 250<<10 || got < kept || len(again.Export()) < kept {
				t.Errorf("%d refusals: %d bytes of annotations, %d refusals and %d pauses are kept, want %d", refusals, total, got,
					len(again.Export()), kept)
			}
		})
	}
}

func TestAProcessStartedAgainKeepsThePauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kube, before := cluster(""), launches.NewBackoff()
		for range 3 {
			before.Failed(launches.Target{NodePool: "default", Plan: "g6-standard-4"}, pacing.Joins)
		}
		must(t, keeping(kube, before).Save(t.Context()))

		after := launches.NewBackoff()
		keeper := keeping(kube, after)
		must(t, keeper.Load(t.Context()))
		if !after.Pausing("default", "g6-standard-4") || after.Pausing("default", "g6-standard-2") {
			t.Error("the plan that failed is bought at once")
		}
		if pause := after.Failed(launches.Target{NodePool: "default", Plan: "g6-standard-4"}, pacing.Joins); pause != 15*time.Minute {
			t.Errorf("the next pause is %s, want the fourth in a row", pause)
		}
		after.Joined("default", "g6-standard-4", time.Now().Add(time.Second))
		must(t, keeper.Save(t.Context()))
		configMap := &corev1.ConfigMap{}
		must(t, kube.Get(t.Context(), name, configMap))
		if _, kept := configMap.Annotations[stored.Annotation]; kept || configMap.Annotations["other"] != "stays" || len(configMap.Data) != 1 {
			t.Errorf("after a node has joined: %v, %v", configMap.Annotations, configMap.Data)
		}
	})
}

func TestPausesThatCannotBeAreLeftOut(t *testing.T) {
	for text, content := range map[string]string{
		"no JSON": "{", "another shape": `{"nodePool":"default"}`,
		"a pause without end":       `[{"nodePool":"default","inARow":1,"last":"2020-01-01T00:00:00Z","until":"2999-01-01T00:00:00Z"}]`,
		"a failure of the future":   `[{"nodePool":"default","inARow":1,"last":"2999-01-01T00:00:00Z","until":"2020-01-01T00:00:00Z"}]`,
		"one that is over for long": `[{"nodePool":"default","inARow":9,"last":"2020-01-01T00:00:00Z","until":"2020-01-01T00:10:00Z"}]`,
		"no failures":               `[{"nodePool":"default","inARow":0}]`,
	} {
		t.Run(text, func(t *testing.T) {
			kube, known := cluster(content), launches.NewBackoff()
			must(t, keeping(kube, known).Load(t.Context()))
			if failures := known.Failures("default"); len(failures) > 0 {
				t.Errorf("%+v", failures)
			}
		})
	}
}

func TestWithoutTheConfigMapNothingIsKept(t *testing.T) {
	kube, known := fake.NewClientBuilder().WithScheme(scheme.Scheme).Build(), launches.NewBackoff()
	known.Failed(launches.Target{NodePool: "default"}, pacing.Joins)
	keeper := keeping(kube, known)
	must(t, keeper.Load(t.Context()))
	must(t, keeper.Save(t.Context()))
}

// A crash must buy nothing that the process before has found not to work.
func TestRefusalsAndUnavailablePlansAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type process struct {
			rejected *launches.Refusals
			plans    *catalog.Catalog
			keeper   *stored.Keeper
		}
		kube, from := cluster(""), launches.Source{NodePool: launches.Version{UID: "p", Generation: 1}, NodeClass: launches.Version{UID: "c"}}
		start := func() process {
			p := process{rejected: launches.NewRefusals(), plans: listed(t)}
			p.keeper = stored.New(kube, kube, name, stored.Of(stored.RefusedAnnotation, p.rejected.Export, p.rejected.Import),
				stored.Of(stored.PlansAnnotation, p.plans.Marks, p.plans.TakeUp))
			must(t, p.keeper.Load(t.Context()))
			return p
		}
		before := start()
		before.rejected.Note(from, "firewall_id", "no firewall 7")
		before.plans.MarkUnavailable("g6-standard-2", catalog.NoCapacity)
		must(t, before.keeper.Save(t.Context()))

		time.Sleep(2 * time.Minute)
		after := start()
		if refusal, is := after.rejected.Of(from); !is || refusal.Message != "no firewall 7" {
			t.Errorf("the refused launch is tried again: %+v", refusal)
		}
		if cause, is := after.plans.Unavailable("g6-standard-2"); !is || cause != catalog.NoCapacity {
			t.Errorf("the plan that cannot be had is bought again: %q", cause)
		}
		time.Sleep(time.Minute + time.Second)
		if cause, is := after.plans.Unavailable("g6-standard-2"); is {
			t.Errorf("the restart made the mark longer: %q", cause)
		}
		if late := start(); len(late.plans.Marks()) > 0 {
			t.Error("a mark that has ended is taken up")
		}
		time.Sleep(launches.RefusalLasts)
		must(t, after.keeper.Save(t.Context()))
		configMap := &corev1.ConfigMap{}
		must(t, kube.Get(t.Context(), name, configMap))
		if len(configMap.Annotations) != 2 {
			t.Errorf("what has ended is kept: %v", configMap.Annotations)
		}
	})
}

type plans []api.LinodeType

func (p plans) ListTypes(context.Context, linode.Filter) iter.Seq2[api.LinodeType, error] {
	return func(yield func(api.LinodeType, error) bool) {
		for _, plan := range p {
			if !yield(plan, nil) {
				return
			}
		}
	}
}

func (p plans) RegionAvailability(context.Context, string) ([]api.RegionAvailability, error) {
	return nil, nil
}

func listed(t *testing.T) *catalog.Catalog {
	t.Helper()
	market := catalog.NewCatalog(plans{{ID: "g6-standard-2", Class: "standard", VCPUs: 2, Memory: 4096, Disk: 81920,
		Price: api.Price{Hourly: 0.036}}}, catalog.Config{Region: "us-ord"})
	must(t, market.Refresh(t.Context()))
	return market
}
