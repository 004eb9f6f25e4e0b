package explain_test

import (
	"strings"
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/explain"
	"github.com/karpenter-linode/karpenter-linode/modules/advisor/snapshot"
	"github.com/karpenter-linode/karpenter-linode/modules/advisor/whatif"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog/pricelist"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/nodepoolstatus"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches"
)

// running is a cluster with an operator, a NodePool and a pod that waits.
type running struct {
	*snapshot.Snapshot
	reports *explain.Reports
}

func newRunning() *running {
	p := pod("web", "", "500m", "512Mi")
	p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(now.Add(-20 * time.Second))
	class := &v1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "class", Generation: 1}}
	return &running{
		&snapshot.Snapshot{Pods: []*corev1.Pod{p}, NodePools: []*karpv1.NodePool{nodePool("default", nil)},
			NodeClasses: []*v1alpha1.LinodeNodeClass{class}},
		&explain.Reports{Lease: &explain.Lease{Name: "kube-system/karpenter-leader-election", Holder: "karpenter-1", Renewed: now}},
	}
}

// claim adds a NodeClaim for the pod. With a provider ID the NodeClaim is launched. reason and message belong to the step for which it
// waits.
func (r *running) claim(providerID, reason, message string) *karpv1.NodeClaim {
	claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "default-x7k2p", UID: "x7k2p",
		Labels:            map[string]string{karpv1.NodePoolLabelKey: "default", corev1.LabelInstanceTypeStable: "g6-standard-1"},
		CreationTimestamp: metav1.NewTime(now.Add(-15 * time.Second))}}
	claim.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind, Name: "default"}
	claim.Status.ProviderID = providerID
	step := karpv1.ConditionTypeLaunched
	if providerID != "" {
		claim.StatusConditions().SetTrue(karpv1.ConditionTypeLaunched)
		claim.Status.Allocatable, claim.Status.Capacity = quantities("1", "1900Mi"), quantities("1", "2Gi")
		step = karpv1.ConditionTypeRegistered
	}
	claim.StatusConditions().SetUnknownWithReason(step, reason, message)
	r.NodeClaims = append(r.NodeClaims, claim)
	r.nominated("default-x7k2p")
	return claim
}

// nominated adds core's event that the pod should schedule on a NodeClaim.
func (r *running) nominated(claim string) {
	event := r.event("Pod", "web", "Nominated", "Pod should schedule on: nodeclaim/"+claim, 15*time.Second)
	event.Type, event.InvolvedObject.Namespace, event.InvolvedObject.UID = corev1.EventTypeNormal, "default", "web"
}

func (r *running) event(kind, name, reason, message string, ago time.Duration) *corev1.Event {
	r.reports.Events = append(r.reports.Events, corev1.Event{Type: corev1.EventTypeWarning, Reason: reason, Message: message,
		InvolvedObject: corev1.ObjectReference{Kind: kind, Name: name}, LastTimestamp: metav1.NewTime(now.Add(-ago))})
	return &r.reports.Events[len(r.reports.Events)-1]
}

func (r *running) condition(conditionType, reason, message string) {
	r.NodePools[0].StatusConditions().Set(status.Condition{Type: conditionType, Status: metav1.ConditionFalse, Reason: reason,
		Message: message})
}

func (r *running) marked(cause launches.Cause, plans ...string) {
	for _, plan := range plans {
		r.reports.Rests = append(r.reports.Rests, launches.Rest{Plan: plan, Cause: cause, Ends: now.Add(2 * time.Minute)})
	}
}

// every returns all plans.
func (r *running) every(t *testing.T) (plans []string) {
	t.Helper()
	for _, it := range r.present(t).InstanceTypes(r.NodePools[0]) {
		plans = append(plans, it.Name)
	}
	return plans
}

func (r *running) present(t *testing.T) *whatif.Present {
	t.Helper()
	list, err := pricelist.BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	present, err := whatif.NewPresent(t.Context(), whatif.Input{Cluster: r.Snapshot, API: list, Region: "us-ord",
		Withheld: func(nodePool, plan string) bool { return r.reports.Withheld(r.Snapshot, nodePool, plan, now) != "" }}, now)
	if err != nil {
		t.Fatal(err)
	}
	return present
}

func (r *running) explained(t *testing.T, kind, name string) string {
	t.Helper()
	x, err := explain.Explainer{Cluster: r.Snapshot, Present: r.present(t), Reports: r.reports, Now: now}.Object(kind, name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(x.Sentences, "\n")
}

const plans = "Karpenter makes a node for it"

// The cases are the ways in which `make break` breaks an account, as the operator and core report each. tools/e2e breaks a running one.
func TestWhatIsTrueNowComesBeforeWhatKarpenterWouldDo(t *testing.T) {
	for name, tt := range map[string]struct {
		is   func(*testing.T, *running)
		want []string // in this order; a text after "!" is not there
	}{
		"nothing is broken": {func(*testing.T, *running) {}, []string{plans + ": NodePool default gets g6-standard-1 ($12 a month).", "!waited"}},
		"no-capacity": {func(_ *testing.T, r *running) {
			r.marked(launches.NoCapacity, "g6-standard-1")
			r.event("NodePool", "default", "InsufficientCapacity",
				"Linode has no capacity for g6-standard-1 in us-ord; the operator does not buy this plan for 3m0s", time.Minute)
			r.nominated("default-gone")
			r.event("NodeClaim", "default-gone", "InsufficientCapacityError", "no room", 15*time.Second)
		}, []string{"NodeClaim default-gone, which was made for it, is gone.",
			"15s ago, InsufficientCapacityError on NodeClaim default-gone: no room.",
			"60s ago, InsufficientCapacity on NodePool default: Linode has no capacity for g6-standard-1", plans, "!gets g6-standard-1 "}},
		"no-capacity of any plan": {func(t *testing.T, r *running) { r.marked(launches.NoCapacity, r.every(t)...) },
			[]string{"It waits, because no NodePool can make a node for it.", "but none is available now",
				"g6-standard-1: the region has no capacity, until 12:02:00 UTC", "!" + plans}},
		"account-limit": {func(t *testing.T, r *running) {
			r.marked(launches.AccountLimit, r.every(t)...)
			r.condition(nodepoolstatus.ConditionAvailable, "NothingToBuy",
				"none of the 40 plans that meet its requirements can be bought now: a limit of the account or of the cluster is reached: all")
			r.event("NodePool", "default", "AccountLimitReached", "Linode refuses one more g6-standard-1", 40*time.Second)
		}, []string{"NodePool default: it buys nothing now: none of the 40 plans", "a limit of the account or of the cluster is reached",
			"40s ago, AccountLimitReached on NodePool default: Linode refuses one more g6-standard-1.", "!" + plans}},
		"silent-capacity": {func(_ *testing.T, r *running) {
			r.claim("", "Provisioning", "The node is on its way (attempt 9); it takes long: the region may have no capacity for the plan")
			r.condition(nodepoolstatus.ConditionDelivered, "PurchaseOverdue", "LKE has accepted purchases of g6-standard-1")
		}, []string{"NodeClaim default-x7k2p of NodePool default is for it, plan g6-standard-1 ($12 a month).",
			"NodeClaim default-x7k2p is not launched yet: Provisioning: The node is on its way (attempt 9); it takes long",
			"NodePool default: PurchasesDelivered is False, PurchaseOverdue: LKE has accepted", "!" + plans}},
		"an event of an earlier NodePool of that name": {func(t *testing.T, r *running) {
			r.marked(launches.AccountLimit, r.every(t)...)
			r.NodePools[0].UID = "new"
			r.event("NodePool", "default", "OffHoursInvalid", "windows leave no gap", 40*time.Second).InvolvedObject.UID = "old"
			r.event("NodePool", "default", "AccountLimitReached", "Linode refuses one more", 40*time.Second).InvolvedObject.UID = "new"
		}, []string{"AccountLimitReached", "!OffHoursInvalid"}},
		"api-down": {func(_ *testing.T, r *running) {
			r.claim("", "LinodeAPIUnavailable", "The Linode API does not answer; trying again")
		}, []string{"is not launched yet: LinodeAPIUnavailable: The Linode API does not answer; trying again.", "!" + plans}},
		"slow-api": {func(_ *testing.T, r *running) { r.claim("", "Provisioning", "The node is on its way (attempt 2)") },
			[]string{"is not launched yet: Provisioning: The node is on its way (attempt 2).", "!" + plans}},
		"late-writes": {func(_ *testing.T, r *running) {
			r.claim("linode://7", "NodeNotFound", "Node not registered with cluster")
			r.event("NodeClaim", "default-x7k2p", "WaitingForNode", "Linode 7 has been booting for 3m", time.Minute)
		}, []string{"is not registered yet: NodeNotFound: Node not registered with cluster.",
			"60s ago, WaitingForNode on NodeClaim default-x7k2p: Linode 7 has been booting", "!" + plans}},
		"missing-objects": {func(_ *testing.T, r *running) { r.claim("", "NotFound", "The cluster, pool or Linode was not found") },
			[]string{"is not launched yet: NotFound: The cluster, pool or Linode was not found.", "!" + plans}},
		"recycled-node": {func(_ *testing.T, r *running) {
			r.claim("", "Provisioning", "The node is on its way (attempt 1)")
			r.nominated("another") // of an earlier object, which is gone
			r.reports.Events[len(r.reports.Events)-1].LastTimestamp = metav1.NewTime(now.Add(-time.Hour))
		}, []string{"NodeClaim default-x7k2p of NodePool default is for it", "!another", "!" + plans}},
		"revoked-token": {func(_ *testing.T, r *running) {
			r.claim("", "TokenRefused", launches.TokenRefused+"; trying again")
			r.condition(nodepoolstatus.ConditionAvailable, "TokenRefused",
				launches.TokenRefused+"; until the API accepts the token, the operator buys and removes no node")
		}, []string{"is not launched yet: TokenRefused: The Linode API refuses the token (401): set LINODE_TOKEN",
			"NodePool default: InstanceTypesAvailable is False, TokenRefused: ", "!" + plans}},
		"revoked-token, before a NodeClaim is made": {func(_ *testing.T, r *running) {
			r.condition(nodepoolstatus.ConditionAvailable, "TokenRefused", launches.TokenRefused)
		}, []string{"Karpenter can make no node: The Linode API refuses the token (401)", "!" + plans}},
		"the operator is stopped": {func(_ *testing.T, r *running) {
			r.reports.Lease.Renewed, r.reports.Lease.Expired = now.Add(-5*time.Minute), true
		}, []string{"Karpenter does not work: its Lease kube-system/karpenter-leader-election was renewed last 5m ago, by karpenter-1;",
			"until an operator runs", "!" + plans}},
		"the operator was uninstalled": {func(_ *testing.T, r *running) {
			r.reports.Lease = &explain.Lease{Name: "kube-system/karpenter-leader-election", Renewed: now.Add(-time.Hour), Expired: true}
		}, []string{"its Lease kube-system/karpenter-leader-election was given back 60m ago", "!" + plans}},
		"the operator is stopped, and a NodeClaim was made": {func(_ *testing.T, r *running) {
			r.claim("", "Provisioning", "The node is on its way (attempt 1)")
			r.reports.Lease.Renewed, r.reports.Lease.Expired = now.Add(-time.Hour), true
		}, []string{"Karpenter does not work", "NodeClaim default-x7k2p of NodePool default is for it", "!" + plans}},
		"there was no operator": {func(_ *testing.T, r *running) { r.reports.Lease = nil },
			[]string{"There is no Lease karpenter-leader-election", plans}},
		"a NodeClaim for other pods": {func(_ *testing.T, r *running) {
			r.claim("", "LinodeAPIUnavailable", "The Linode API does not answer; trying again")
			r.reports.Events = nil
		}, []string{"Karpenter plans nothing until NodeClaim default-x7k2p of NodePool default is launched or gone.",
			"NodeClaim default-x7k2p is not launched yet: LinodeAPIUnavailable", "!" + plans}},
		"nodes that never join": {func(_ *testing.T, r *running) {
			r.reports.Pauses = []launches.Pause{{NodePool: "default", Plan: "g6-standard-1", InARow: 3, Until: now.Add(time.Minute)}}
			r.condition(nodepoolstatus.ConditionNodesJoining, "NodesNeverJoin", "3 nodes of g6-standard-1 in a row were launched and never joined")
		}, []string{"NodePool default: NodesJoining is False, NodesNeverJoin: 3 nodes of g6-standard-1", plans, "!gets g6-standard-1 "}},
		"launches that were given up": {func(_ *testing.T, r *running) {
			r.reports.Pauses = []launches.Pause{{NodePool: "default", InARow: 2, Until: now.Add(time.Minute)}}
		}, []string{"launches were given up, 2 in a row, until 12:01:00 UTC", "!" + plans}},
		"a pause that has ended": {func(_ *testing.T, r *running) {
			r.reports.Pauses = []launches.Pause{{NodePool: "default", InARow: 2, Until: now.Add(-time.Second)}}
		}, []string{plans}},
		"a refused class": {func(_ *testing.T, r *running) {
			r.reports.Refusals = []launches.Refusal{{NodeClass: launches.Version{UID: types.UID("class"), Generation: 1}, Message: "no firewall 7",
				Until: now.Add(time.Minute)}}
		}, []string{"the last launch was refused, and no launch is tried before a change, until 12:01:00 UTC: no firewall 7", "!" + plans}},
		"a class that was corrected": {func(_ *testing.T, r *running) {
			r.NodeClasses[0].Generation = 2
			r.reports.Refusals = []launches.Refusal{{NodeClass: launches.Version{UID: "class", Generation: 1}, Until: now.Add(time.Minute)}}
		}, []string{plans}},
		"it has waited for long": {func(_ *testing.T, r *running) {
			r.Pods[0].Status.Conditions[0].LastTransitionTime = metav1.NewTime(now.Add(-6 * time.Minute))
		}, []string{plans, "It has waited for 6m, and Karpenter plans within seconds: the operator's log has what keeps it."}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRunning()
			tt.is(t, r)
			got := r.explained(t, "pod", "default/web")
			rest := got
			for _, want := range tt.want {
				if want, absent := strings.CutPrefix(want, "!"); absent {
					if strings.Contains(got, want) {
						t.Errorf("%q is in\n%s", want, got)
					}
					continue
				}
				_, after, found := strings.Cut(rest, want)
				if !found {
					t.Fatalf("no %q, or not in this order, in\n%s", want, got)
				}
				rest = after
			}
		})
	}
}

// Core leaves a paused NodePool out of its comparison, so that the NodePool's label looks misspelt in core's text.
func TestTheNearestNodePoolComesFirst(t *testing.T) {
	labelled := func(name string) *karpv1.NodePool {
		return nodePool(name, func(p *karpv1.NodePool) { p.Spec.Template.Labels = map[string]string{"example.com/" + name: "true"} })
	}
	r := newRunning()
	r.NodePools = nil
	for _, name := range []string{"arm-build", "batch", "builds", "gpu", "linux-build", "ml", "web", "windows-builder"} {
		r.NodePools = append(r.NodePools, labelled(name))
	}
	paused := labelled("windows-build")
	paused.StatusConditions().Set(status.Condition{Type: nodepoolstatus.ConditionAvailable, Status: metav1.ConditionFalse,
		Reason: "NothingToBuy", Message: "its launches are refused until a user changes the NodePool or its LinodeNodeClass: no firewall 7"})
	r.NodePools = append(r.NodePools, paused)
	r.Pods[0].Spec.NodeSelector = map[string]string{"example.com/windows-build": "true"}
	r.reports.Pauses = []launches.Pause{{NodePool: "windows-build", InARow: 2, Until: now.Add(time.Minute)}}
	lines := strings.Split(r.explained(t, "pod", "default/web"), "\n")
	if len(lines) != 3 || lines[1] != "NodePool windows-build: it buys nothing now: its launches are refused until a user changes "+
		"the NodePool or its LinodeNodeClass: no firewall 7." || !strings.HasPrefix(lines[2], "It does not fit these NodePools either: ") {
		t.Errorf("got\n%s", strings.Join(lines, "\n"))
	}
	// No NodePool has this label, so core's guess about a misspelt label helps.
	r.Pods[0].Spec.NodeSelector = map[string]string{"example.com/windows-buil": "true"}
	if got := r.explained(t, "pod", "default/web"); !strings.Contains(got, "typo of") {
		t.Errorf("got\n%s", got)
	}
}
