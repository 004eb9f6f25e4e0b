package podevents_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/podevents"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/offhours"
)

// plans are the instance types of every NodePool, except for the NodePool "unknown", which has none.
type plans []*cloudprovider.InstanceType

func (p *plans) GetInstanceTypes(_ context.Context, nodePool *karpv1.NodePool) ([]*cloudprovider.InstanceType, error) {
	if nodePool.Name == "unknown" {
		return nil, errors.New("no class")
	}
	return *p, nil
}

func plan(name, cpu string) *cloudprovider.InstanceType {
	requirements := scheduling.NewRequirements(scheduling.NewRequirement(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpIn, name))
	return &cloudprovider.InstanceType{
		Name: name, Requirements: requirements,
		Capacity:  corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse("64Gi"), "pods": resource.MustParse("110")},
		Overhead:  &cloudprovider.InstanceTypeOverhead{},
		Offerings: cloudprovider.Offerings{{Requirements: scheduling.NewRequirements(), Price: 1, Available: true}},
	}
}

// limited is a ready NodePool that has used some of its limit on CPUs.
func limited(name, limit, used string) *karpv1.NodePool {
	p := pool(name, metav1.ConditionTrue, time.Hour)
	p.Spec.Limits = karpv1.Limits{"cpu": resource.MustParse(limit)}
	p.Status.Resources = corev1.ResourceList{"cpu": resource.MustParse(used)}
	return p
}

// asleep is a NodePool in its off-hours, by a condition whose times are package offhours's.
func asleep() *karpv1.NodePool {
	p := pool("asleep", metav1.ConditionTrue, time.Hour)
	p.Annotations = map[string]string{offhours.Annotation: `{windows: [{schedule: "@daily", duration: 23h}]}`}
	offhours.Decide(p, time.Date(2026, time.May, 4, 12, 0, 0, 0, time.UTC)).Apply(p)
	return p
}

func TestAPodThatWaitsForTheEndOfOffHoursHasAnEvent(t *testing.T) {
	full := asleep()
	full.Status.Resources = corev1.ResourceList{"nodes": resource.MustParse("2"), "cpu": resource.MustParse("4")} // its nodes are still there
	for name, tt := range map[string]struct {
		pools []client.Object
		cpu   string
		want  bool
	}{
		"it would hold the pod":            {[]client.Object{asleep()}, "4", true},
		"its nodes are on their way":       {[]client.Object{full}, "4", true},
		"it could not hold the pod":        {[]client.Object{asleep()}, "100", false},
		"another NodePool holds it":        {[]client.Object{asleep(), pool("wide", metav1.ConditionTrue, time.Hour)}, "4", false},
		"another NodePool has no plan":     {[]client.Object{asleep(), pool("unknown", metav1.ConditionTrue, time.Hour)}, "4", true},
		"another NodePool is at its limit": {[]client.Object{asleep(), limited("near", "10", "7")}, "4", true},
	} {
		t.Run(name, func(t *testing.T) {
			got := publishedFor(t, tt.pools, tt.cpu)
			const want = "waiting: OffHours: NodePool asleep makes no node for this pod now. Off-hours until Mon 2026-05-04 23:00 UTC"
			if strings.HasPrefix(got, want) != tt.want || !tt.want && got != "" {
				t.Errorf("published %q", got)
			}
		})
	}
}

// publishedFor are the events on a pending pod.
func publishedFor(t *testing.T, pools []client.Object, cpu string) string {
	t.Helper()
	pod := pending("waiting")
	pod.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)},
	}}}
	kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(append(pools, pod)...).
		WithIndex(&corev1.Pod{}, "spec.nodeName", func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }).Build()
	told := &published{}
	controller := podevents.NewController(kube, &plans{plan("two", "2"), plan("eight", "8")}, accepted, told)
	if _, err := controller.Reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	return strings.Join(*told, "\n")
}

func TestAPodThatLimitsAloneKeepFromANodeHasAnEvent(t *testing.T) {
	tainted := pool("tainted", metav1.ConditionTrue, time.Hour)
	tainted.Spec.Template.Spec.Taints = []corev1.Taint{{Key: "team", Value: "a", Effect: corev1.TaintEffectNoSchedule}}
	small := pool("small", metav1.ConditionTrue, time.Hour)
	small.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{
		{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"two"}},
	}
	const held = "NodePool near has 3 of 10 cpu left of spec.limits"
	for name, tt := range map[string]struct {
		pools []client.Object
		cpu   string // what the pod requests
		want  string // "" = no event
	}{
		"only plans beyond the limits hold it":      {[]client.Object{limited("near", "10", "7")}, "4", held},
		"a plan within them does":                   {[]client.Object{limited("near", "10", "7")}, "1", ""},
		"no plan at all does":                       {[]client.Object{limited("near", "10", "7")}, "100", ""},
		"core names limits that exclude every plan": {[]client.Object{limited("full", "10", "10")}, "4", ""},
		"another NodePool has room": {[]client.Object{limited("near", "10", "7"),
			pool("wide", metav1.ConditionTrue, time.Hour)}, "4", ""},
		"another NodePool with room has taints":            {[]client.Object{limited("near", "10", "7"), tainted}, "4", held},
		"another NodePool with room has small plans only":  {[]client.Object{limited("near", "10", "7"), small}, "4", held},
		"another NodePool has limits that exclude nothing": {[]client.Object{limited("near", "10", "7"), limited("far", "100", "0")}, "4", ""},
		"plans of another NodePool are not known": {[]client.Object{limited("near", "10", "7"),
			pool("unknown", metav1.ConditionTrue, time.Hour)}, "4", held},
	} {
		t.Run(name, func(t *testing.T) {
			got := publishedFor(t, tt.pools, tt.cpu)
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) || tt.want != "" &&
				!strings.HasPrefix(got, "waiting: LimitsReached: ") {
				t.Errorf("published %q, want %q", got, tt.want)
			}
		})
	}
}
