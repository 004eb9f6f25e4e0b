package clusterapi

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

func refused(d clusterapi.Deployment, why string) clusterapi.Deployment {
	d.Refusal = why
	return d
}

func nodes(all ...client.Object) client.Reader {
	return fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(all...).Build()
}

func TestTheConditionNamesWhatCannotBeUsedAndTheCure(t *testing.T) {
	rolling := refused(of("rolling", "g6-standard-2"), "set it to OnDelete")
	for name, test := range map[string]struct {
		deployments []clusterapi.Deployment
		pools       []string
		reason      string
		status      metav1.ConditionStatus
		words       []string
	}{
		"all are usable": {[]clusterapi.Deployment{of("a", "g6-standard-2")}, nil, "", "", nil},
		"none has opted in": {nil, nil, v1alpha1.ReasonNoMachineDeployments, metav1.ConditionFalse,
			[]string{clusterapi.EnabledLabel, "spec.machineDeploymentSelector"}},
		"MachinePools alone": {nil, []string{"pool"}, v1alpha1.ReasonMachinePoolsUnsupported, metav1.ConditionFalse,
			[]string{"pool", "use MachineDeployments"}},
		"none is usable": {[]clusterapi.Deployment{rolling}, nil, v1alpha1.ReasonMachineDeploymentsUnusable, metav1.ConditionFalse,
			[]string{"MachineDeployment rolling", "OnDelete"}},
		"one is not": {[]clusterapi.Deployment{of("a", "g6-standard-2"), rolling}, []string{"pool"},
			v1alpha1.ReasonSomeMachineDeploymentsUnusable, metav1.ConditionTrue, []string{"MachineDeployment rolling", "the MachinePools pool"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := newObjects(t, test.deployments...)
			o.pools = test.pools
			found := seen(t, o).check(t.Context(), nodes(), &v1alpha1.LinodeNodeClass{})
			if found.Reason != test.reason || found.Status != test.status {
				t.Errorf("%+v, want %s with %s", found, test.status, test.reason)
			}
			for _, word := range test.words {
				if !strings.Contains(found.Message, word) {
					t.Errorf("%q lacks %q", found.Message, word)
				}
			}
		})
	}
}

// Without Karpenter's taint pods come to nodes that no NodeClaim has.
func TestATemplateWithoutTheUnregisteredTaintIsReported(t *testing.T) {
	for name, test := range map[string]struct {
		kind, taints string
		want         bool
	}{
		"no taint":          {"KubeadmConfigTemplate", "[]", true},
		"another taint":     {"KubeadmConfigTemplate", "[{key: team, effect: NoSchedule}]", true},
		"the taint":         {"KubeadmConfigTemplate", "[{key: karpenter.sh/unregistered, effect: NoExecute}]", false},
		"another bootstrap": {"TalosConfigTemplate", "[]", false},
	} {
		t.Run(name, func(t *testing.T) {
			d := of("general", "g6-standard-2")
			d.Bootstrap = clusterapi.TemplateRef{Kind: test.kind, Name: "workers"}
			o := newObjects(t, d)
			o.templates["workers"] = parse(t, `{kind: `+test.kind+`, metadata: {name: workers},
				spec: {template: {spec: {joinConfiguration: {nodeRegistration: {taints: `+test.taints+`}}}}}}`)
			found := seen(t, o).check(t.Context(), nodes(), &v1alpha1.LinodeNodeClass{})
			reported := found.Status == metav1.ConditionTrue && found.Reason == v1alpha1.ReasonUnregisteredTaintMissing &&
				strings.Contains(found.Message, "MachineDeployment general")
			if reported != test.want || !test.want && found.Reason != "" {
				t.Errorf("%+v", found)
			}
		})
	}
}

func TestTheConditionIsUnknownWhileTheManagementClusterDoesNotAnswer(t *testing.T) {
	o := newObjects(t)
	o.err = errors.New("connection refused")
	v := newView(o, region, nil)
	found := v.check(t.Context(), nodes(), &v1alpha1.LinodeNodeClass{})
	if found.Status != metav1.ConditionUnknown || found.Reason != v1alpha1.ReasonCheckFailed || !strings.Contains(found.Message, "refused") {
		t.Errorf("%+v", found)
	}
}

// The labels that the templates determine are compared with the node's labels after the node is initialized.
func TestANodeThatDiffersFromItsTemplatesIsReported(t *testing.T) {
	d := of("general", "g6-standard-2")
	d.NodeLabels = map[string]string{"node.cluster.x-k8s.io/pool": "a"}
	d.Sets = append(d.Sets, clusterapi.Set{Name: "older"})
	planned := map[string]string{karpv1.NodeInitializedLabelKey: "true", corev1.LabelInstanceTypeStable: "g6-standard-2",
		corev1.LabelTopologyRegion: region, "node.cluster.x-k8s.io/pool": "a"}
	for name, test := range map[string]struct {
		set, key, value string
		want            string
	}{
		"as planned":                    {"general-1", "other", "x", ""},
		"another label":                 {"general-1", "node.cluster.x-k8s.io/pool", "b", `node.cluster.x-k8s.io/pool="b"`},
		"another type":                  {"general-1", corev1.LabelInstanceTypeStable, "g6-standard-1", `"g6-standard-1"`},
		"not initialized":               {"general-1", karpv1.NodeInitializedLabelKey, "", ""},
		"a Machine of an older version": {"older", "node.cluster.x-k8s.io/pool", "b", ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := newObjects(t, d)
			o.world.Machines = []clusterapi.Machine{{Name: "m", Deployment: "general", Set: test.set, NodeName: "n", ProviderID: "linode://1"}}
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{}}}
			for key, value := range planned {
				node.Labels[key] = value
			}
			node.Labels[test.key] = test.value
			foreign := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "foreign"}}
			found := seen(t, o).check(t.Context(), nodes(node, foreign), &v1alpha1.LinodeNodeClass{})
			if test.want == "" && found.Reason != "" || !strings.Contains(found.Message, test.want) {
				t.Errorf("%+v, want %q", found, test.want)
			}
			if test.want != "" && (found.Status != metav1.ConditionTrue || found.Reason != v1alpha1.ReasonNodesDiffer) {
				t.Errorf("%+v", found)
			}
		})
	}
}
