package stored_test

import (
	"errors"
	"fmt"
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

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches/stored"
)

var name = types.NamespacedName{Namespace: "kube-system", Name: "karpenter-learned-capacity"}

func cluster(annotation string) client.Client {
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name,
		Annotations: map[string]string{"other": "stays", stored.PausesAnnotation: annotation}}, Data: map[string]string{"g6-standard-4": "{}"}}
	return fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(configMap).Build()
}

func keeping(kube client.Client, memory *launches.Memory) *stored.Keeper {
	return stored.New(kube, kube, name, memory)
}

// refuse records a refusal of a launch that a user has to end.
func refuse(m *launches.Memory, from launches.Source, field, message string) {
	m.Failed(launches.Launch{NodePool: "default", NodeClass: "default", From: from},
		&claims.Error{Kind: claims.KindInvalid, Field: field, Effect: claims.EffectNone, Err: errors.New(message)})
}

func neverJoined(m *launches.Memory, n int, t launches.Target) (pause time.Duration) {
	pause, _ = m.NeverJoined(types.UID(fmt.Sprint(n)), t)
	return pause
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
			full, long := launches.New(launches.Config{}), strings.Repeat("the API says <no> & more ", 200)
			for n := range refusals {
				refuse(full, launches.Source{
					NodePool:  launches.Version{UID: types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", n)), Generation: 12},
					NodeClass: launches.Version{UID: "11111111-1111-1111-1111-111111111111", Generation: 12},
				}, "labels", long)
				neverJoined(full, n, launches.Target{NodePool: fmt.Sprintf("nodepool-of-a-team-%d", n), Plan: "g6-dedicated-56"})
				full.Failed(launches.Launch{Plan: fmt.Sprintf("g6-dedicated-%d", n)}, soldOut)
			}
			kube := cluster("")
			must(t, keeping(kube, full).Save(t.Context()))
			configMap := &corev1.ConfigMap{}
			must(t, kube.Get(t.Context(), name, configMap))
			total := 0
			for key, value := range configMap.Annotations {
				total += len(key) + len(value)
			}
			time.Sleep(2 * time.Second)
			after := launches.New(launches.Config{})
			must(t, keeping(kube, after).Load(t.Context()))
			got := after.Export()
			if total > 250<<10 || len(got.Refusals) < kept || len(got.Pauses) < kept || len(got.Rests) < kept {
				t.Errorf("%d refusals: %d bytes of annotations; %d refusals, %d pauses and %d rests are kept, want %d", refusals, total,
					len(got.Refusals), len(got.Pauses), len(got.Rests), kept)
			}
		})
	}
}

func TestAProcessStartedAgainKeepsThePauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kube, before := cluster(""), launches.New(launches.Config{})
		for n := range 3 {
			neverJoined(before, n, launches.Target{NodePool: "default", Plan: "g6-standard-4"})
		}
		must(t, keeping(kube, before).Save(t.Context()))

		after := launches.New(launches.Config{})
		keeper := keeping(kube, after)
		must(t, keeper.Load(t.Context()))
		if !after.Pausing("default", "g6-standard-4") || after.Pausing("default", "g6-standard-2") {
			t.Error("the plan that failed is bought at once")
		}
		if pause := neverJoined(after, 4, launches.Target{NodePool: "default", Plan: "g6-standard-4"}); pause != 15*time.Minute {
			t.Errorf("the next pause is %s, want the fourth in a row", pause)
		}
		after.Joined("default", "g6-standard-4", time.Now().Add(time.Second))
		must(t, keeper.Save(t.Context()))
		configMap := &corev1.ConfigMap{}
		must(t, kube.Get(t.Context(), name, configMap))
		if _, kept := configMap.Annotations[stored.PausesAnnotation]; kept || configMap.Annotations["other"] != "stays" ||
			len(configMap.Data) != 1 {
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
			kube, known := cluster(content), launches.New(launches.Config{})
			must(t, keeping(kube, known).Load(t.Context()))
			if failures := known.Pauses("default"); len(failures) > 0 {
				t.Errorf("%+v", failures)
			}
		})
	}
}

func TestWithoutTheConfigMapNothingIsKept(t *testing.T) {
	kube, known := fake.NewClientBuilder().WithScheme(scheme.Scheme).Build(), launches.New(launches.Config{})
	neverJoined(known, 1, launches.Target{NodePool: "default"})
	keeper := keeping(kube, known)
	must(t, keeper.Load(t.Context()))
	must(t, keeper.Save(t.Context()))
}

var soldOut = &claims.Error{Kind: claims.KindInsufficientCapacity}

// After a crash, the new process must not try launches that the crashed process has found to fail.
func TestRefusalsAndRestingPlansAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type process struct {
			*launches.Memory
			keeper *stored.Keeper
		}
		kube, from := cluster(""), launches.Source{NodePool: launches.Version{UID: "p", Generation: 1}, NodeClass: launches.Version{UID: "c"}}
		start := func() process {
			memory := launches.New(launches.Config{})
			p := process{memory, keeping(kube, memory)}
			must(t, p.keeper.Load(t.Context()))
			return p
		}
		before := start()
		refuse(before.Memory, from, "firewall_id", "no firewall 7")
		before.Failed(launches.Launch{Plan: "g6-standard-2"}, soldOut)
		must(t, before.keeper.Save(t.Context()))

		time.Sleep(2 * time.Minute)
		after := start()
		if refusal, is := after.Refused(from); !is || !strings.HasSuffix(refusal.Message, "no firewall 7") {
			t.Errorf("the refused launch is tried again: %+v", refusal)
		}
		if cause, is := after.Resting("g6-standard-2"); !is || cause != launches.NoCapacity {
			t.Errorf("the plan that cannot be had is bought again: %q", cause)
		}
		time.Sleep(time.Minute + time.Second)
		if cause, is := after.Resting("g6-standard-2"); is {
			t.Errorf("the restart made the rest longer: %q", cause)
		}
		if late := start(); len(late.Export().Rests) > 0 {
			t.Error("a rest that has ended is taken up")
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
