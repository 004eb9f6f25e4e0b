package status_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	opstatus "github.com/awslabs/operatorpkg/status"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

func ptr[T any](value T) *T { return &value }

// Each case has one condition of a spec, and words that its message must have.
func TestEvaluate(t *testing.T) {
	const (
		validation = v1alpha1.ConditionValidationSucceeded
		version    = v1alpha1.ConditionKubernetesVersionReady
		firewall   = v1alpha1.ConditionFirewallReady
		image      = v1alpha1.ConditionImageReady
		group      = v1alpha1.ConditionPlacementGroupReady
	)
	for _, test := range []struct {
		name      string
		cluster   status.Cluster
		spec      v1alpha1.LinodeNodeClassSpec
		condition string
		status    metav1.ConditionStatus
		reason    string
		words     []string
	}{
		{"nothing set, standard", standard, v1alpha1.LinodeNodeClassSpec{}, validation, "True", validation, nil},
		{"nothing set, standard", standard, v1alpha1.LinodeNodeClassSpec{}, version, "True", version, nil},
		{"nothing set, standard", standard, v1alpha1.LinodeNodeClassSpec{}, firewall, "True", v1alpha1.ReasonNotRequested, nil},
		{"nothing set, enterprise", enterprise, v1alpha1.LinodeNodeClassSpec{}, version, "True", version, nil},

		{"restricted tag", standard, v1alpha1.LinodeNodeClassSpec{Tags: []string{"team=a", "karpenter.sh/nodeclaim=x"}}, validation,
			"False", v1alpha1.ReasonTagValidationFailed, []string{`"karpenter.sh/nodeclaim=x"`, "managed by", "remove it"}},
		{"two restricted tags", standard, v1alpha1.LinodeNodeClassSpec{Tags: []string{"lke1", "nodepool=2"}}, validation,
			"False", v1alpha1.ReasonTagValidationFailed, []string{`"lke1"`, `"nodepool=2"`}},
		{"short tag of an older CRD", standard, v1alpha1.LinodeNodeClassSpec{Tags: []string{"ab"}}, validation,
			"False", v1alpha1.ReasonTagValidationFailed, []string{`"ab"`, "3 to 50"}},
		{"long tag of an older CRD", standard, v1alpha1.LinodeNodeClassSpec{Tags: []string{strings.Repeat("ä", 51)}}, validation,
			"False", v1alpha1.ReasonTagValidationFailed, []string{"51 characters"}},
		{"tag of 50 characters and 100 bytes", standard, v1alpha1.LinodeNodeClassSpec{Tags: []string{strings.Repeat("ä", 50)}}, validation,
			"True", validation, nil},

		{"version on standard", standard, v1alpha1.LinodeNodeClassSpec{LKEK8sVersion: "1.35"}, validation,
			"False", v1alpha1.ReasonLKEK8sVersionUnsupported, []string{`"1.35"`, "Standard", "remove spec.lkeK8sVersion"}},
		{"version on standard", standard, v1alpha1.LinodeNodeClassSpec{LKEK8sVersion: "1.35"}, version,
			"False", v1alpha1.ReasonLKEK8sVersionUnsupported, []string{"Standard"}},
		{"version in instance mode", instance, v1alpha1.LinodeNodeClassSpec{LKEK8sVersion: "v1.35.1"}, validation,
			"False", v1alpha1.ReasonLKEK8sVersionUnsupported, []string{"instance mode"}},
		{"version of the control plane", enterprise, v1alpha1.LinodeNodeClassSpec{LKEK8sVersion: "v1.33.6+lke7"}, validation, "True", validation,
			nil},
		{"version of the control plane without its v", enterprise, v1alpha1.LinodeNodeClassSpec{LKEK8sVersion: "1.33.6+lke7"}, version, "True",
			version, nil},
		{"another version", enterprise, v1alpha1.LinodeNodeClassSpec{LKEK8sVersion: "v1.32.9+lke4"}, validation,
			"False", v1alpha1.ReasonLKEK8sVersionControlPlaneMismatch, []string{`"v1.32.9+lke4"`, `"v1.33.6+lke7"`, "set spec.lkeK8sVersion"}},
		{"another version", enterprise, v1alpha1.LinodeNodeClassSpec{LKEK8sVersion: "v1.32.9+lke4"}, version,
			"False", v1alpha1.ReasonLKEK8sVersionControlPlaneMismatch, nil},
		{"control plane's version not known", status.Cluster{Mode: v1alpha1.ModeLKE, Tier: status.TierEnterprise},
			v1alpha1.LinodeNodeClassSpec{LKEK8sVersion: "v1.33.6+lke7"}, version, "Unknown", v1alpha1.ReasonCheckFailed, []string{"repeated"}},
		{"isolation on Standard", standard, v1alpha1.LinodeNodeClassSpec{Isolation: &v1alpha1.Isolation{PublicIPv4: ptr(false)}}, validation,
			"False", v1alpha1.ReasonIsolationUnsupported, []string{"spec.isolation", "LKE Enterprise", "remove spec.isolation"}},
		{"isolation that takes nothing away, on Standard", standard,
			v1alpha1.LinodeNodeClassSpec{Isolation: &v1alpha1.Isolation{PublicIPv4: ptr(true)}}, validation, "False",
			v1alpha1.ReasonIsolationUnsupported, nil},
		{"isolation on Enterprise", enterprise, v1alpha1.LinodeNodeClassSpec{Isolation: &v1alpha1.Isolation{PublicIPv4: ptr(false)}}, validation,
			"True", validation, nil},
		{"tag and version at once", standard, v1alpha1.LinodeNodeClassSpec{Tags: []string{"lke1"}, LKEK8sVersion: "1.35"}, validation,
			"False", v1alpha1.ReasonTagValidationFailed, []string{"lke1", "lkeK8sVersion"}},

		{"fields without effect", standard, v1alpha1.LinodeNodeClassSpec{Image: "linode/debian12", VPCID: ptr(3)}, validation,
			"True", v1alpha1.ReasonFieldsWithoutEffect, []string{"image, vpcID", "lke mode"}},
		{"settings of the kubelet that count for capacity", standard,
			v1alpha1.LinodeNodeClassSpec{Kubelet: &v1alpha1.KubeletConfiguration{
				KubeReserved: map[string]v1alpha1.ReservedQuantity{"cpu": "1"}}}, validation, "True", validation, nil},
		{"settings of the kubelet that do not", standard,
			v1alpha1.LinodeNodeClassSpec{Kubelet: &v1alpha1.KubeletConfiguration{MaxPods: ptr(int32(50)), CPUCFSQuota: ptr(false)}}, validation,
			"True", v1alpha1.ReasonFieldsWithoutEffect, []string{"kubelet.maxPods, kubelet.cpuCFSQuota"}},
		{"further fields of the kubelet, of which LKE takes none", standard,
			v1alpha1.LinodeNodeClassSpec{Kubelet: &v1alpha1.KubeletConfiguration{
				ExtraConfig: map[string]apiextensionsv1.JSON{"maxParallelImagePulls": {Raw: []byte("5")}}}}, validation,
			"True", v1alpha1.ReasonFieldsWithoutEffect, []string{"kubelet.extraConfig", "lke mode"}},
		{"swap by its other name", standard, v1alpha1.LinodeNodeClassSpec{SwapSizeAlpha: ptr(512)}, validation,
			"True", v1alpha1.ReasonFieldsWithoutEffect, []string{"swapSize"}},
		{"default image", standard, v1alpha1.LinodeNodeClassSpec{Image: v1alpha1.DefaultImage}, validation, "True", validation, nil},
		{"the same fields in instance mode", instance, v1alpha1.LinodeNodeClassSpec{Image: "linode/debian12", VPCID: ptr(3)}, validation, "True",
			validation, nil},

		{"firewall", enterprise, v1alpha1.LinodeNodeClassSpec{FirewallID: ptr(1)}, firewall, "True", firewall, nil},
		{"firewall that is not there", enterprise, v1alpha1.LinodeNodeClassSpec{FirewallID: ptr(9)}, firewall,
			"False", v1alpha1.ReasonFirewallNotFound, []string{"9", "spec.firewallID"}},
		{"deleted firewall", enterprise, v1alpha1.LinodeNodeClassSpec{FirewallID: ptr(2)}, firewall, "False", v1alpha1.ReasonFirewallNotFound,
			nil},
		{"disabled firewall", enterprise, v1alpha1.LinodeNodeClassSpec{FirewallID: ptr(3)}, firewall, "True", v1alpha1.ReasonFirewallDisabled,
			[]string{"filters nothing"}},
		{"firewall on standard", standard, v1alpha1.LinodeNodeClassSpec{FirewallID: ptr(1)}, firewall,
			"False", v1alpha1.ReasonFirewallUnsupported, []string{"Standard", "remove spec.firewallID"}},
		{"firewall in instance mode", instance, v1alpha1.LinodeNodeClassSpec{FirewallID: ptr(1)}, firewall, "True", firewall, nil},

		{"default image of a class without one", instance, v1alpha1.LinodeNodeClassSpec{}, image, "True", image, nil},
		{"image that is not there", instance, v1alpha1.LinodeNodeClassSpec{Image: "private/9"}, image, "False", v1alpha1.ReasonImageNotFound,
			[]string{`"private/9"`, "spec.image"}},
		{"image being uploaded", instance, v1alpha1.LinodeNodeClassSpec{Image: "private/1"}, image, "False", v1alpha1.ReasonImageUnsuitable,
			[]string{"not available"}},
		{"deprecated image", instance, v1alpha1.LinodeNodeClassSpec{Image: "linode/old"}, image, "True", v1alpha1.ReasonImageDeprecated,
			[]string{"newer one"}},
		{"image without cloud-init", instance, v1alpha1.LinodeNodeClassSpec{Image: "private/2"}, image, "False", v1alpha1.ReasonImageUnsuitable,
			[]string{"cloud-init"}},

		{"no placement group", instance, v1alpha1.LinodeNodeClassSpec{}, group, "True", v1alpha1.ReasonNotRequested, nil},
		{"placement group", instance, v1alpha1.LinodeNodeClassSpec{PlacementGroup: &v1alpha1.PlacementGroup{ID: 1}}, group, "True", group, nil},
		{"placement group that is not there", instance, v1alpha1.LinodeNodeClassSpec{PlacementGroup: &v1alpha1.PlacementGroup{ID: 9}}, group,
			"False", v1alpha1.ReasonPlacementGroupNotFound, []string{"spec.placementGroup.id"}},
		{"placement group elsewhere", instance, v1alpha1.LinodeNodeClassSpec{PlacementGroup: &v1alpha1.PlacementGroup{ID: 2}}, group,
			"False", v1alpha1.ReasonPlacementGroupWrongRegion, []string{"de-fra-2", "us-ord"}},
	} {
		t.Run(test.name+" "+test.condition, func(t *testing.T) {
			result := status.Evaluate(context.Background(), classOf(test.spec), test.cluster, anAccount())
			got := find(t, result.Conditions, test.condition)
			expect(t, got, test.status, test.reason, test.words)
			if result.Err != nil {
				t.Errorf("unexpected error: %v", result.Err)
			}
		})
	}
}

// expect compares a condition with the expected one, and its message with the words that it must have.
func expect(t *testing.T, got opstatus.Condition, status metav1.ConditionStatus, reason string, words []string) {
	t.Helper()
	if got.Status != status || got.Reason != reason {
		t.Errorf("%s is %s with reason %s, expected %s with %s: %s", got.Type, got.Status, got.Reason, status, reason, got.Message)
	}
	for _, word := range words {
		if !strings.Contains(got.Message, word) {
			t.Errorf("the message %q lacks %q", got.Message, word)
		}
	}
}

func find(t *testing.T, conditions []opstatus.Condition, conditionType string) opstatus.Condition {
	t.Helper()
	for _, c := range conditions {
		if c.Type == conditionType {
			return c
		}
	}
	t.Fatalf("no condition %s among %v", conditionType, conditions)
	return opstatus.Condition{}
}

func TestResolved(t *testing.T) {
	result := status.Evaluate(context.Background(), classOf(v1alpha1.LinodeNodeClassSpec{FirewallID: ptr(1)}), enterprise, anAccount())
	if !result.Ready() || result.KubernetesVersion != "v1.33.6+lke7" || result.Firewall == nil ||
		*result.Firewall != (v1alpha1.Firewall{ID: 1, Label: "nodes"}) || result.Images != nil {
		t.Errorf("resolved: %+v", result)
	}
	result = status.Evaluate(context.Background(), classOf(v1alpha1.LinodeNodeClassSpec{}), instance, anAccount())
	if len(result.Images) != 1 || result.Images[0] != (v1alpha1.Image{ID: v1alpha1.DefaultImage, Label: "Ubuntu"}) {
		t.Errorf("images: %v", result.Images)
	}
}

// Only objects that the class names are read, each once.
func TestAsked(t *testing.T) {
	spec := v1alpha1.LinodeNodeClassSpec{FirewallID: ptr(1), PlacementGroup: &v1alpha1.PlacementGroup{ID: 1}}
	for _, test := range []struct {
		name    string
		cluster status.Cluster
		spec    v1alpha1.LinodeNodeClassSpec
		asked   string
	}{
		{"lke, nothing named", standard, v1alpha1.LinodeNodeClassSpec{}, ""},
		{"lke, everything named", enterprise, spec, "firewall 1"},
		{"instance, everything named", instance, spec, "firewall 1, region us-ord, image linode/ubuntu22.04, placement group 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := anAccount()
			status.Evaluate(context.Background(), classOf(test.spec), test.cluster, a)
			if asked := strings.Join(a.asked, ", "); asked != test.asked {
				t.Errorf("asked for %q, expected %q", asked, test.asked)
			}
		})
	}
	result := status.Evaluate(context.Background(), classOf(spec), instance, nil)
	if !result.Ready() || find(t, result.Conditions, v1alpha1.ConditionFirewallReady).Reason != v1alpha1.ReasonCheckSkipped {
		t.Errorf("with checks switched off: %v", result.Conditions)
	}
}

// Every field of the spec, the kubelet's among them, has an effect on LKE nodes or is named as having none. A field that
// is added to the type is found here.
func TestFieldsHaveAnEffectOrAreNamed(t *testing.T) {
	withEffect := []string{"Tags", "FirewallID", "LKEK8sVersion", "DiskEncryption", "Isolation",
		"Kubelet.SystemReserved", "Kubelet.KubeReserved", "Kubelet.EvictionHard"}
	spec := reflect.TypeFor[v1alpha1.LinodeNodeClassSpec]()
	for i := range spec.NumField() {
		if spec.Field(i).Name != "Kubelet" {
			class := &v1alpha1.LinodeNodeClass{}
			checkEffect(t, class, withEffect, spec.Field(i).Name, reflect.ValueOf(&class.Spec).Elem().Field(i))
			continue
		}
		kubelet := reflect.TypeFor[v1alpha1.KubeletConfiguration]()
		for j := range kubelet.NumField() {
			class := &v1alpha1.LinodeNodeClass{Spec: v1alpha1.LinodeNodeClassSpec{Kubelet: &v1alpha1.KubeletConfiguration{}}}
			checkEffect(t, class, withEffect, "Kubelet."+kubelet.Field(j).Name, reflect.ValueOf(class.Spec.Kubelet).Elem().Field(j))
		}
	}
}

func checkEffect(t *testing.T, class *v1alpha1.LinodeNodeClass, withEffect []string, name string, field reflect.Value) {
	t.Helper()
	switch field.Kind() {
	case reflect.Pointer:
		field.Set(reflect.New(field.Type().Elem()))
	case reflect.String:
		field.SetString("x")
	case reflect.Slice:
		field.Set(reflect.MakeSlice(field.Type(), 1, 1))
	case reflect.Map:
		field.Set(reflect.MakeMap(field.Type()))
		field.SetMapIndex(reflect.ValueOf("x"), reflect.Zero(field.Type().Elem()))
	default:
		t.Fatalf("%s: no value for a %s", name, field.Type())
	}
	result := status.Evaluate(context.Background(), class, enterprise, nil)
	condition := find(t, result.Conditions, v1alpha1.ConditionValidationSucceeded)
	if named := condition.Reason == v1alpha1.ReasonFieldsWithoutEffect; named == slices.Contains(withEffect, name) {
		t.Errorf("%s is named as without effect: %t (%s)", name, named, condition.Message)
	}
}
