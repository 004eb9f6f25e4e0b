package pauses_test

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/pacing"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/backoff"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/pauses"
)

var name = types.NamespacedName{Namespace: "kube-system", Name: "karpenter-learned-capacity"}

func cluster(annotation string) client.Client {
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name,
		Annotations: map[string]string{"other": "stays", pauses.Annotation: annotation}}, Data: map[string]string{"g6-standard-4": "{}"}}
	return fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(configMap).Build()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAProcessStartedAgainKeepsThePauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kube, before := cluster(""), backoff.New()
		for range 3 {
			before.Failed(backoff.Target{NodePool: "default", Plan: "g6-standard-4"}, pacing.Joins)
		}
		must(t, pauses.New(kube, kube, before, name).Save(t.Context()))

		after := backoff.New()
		keeper := pauses.New(kube, kube, after, name)
		must(t, keeper.Load(t.Context()))
		if !after.Pausing("default", "g6-standard-4") || after.Pausing("default", "g6-standard-2") {
			t.Error("the plan that failed is bought at once")
		}
		if pause := after.Failed(backoff.Target{NodePool: "default", Plan: "g6-standard-4"}, pacing.Joins); pause != 15*time.Minute {
			t.Errorf("the next pause is %s, want the fourth in a row", pause)
		}
		after.Joined("default", "g6-standard-4", time.Now().Add(time.Second))
		must(t, keeper.Save(t.Context()))
		configMap := &corev1.ConfigMap{}
		must(t, kube.Get(t.Context(), name, configMap))
		if _, kept := configMap.Annotations[pauses.Annotation]; kept || configMap.Annotations["other"] != "stays" || len(configMap.Data) != 1 {
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
			kube, known := cluster(content), backoff.New()
			must(t, pauses.New(kube, kube, known, name).Load(t.Context()))
			if failures := known.Failures("default"); len(failures) > 0 {
				t.Errorf("%+v", failures)
			}
		})
	}
}

func TestWithoutTheConfigMapNothingIsKept(t *testing.T) {
	kube, known := fake.NewClientBuilder().WithScheme(scheme.Scheme).Build(), backoff.New()
	known.Failed(backoff.Target{NodePool: "default"}, pacing.Joins)
	keeper := pauses.New(kube, kube, known, name)
	must(t, keeper.Load(t.Context()))
	must(t, keeper.Save(t.Context()))
}
