package clusterapi

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

func names(all []deployment) (names []string) {
	for _, d := range all {
		names = append(names, d.Name)
	}
	return names
}

// Of one type the cheapest deployment is used first; 0.05 is the catalogue's price.
func TestAClassSelectsDeploymentsByLabelTheCheapestOfATypeFirst(t *testing.T) {
	v := seen(t, newObjects(t, priced(of("dear", "g6-standard-2"), "0.9"), of("listed", "g6-standard-2"),
		priced(of("cheap", "g6-standard-2"), "0.01"), of("large", "g6-standard-4")))
	for name, test := range map[string]struct {
		selector *metav1.LabelSelector
		want     []string
	}{
		"none":   {nil, []string{"cheap", "listed", "dear", "large"}},
		"empty":  {&metav1.LabelSelector{}, []string{"cheap", "listed", "dear", "large"}},
		"labels": {&metav1.LabelSelector{MatchLabels: map[string]string{"pool": "listed"}}, []string{"listed"}},
		"expressions": {&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "pool", Operator: "NotIn",
			Values: []string{"dear", "large"}}}}, []string{"cheap", "listed"}},
		"one that is not valid": {&metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "pool", Operator: "Like"}}}, nil},
	} {
		if got := names(v.selected(&v1alpha1.LinodeNodeClassSpec{MachineDeploymentSelector: test.selector})); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// Requests are few: a template is read once in templateAge, however often the cluster is.
func TestATemplateIsReadAgainWhenItIsOld(t *testing.T) {
	o := newObjects(t, of("a", "g6-standard-2"), of("b", "g6-standard-2"))
	v := newView(o, region, func(string) (float64, bool) { return 0, false })
	now := time.Unix(0, 0)
	v.now = func() time.Time { return now }
	for range 10 {
		if err := v.refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if o.read["g6-standard-2"] != 1 {
		t.Errorf("the template was read %d times", o.read["g6-standard-2"])
	}
	now = now.Add(templateAge)
	if err := v.refresh(t.Context()); err != nil || o.read["g6-standard-2"] != 2 {
		t.Errorf("the template was read %d times after %s, %v", o.read["g6-standard-2"], templateAge, err)
	}
}

func TestADeploymentThatCannotBePlannedWithHasAProblem(t *testing.T) {
	o := newObjects(t, of("elsewhere", "abroad"), of("lost", "gone"), of("bootstrapped", "g6-standard-2"))
	o.templates["abroad"] = parse(t, `{kind: LinodeMachineTemplate, spec: {template: {spec: {type: g6-standard-2, region: de-fra-2}}}}`)
	o.world.Deployments[2].Bootstrap.Name = "missing"
	v := seen(t, o)
	for name, problem := range map[string]string{"elsewhere": "CLUSTER_REGION is us-ord", "lost": "infrastructure template cannot be read",
		"bootstrapped": "bootstrap template cannot be read"} {
		if d, _ := v.deployment(name); !strings.Contains(d.unusable(), problem) {
			t.Errorf("%s: %q, want %q", name, d.unusable(), problem)
		}
	}
}
