package requirement_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog/requirement"
)

// types are Linode's own plans.
func types(t *testing.T) (all []*cloudprovider.InstanceType) {
	t.Helper()
	sim, err := linodesim.New(linodesim.Config{ValidateAnswers: true, Profile: linodesim.Instant()})
	if err != nil {
		t.Fatal(err)
	}
	client, err := linode.New(linode.Config{Token: linode.StaticToken(linodesim.DefaultToken), Transport: sim.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	plans, err := catalog.Plans(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	for _, plan := range plans {
		all = append(all, catalog.Convert(plan, true, catalog.Settings{Region: "us-ord"}))
	}
	if len(all) < 10 {
		t.Fatalf("%d plans", len(all))
	}
	return all
}

func selector(key string, operator corev1.NodeSelectorOperator, values ...string) requirement.Selector {
	return requirement.Selector{Key: key, Operator: operator, Values: values}
}

func TestTheRequirementThatFailsIsNamedWithNearValues(t *testing.T) {
	const in = corev1.NodeSelectorOpIn
	amd64, plan := selector(corev1.LabelArchStable, in, "amd64"), corev1.LabelInstanceTypeStable
	for name, tt := range map[string]struct {
		wanted []requirement.Selector
		want   string // "" = some plan meets them
	}{
		"nothing":       {nil, ""},
		"what there is": {[]requirement.Selector{amd64, selector(plan, in, "g6-standard-2")}, ""},
		"a plan between two": {[]requirement.Selector{amd64, selector(plan, in, "g6-standard-3")},
			"no plan has node.kubernetes.io/instance-type = g6-standard-3. Similar: g6-standard-2, g6-standard-4"},
		"a plan without a dash": {[]requirement.Selector{selector(plan, in, "g6-standard4")},
			"no plan has node.kubernetes.io/instance-type = g6-standard4. Similar: g6-standard-4"},
		"a plan of another cloud": {[]requirement.Selector{selector(plan, in, "m5.large")},
			"no plan has node.kubernetes.io/instance-type = m5.large. Existing values: "},
		"arm64": {[]requirement.Selector{selector(corev1.LabelArchStable, in, "arm64")},
			"no plan has kubernetes.io/arch = arm64. Existing values: amd64"},
		"a zone of another cloud": {[]requirement.Selector{selector(corev1.LabelTopologyZone, in, "us-east-1a", "us-east-1b")},
			"no plan has topology.kubernetes.io/zone in (us-east-1a, us-east-1b). Existing values: us-ord (nodes are made in the cluster's " +
				"region, and a zone is a region at Linode)"},
		"a misspelt class": {[]requirement.Selector{selector(v1alpha1.LabelInstanceClass, in, "dedicate")},
			"no plan has karpenter.k8s.linode/instance-class = dedicate. Similar: dedicated"},
		"a number between two": {[]requirement.Selector{selector(v1alpha1.LabelInstanceCPU, in, "5")},
			"no plan has karpenter.k8s.linode/instance-cpu = 5. Similar: 4, 6"},
		"a number with a unit": {[]requirement.Selector{selector(v1alpha1.LabelInstanceMemory, in, "8Gi")},
			"no plan has karpenter.k8s.linode/instance-memory = 8Gi. The values are numbers, from 1024 to "},
		"more than there is": {[]requirement.Selector{selector(v1alpha1.LabelInstanceCPU, corev1.NodeSelectorOpGt, "1000")},
			"no plan has karpenter.k8s.linode/instance-cpu > 1000. The largest is "},
		"less than there is": {[]requirement.Selector{selector(v1alpha1.LabelInstanceCPU, karpv1.NodeSelectorOpLte, "0")},
			"no plan has karpenter.k8s.linode/instance-cpu <= 0. The smallest is 1"},
		"everything excluded": {[]requirement.Selector{selector(corev1.LabelArchStable, corev1.NodeSelectorOpNotIn, "amd64")},
			"every plan has kubernetes.io/arch = amd64, which the requirement kubernetes.io/arch not in (amd64) excludes"},
		"two that exclude each other": {[]requirement.Selector{amd64, selector(v1alpha1.LabelInstanceClass, in, "nanode"),
			selector(v1alpha1.LabelInstanceCPU, in, "8")},
			"no plan meets all of these requirements: karpenter.k8s.linode/instance-class = nanode; karpenter.k8s.linode/instance-cpu = 8"},
		"spot": {[]requirement.Selector{amd64, selector(karpv1.CapacityTypeLabelKey, in, "spot")},
			"Linode sells only on-demand capacity, no spot capacity: add on-demand to the values of karpenter.sh/capacity-type, or remove the " +
				"requirement"},
		"spot or on-demand": {[]requirement.Selector{selector(karpv1.CapacityTypeLabelKey, in, "spot", "on-demand")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := requirement.Unmet(tt.wanted, types(t))
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("got %q", err)
			case tt.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.want)):
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestWhatExcludesOnePlanIsListed(t *testing.T) {
	wanted := []requirement.Selector{
		selector(v1alpha1.LabelInstanceClass, corev1.NodeSelectorOpIn, "dedicated"),
		selector(v1alpha1.LabelInstanceCPU, karpv1.NodeSelectorOpGte, "1"),
		selector(v1alpha1.LabelInstanceGPUName, corev1.NodeSelectorOpExists),
	}
	for _, it := range types(t) {
		if it.Name != "g6-standard-2" {
			continue
		}
		want := []string{"karpenter.k8s.linode/instance-class = dedicated", "karpenter.k8s.linode/instance-gpu-name exists"}
		if got := requirement.Excluding(wanted, it); !slices.Equal(got, want) {
			t.Errorf("got %q", got)
		}
		return
	}
	t.Error("there is no g6-standard-2")
}

func TestLabelsOfOtherProvidersHaveEquivalents(t *testing.T) {
	for key, want := range map[string]string{
		"karpenter.k8s.aws/instance-cpu":             v1alpha1.LabelInstanceCPU,
		"eks.amazonaws.com/instance-memory":          v1alpha1.LabelInstanceMemory,
		"karpenter.azure.com/sku-name":               corev1.LabelInstanceTypeStable,
		"karpenter.k8s.gcp/instance-family":          v1alpha1.LabelInstanceClass,
		"cloud.google.com/gke-accelerator":           v1alpha1.LabelInstanceGPUName,
		"karpenter.k8s.aws/instance-hypervisor":      "", // no label of ours means that
		"karpenter.k8s.alibabacloud/instance-memory": v1alpha1.LabelInstanceMemory,
	} {
		if ours, elsewhere := requirement.Equivalent(key); !elsewhere || ours != want {
			t.Errorf("%s: %q, %t, want %q", key, ours, elsewhere, want)
		}
	}
	for _, key := range []string{"karpenter.sh/capacity-type", v1alpha1.LabelInstanceCPU, "kubernetes.io/arch", "example.com/team", "team",
		"karpenter.kwok.sh.karpenter.sh/x"} {
		if _, elsewhere := requirement.Equivalent(key); elsewhere {
			t.Errorf("%s is taken for a label of another provider", key)
		}
	}
}
