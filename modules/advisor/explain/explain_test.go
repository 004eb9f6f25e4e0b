package explain_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/explain"
	"github.com/karpenter-linode/karpenter-linode/modules/advisor/snapshot"
	"github.com/karpenter-linode/karpenter-linode/modules/advisor/whatif"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog/pricelist"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/offhours"
)

var now = time.Date(2026, time.May, 4, 12, 0, 0, 0, time.UTC)

func nodePool(name string, edit func(*karpv1.NodePool)) *karpv1.NodePool {
	np := whatif.DefaultNodePool()
	np.Name, np.UID = name, types.UID(name)
	np.StatusConditions().SetTrue(karpv1.ConditionTypeValidationSucceeded)
	np.StatusConditions().SetTrue(karpv1.ConditionTypeNodeClassReady)
	if edit != nil {
		edit(np)
	}
	return np
}

func quantities(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
}

func pod(name, node, cpu, memory string) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), Labels: map[string]string{"app": name},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "r", UID: "r", Controller: ptr.To(true)}}},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main",
			Resources: corev1.ResourceRequirements{Requests: quantities(cpu, memory)}}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	if node == "" {
		p.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable},
		}}
	}
	return p
}

// joined adds a node of Karpenter's, initialized and consolidatable, and its NodeClaim.
func joined(s *snapshot.Snapshot, name, plan, cpu, memory string, requests corev1.ResourceList) {
	labels := map[string]string{
		karpv1.NodePoolLabelKey: "default", corev1.LabelInstanceTypeStable: plan, corev1.LabelTopologyRegion: "us-ord",
		corev1.LabelTopologyZone: "us-ord", karpv1.CapacityTypeLabelKey: karpv1.CapacityTypeOnDemand, corev1.LabelHostname: name,
		karpv1.NodeRegisteredLabelKey: "true", karpv1.NodeInitializedLabelKey: "true", corev1.LabelArchStable: "amd64",
		corev1.LabelOSStable: "linux",
	}
	has := quantities(cpu, memory)
	has[corev1.ResourcePods] = resource.MustParse("110")
	claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: labels,
		CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))}}
	claim.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind, Name: "default"}
	claim.Spec.Resources.Requests = requests
	claim.Status = karpv1.NodeClaimStatus{ProviderID: "linode://" + name, NodeName: name, Capacity: has, Allocatable: has}
	for _, condition := range []string{karpv1.ConditionTypeLaunched, karpv1.ConditionTypeRegistered, karpv1.ConditionTypeInitialized,
		karpv1.ConditionTypeConsolidatable} {
		claim.StatusConditions().SetTrue(condition)
	}
	s.NodeClaims = append(s.NodeClaims, claim)
	s.Nodes = append(s.Nodes, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("node-" + name), Labels: labels},
		Spec:       corev1.NodeSpec{ProviderID: "linode://" + name},
		Status: corev1.NodeStatus{Capacity: has, Allocatable: has,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	})
}

func explained(t *testing.T, s *snapshot.Snapshot, kind, name string) string {
	t.Helper()
	list, err := pricelist.BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	present, err := whatif.NewPresent(t.Context(), whatif.Input{Cluster: s, API: list, Region: "us-ord"}, now)
	if err != nil {
		t.Fatal(err)
	}
	x, err := explain.Explainer{Cluster: s, Present: present, Now: now}.Object(kind, name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(x.Sentences, "\n")
}

func TestPods(t *testing.T) {
	requires := func(key string, values ...string) func(*karpv1.NodePool) {
		return func(np *karpv1.NodePool) {
			np.Spec.Template.Spec.Requirements = append(np.Spec.Template.Spec.Requirements,
				karpv1.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values})
		}
	}
	for name, c := range map[string]struct {
		pool func(*karpv1.NodePool)
		edit func(*corev1.Pod)
		want []string
	}{
		"fits a new node": {nil, nil, []string{"NodePool default gets g6-standard-1 ($12 a month)"}},
		"too large": {nil, func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("500")
		}, []string{"NodePool default: ", "none of these has cpu 500"}},
		"plans of the NodePool too small": {requires(corev1.LabelInstanceTypeStable, "g6-standard-1"), func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("1900m")
		}, []string{"none of these has cpu 1900m", "the nearest plan is g6-standard-2 ($24 a month), which the requirement " +
			"node.kubernetes.io/instance-type = g6-standard-1 excludes"}},
		"a selector that excludes": {requires(v1alpha1.LabelInstanceClass, "standard"), func(p *corev1.Pod) {
			p.Spec.NodeSelector = map[string]string{v1alpha1.LabelInstanceClass: "dedicated"}
		}, []string{"NodePool default: ", v1alpha1.LabelInstanceClass}},
		"a taint": {func(np *karpv1.NodePool) {
			np.Spec.Template.Spec.Taints = []corev1.Taint{{Key: "batch", Effect: corev1.TaintEffectNoSchedule}}
		}, nil, []string{"NodePool default: the pod did not tolerate taint"}},
		"a limit": {func(np *karpv1.NodePool) {
			np.Spec.Limits = karpv1.Limits{corev1.ResourceCPU: resource.MustParse("0")}
		}, nil, []string{"its limit of 0 cpu leaves no room"}},
		"off-hours": {func(np *karpv1.NodePool) {
			np.Annotations = map[string]string{offhours.Annotation: `{windows: [{schedule: "@daily", duration: 23h}]}`}
			offhours.Decide(np, time.Date(2026, time.May, 4, 12, 0, 0, 0, time.UTC)).Apply(np)
		}, nil, []string{"NodePool default: Off-hours until Mon 2026-05-04 23:00 UTC"}},
		"not ready": {func(np *karpv1.NodePool) {
			np.StatusConditions().SetFalse(karpv1.ConditionTypeNodeClassReady, "Missing", "no class")
		}, nil, []string{"NodePool default: it is not ready"}},
		"running": {nil, func(p *corev1.Pod) { p.Spec.NodeName = "n" }, []string{"It runs on node n."}},
		"ended":   {nil, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, []string{"It has ended"}},
		"new":     {nil, func(p *corev1.Pod) { p.Status.Conditions = nil }, []string{"has not found yet that it fits nowhere"}},
		"of a DaemonSet": {nil, func(p *corev1.Pod) {
			p.OwnerReferences[0].Kind = "DaemonSet"
		}, []string{"Karpenter counts it on every node"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod("web", "", "500m", "512Mi")
			if c.edit != nil {
				c.edit(p)
			}
			got := explained(t, &snapshot.Snapshot{Pods: []*corev1.Pod{p}, NodePools: []*karpv1.NodePool{nodePool("default", c.pool)}},
				"pod", "default/web")
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in\n%s", want, got)
				}
			}
		})
	}
}

// Karpenter ignores a value that is neither true nor a positive duration. A duration counts from the start of the pod.
func TestAPodThatKeepsItsNode(t *testing.T) {
	for _, c := range []struct {
		value   string
		started time.Duration // how long the pod has been running; 0 = it has not started
		want    bool
	}{
		{"", 0, false},
		{"true", 48 * time.Hour, true},
		{"false", 0, false},
		{"yes", 0, false},
		{"-1h", 0, false},
		{"4h", 0, true},
		{"4h", 4*time.Hour - time.Second, true},
		{"4h", 4 * time.Hour, false},
	} {
		t.Run(fmt.Sprintf("%q after %s", c.value, c.started), func(t *testing.T) {
			p := pod("web", "a", "500m", "512Mi")
			if c.value != "" {
				p.Annotations = map[string]string{karpv1.DoNotDisruptAnnotationKey: c.value}
			}
			if c.started > 0 {
				p.Status.StartTime = &metav1.Time{Time: now.Add(-c.started)}
			}
			got := explained(t, &snapshot.Snapshot{Pods: []*corev1.Pod{p}}, "pod", "default/web")
			if strings.Contains(got, "keeps that node from being removed") != c.want {
				t.Errorf("the pod keeps its node: want %t, got\n%s", c.want, got)
			}
		})
	}
}

func TestAPodThatFitsAJoiningNode(t *testing.T) {
	s := &snapshot.Snapshot{Pods: []*corev1.Pod{pod("web", "", "500m", "512Mi")}, NodePools: []*karpv1.NodePool{nodePool("default", nil)}}
	joined(s, "a", "g6-standard-2", "2", "3900Mi", nil)
	if got := explained(t, s, "pod", "web"); !strings.HasPrefix(got, "Node a has room for it") {
		t.Error(got)
	}
}

func TestNodes(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*snapshot.Snapshot)
		want []string
	}{
		"pods fit elsewhere": {func(s *snapshot.Snapshot) {
			joined(s, "b", "g6-standard-4", "4", "7800Mi", nil)
			s.Pods = append(s.Pods, pod("other", "b", "1", "1Gi"))
		}, []string{"Consolidation would remove it now"}},
		"a cheaper plan holds them": {nil, []string{"Consolidation would replace it now by g6-standard-1 ($12 a month)."}},
		"the plan is needed": {func(s *snapshot.Snapshot) {
			s.Pods[0].Spec.Containers[0].Resources.Requests = quantities("3", "4Gi")
			s.NodeClaims[0].Spec.Resources.Requests = quantities("3", "4Gi")
		}, []string{"Its plan was chosen for cpu 3, memory 4Gi.", "Cheaper, g6-dedicated-2 ($36 a month): it has cpu 2 of 3, memory ",
			"Consolidation leaves it: Can't replace with a cheaper node."}},
		"the NodePool requires it": {func(s *snapshot.Snapshot) {
			s.NodePools[0].Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{
				{Key: v1alpha1.LabelInstanceCPU, Operator: corev1.NodeSelectorOpGt, Values: []string{"3"}},
			}
		}, []string{"the NodePool requires " + v1alpha1.LabelInstanceCPU + " > 3"}},
		"do-not-disrupt": {func(s *snapshot.Snapshot) {
			s.Pods[0].Annotations = map[string]string{karpv1.DoNotDisruptAnnotationKey: "true"}
		}, []string{"Consolidation leaves it: ", "do-not-disrupt"}},
		"a PodDisruptionBudget": {func(s *snapshot.Snapshot) {
			s.Budgets = []*policyv1.PodDisruptionBudget{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "strict"},
				Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}}}}
		}, []string{"Consolidation leaves it: ", "Pdb prevents pod evictions"}},
		"no budget": {func(s *snapshot.Snapshot) {
			s.NodePools[0].Spec.Disruption.Budgets = []karpv1.Budget{{Nodes: "0"}}
		}, []string{"The budgets of its NodePool let no node go now."}},
		"too soon": {func(s *snapshot.Snapshot) {
			_ = s.NodeClaims[0].StatusConditions().Clear(karpv1.ConditionTypeConsolidatable)
			s.NodePools[0].Spec.Disruption.ConsolidateAfter = karpv1.MustParseNillableDuration("5m")
		}, []string{"it is not long enough since a pod came or went (consolidateAfter is 5m0s)"}},
		"not initialized": {func(s *snapshot.Snapshot) {
			s.NodeClaims[0].StatusConditions().SetFalse(karpv1.ConditionTypeInitialized, "NodeNotReady", "kubelet is silent")
			delete(s.Nodes[0].Labels, karpv1.NodeInitializedLabelKey)
		}, []string{"It is not initialized yet: NodeNotReady: kubelet is silent."}},
		"drifted": {func(s *snapshot.Snapshot) {
			s.NodeClaims[0].StatusConditions().SetTrueWithReason(karpv1.ConditionTypeDrifted, "NodePoolDrifted", "x")
		}, []string{"It is drifted (NodePoolDrifted)"}},
		"of an LKE pool": {func(s *snapshot.Snapshot) {
			s.NodeClaims = nil
			s.Nodes[0].Labels = map[string]string{whatif.PoolLabel: "7"}
		}, []string{"It is of LKE pool 7", "leaves it alone"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &snapshot.Snapshot{Pods: []*corev1.Pod{pod("web", "a", "500m", "512Mi")}, NodePools: []*karpv1.NodePool{nodePool("default", nil)}}
			joined(s, "a", "g6-standard-4", "4", "7800Mi", quantities("500m", "512Mi"))
			if c.edit != nil {
				c.edit(s)
			}
			for _, kind := range []string{"node", "nodeclaim"} {
				if kind == "nodeclaim" && len(s.NodeClaims) == 0 {
					continue
				}
				got := explained(t, s, kind, "a")
				for _, want := range c.want {
					if !strings.Contains(got, want) {
						t.Errorf("%s: no %q in\n%s", kind, want, got)
					}
				}
			}
		})
	}
}

func TestAPlanWithoutAPriceIsNotCheaper(t *testing.T) {
	list, err := pricelist.BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	s := &snapshot.Snapshot{Pods: []*corev1.Pod{pod("web", "a", "500m", "512Mi")}, NodePools: []*karpv1.NodePool{nodePool("default", nil)}}
	joined(s, "a", "g6-standard-1", "1", "1900Mi", quantities("500m", "512Mi"))
	present, err := whatif.NewPresent(t.Context(), whatif.Input{Cluster: s, API: list, Region: "us-ord"}, now)
	if err != nil {
		t.Fatal(err)
	}
	unpriced := ""
	for _, it := range present.InstanceTypes(s.NodePools[0]) {
		if len(it.Offerings) == 0 || it.Offerings.Cheapest().Price <= 0 {
			unpriced = it.Name
		}
	}
	if unpriced == "" {
		t.Fatal("every plan has a price: the case needs a plan without one")
	}
	x, err := explain.Explainer{Cluster: s, Present: present}.Object("node", "a")
	if err != nil {
		t.Fatal(err)
	}
	for _, sentence := range x.Sentences {
		if strings.HasPrefix(sentence, "Cheaper, "+unpriced) || strings.Contains(sentence, "more plans are cheaper") {
			t.Errorf("%s has no price: %s", unpriced, sentence)
		}
	}
}

// g8-dedicated-4-2 costs $0.07 an hour and has no cap; g6-standard-4 costs $0.072, and $48 a month at most.
func TestAPlanThatIsCheaperByTheHourAlone(t *testing.T) {
	list, err := pricelist.BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	s := &snapshot.Snapshot{Pods: []*corev1.Pod{pod("web", "a", "2500m", "512Mi")}, NodePools: []*karpv1.NodePool{nodePool("default", nil)}}
	joined(s, "a", "g6-standard-4", "4", "7800Mi", quantities("2500m", "512Mi"))
	present, err := whatif.NewPresent(t.Context(), whatif.Input{Cluster: s, API: list, Region: "us-ord"}, now)
	if err != nil {
		t.Fatal(err)
	}
	x, err := explain.Explainer{Cluster: s, Present: present}.Object("node", "a")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(x.Sentences, "\n")
	for _, words := range []string{"Cheaper by the hour, g8-dedicated-4-2 ($51.10 a month)", "Cheaper, g6-dedicated-2 ($36 a month)"} {
		if !strings.Contains(text, words) {
			t.Errorf("no %q in\n%s", words, text)
		}
	}
}

func TestNamesThatNothingHasOrThatAreNotClear(t *testing.T) {
	s := &snapshot.Snapshot{Pods: []*corev1.Pod{pod("a", "a", "1", "1Gi"), pod("b", "a", "1", "1Gi")},
		NodePools: []*karpv1.NodePool{nodePool("default", nil)}}
	joined(s, "a", "g6-standard-4", "4", "7800Mi", nil)
	e := explain.Explainer{Cluster: s}
	for name, want := range map[string]string{
		"a":    "several meanings: pod default/a, node a, nodeclaim a",
		"none": "no pod, node or NodeClaim is named none",
		"x/b":  "no pod b in namespace x",
	} {
		if x, err := e.Any(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", name, x, err)
		}
	}
	if x, err := e.Any("b"); err != nil || fmt.Sprint(x.Sentences) != "[It runs on node a.]" {
		t.Errorf("%v, %v", x, err)
	}
	if _, err := e.Object("deployment", "a"); err == nil {
		t.Error("a Deployment is explained")
	}
}
