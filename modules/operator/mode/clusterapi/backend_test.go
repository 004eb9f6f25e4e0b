package clusterapi

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	core "sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
)

// machines answers each claim with one Machine, and keeps the requests.
type machines struct {
	Engine
	world    clusterapi.World
	answer   clusterapi.Machine
	requests []clusterapi.Request
}

func (m *machines) Claim(_ context.Context, r clusterapi.Request) (clusterapi.Machine, error) {
	m.requests = append(m.requests, r)
	return m.answer, nil
}

func (m *machines) World(context.Context) (clusterapi.World, error) { return m.world, nil }

func launch(name string) cloudprovider.Launch {
	return cloudprovider.Launch{
		NodeClaim: &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid", Labels: map[string]string{"team": "a"}}},
		NodeClass: &v1alpha1.LinodeNodeClass{}, InstanceType: &core.InstanceType{Name: "g6-standard-2"},
	}
}

// A claim goes to the deployments of its type whose nodes match the NodeClaim, the cheapest first.
func TestAClaimIsForTheDeploymentsThatServeIt(t *testing.T) {
	tainted, labelled, ours := of("tainted", "g6-standard-2"), of("labelled", "g6-standard-2"), of("ours", "g6-standard-2")
	tainted.Taints = []clusterapi.Taint{{Key: "dedicated", Value: "b", Effect: "NoSchedule"}}
	labelled.Annotations[capacityPrefix+"labels"] = "team=b"
	ours.Annotations[capacityPrefix+"labels"] = "team=a,free=choice"
	ours.Taints = []clusterapi.Taint{{Key: "node.cluster.x-k8s.io/uninitialized", Effect: "NoSchedule"}}
	v := seen(t, newObjects(t, tainted, labelled, priced(of("cheap", "g6-standard-2"), "0.01"), ours, of("large", "g6-standard-4"),
		refused(of("paused", "g6-standard-2"), "it is paused")))
	engine := &machines{answer: clusterapi.Machine{Name: "m", Deployment: "cheap", ProviderID: "linode://7",
		Claim: claims.Claimant{Name: "a", UID: "u"}}}
	b := &Backend{engine: engine, view: v}
	node, err := b.Claim(t.Context(), launch("a"))
	if err != nil || node.InstanceID != 7 || node.InstanceType != "g6-standard-2" || node.Region != region {
		t.Errorf("%+v, %v", node, err)
	}
	if r := engine.requests[0]; strings.Join(r.Deployments, " ") != "cheap ours" || r.InstanceType != "g6-standard-2" ||
		r.Claimant.Name != "a" {
		t.Errorf("%+v; want cheap and ours", r)
	}
	tolerated := launch("a")
	tolerated.NodeClaim.Spec.Taints = []corev1.Taint{{Key: "dedicated", Effect: "NoSchedule"}}
	if _, err := b.Claim(t.Context(), tolerated); err != nil || strings.Join(engine.requests[1].Deployments, " ") != "cheap ours tainted" {
		t.Errorf("%+v, %v; want the tainted one too", engine.requests[1], err)
	}
}

func TestAClaimThatNoDeploymentServesNamesTheReasonOfEach(t *testing.T) {
	tainted := of("tainted", "g6-standard-2")
	tainted.Taints = []clusterapi.Taint{{Key: "dedicated", Effect: "NoSchedule"}}
	b := &Backend{engine: &machines{}, view: seen(t, newObjects(t, tainted, refused(of("rolling", "g6-standard-2"), "set it to OnDelete")))}
	_, err := b.Claim(t.Context(), launch("a"))
	for _, word := range []string{"MachineDeployment tainted", "dedicated:NoSchedule", "spec.template.spec.taints",
		"MachineDeployment rolling", "set it to OnDelete"} {
		if claims.KindOf(err) != claims.KindConflict || !strings.Contains(err.Error(), word) {
			t.Errorf("%v; want a conflict with %q", err, word)
		}
	}
}

func TestAMachineThatIsNoLinodeIsNoNode(t *testing.T) {
	b := &Backend{engine: &machines{answer: clusterapi.Machine{Name: "m", ProviderID: "other:///7"}},
		view: seen(t, newObjects(t, of("a", "g6-standard-2")))}
	if _, err := b.Claim(t.Context(), launch("a")); claims.KindOf(err) != claims.KindConflict || !strings.Contains(err.Error(), "other:///7") {
		t.Errorf("%v", err)
	}
}

// A Machine of an older revision is drifted once the controller has acted on the new template; Karpenter replaces it under its budgets.
func TestDriftIsARevisionOrADeploymentThatTheClassLeftOut(t *testing.T) {
	d := of("general", "g6-standard-2")
	d.Sets = []clusterapi.Set{{Name: "old"}, {Name: "new", Current: true}}
	unobserved := d
	unobserved.Name, unobserved.Observed = "unobserved", false
	o := newObjects(t, d, unobserved)
	machine := func(id, deployment, set string) clusterapi.Machine {
		return clusterapi.Machine{Name: "m" + id, Deployment: deployment, Set: set, ProviderID: "linode://" + id,
			Claim: claims.Claimant{Name: "a"}}
	}
	o.world.Machines = []clusterapi.Machine{machine("1", "general", "old"), machine("2", "general", "new"), machine("3", "unobserved", "old"),
		machine("4", "deleted", "old")}
	b := &Backend{engine: &machines{world: o.world}, view: seen(t, o)}
	left := launch("a")
	left.NodeClass = &v1alpha1.LinodeNodeClass{Spec: v1alpha1.LinodeNodeClassSpec{
		MachineDeploymentSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"pool": "another"}}}}
	for name, test := range map[string]struct {
		id     int
		launch cloudprovider.Launch
		health claims.Health
		want   core.DriftReason
	}{
		"an older revision":               {1, launch("a"), claims.Healthy, DriftMachineSet},
		"the current one":                 {2, launch("a"), claims.Healthy, ""},
		"a template not yet acted on":     {3, launch("a"), claims.Healthy, ""},
		"a deployment that is gone":       {4, launch("a"), claims.Healthy, DriftNotSelected},
		"one that the class left out":     {2, left, claims.Healthy, DriftNotSelected},
		"a Machine that is being deleted": {2, launch("a"), claims.Deleting, cloudprovider.DriftInstanceGone},
		"one that was not read yet":       {9, launch("a"), claims.Healthy, ""},
	} {
		node := cloudprovider.Node{Node: claims.Node{InstanceID: test.id, Health: test.health}}
		if test.id <= len(o.world.Machines) {
			node.Own = o.world.Machines[test.id-1]
		}
		if got := b.Drift(t.Context(), node, test.launch); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestListHasClaimedLinodesAlone(t *testing.T) {
	world := clusterapi.World{Machines: []clusterapi.Machine{
		{Name: "claimed", ProviderID: "linode://1", Claim: claims.Claimant{Name: "a", UID: "u"}},
		{Name: "free", ProviderID: "linode://2"},
		{Name: "pending", Claim: claims.Claimant{Name: "b", UID: "u"}},
	}}
	b := &Backend{engine: &machines{world: world}, view: seen(t, newObjects(t))}
	if all, err := b.List(t.Context()); err != nil || len(all) != 1 || all[0].InstanceID != 1 || all[0].Claim != "a" {
		t.Errorf("%+v, %v", all, err)
	}
	if node, err := b.Get(t.Context(), 2); err != nil || node.InstanceID != 2 {
		t.Errorf("%+v, %v", node, err)
	}
	if _, err := b.Get(t.Context(), 3); claims.KindOf(err) != claims.KindNotFound {
		t.Errorf("%v", err)
	}
}
