package podevents_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/podevents"
)

func inZone(operator corev1.NodeSelectorOperator, zones ...string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: corev1.LabelTopologyZone, Operator: operator, Values: zones},
	}}
}

func TestAPodOfAnotherCloudsZoneIsToldTheRegion(t *testing.T) {
	for name, tt := range map[string]struct {
		selector map[string]string
		terms    []corev1.NodeSelectorTerm
		want     string // "" = nothing
	}{
		"no zone":                 {nil, nil, ""},
		"the region":              {map[string]string{corev1.LabelTopologyZone: "us-ord"}, nil, ""},
		"a zone of another cloud": {map[string]string{corev1.LabelTopologyZone: "us-east-1a"}, nil, "us-east-1a"},
		"the region among others": {nil, []corev1.NodeSelectorTerm{inZone(corev1.NodeSelectorOpIn, "us-east-1a", "us-ord")}, ""},
		"others by affinity":      {nil, []corev1.NodeSelectorTerm{inZone(corev1.NodeSelectorOpIn, "us-east-1a", "us-east-1b")}, "us-east-1b"},
		"not the region":          {nil, []corev1.NodeSelectorTerm{inZone(corev1.NodeSelectorOpNotIn, "us-ord")}, "NotIn"},
		"one term of two": {nil, []corev1.NodeSelectorTerm{inZone(corev1.NodeSelectorOpIn, "us-east-1a"),
			inZone(corev1.NodeSelectorOpIn, "us-ord")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			pod := pending("waiting")
			pod.Spec.NodeSelector = tt.selector
			if tt.terms != nil {
				pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: tt.terms},
				}}
			}
			it := plan("g6-standard-2", "2")
			it.Offerings[0].Requirements.Add(scheduling.NewRequirement(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, "us-ord"))
			kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(pool("a", metav1.ConditionTrue, time.Hour), pod).
				WithIndex(&corev1.Pod{}, "spec.nodeName", func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }).Build()
			told := &published{}
			if _, err := podevents.NewController(kube, &plans{it}, accepted, told).Reconcile(t.Context()); err != nil {
				t.Fatal(err)
			}
			got := strings.Join(*told, "\n")
			if tt.want == "" && got != "" || tt.want != "" && (len(*told) != 1 || !strings.Contains(got, podevents.EventUnknownZone) ||
				!strings.Contains(got, tt.want) || !strings.HasSuffix(got, "a zone is the region, here us-ord")) {
				t.Errorf("told %q, want %q", *told, tt.want)
			}
		})
	}
}
