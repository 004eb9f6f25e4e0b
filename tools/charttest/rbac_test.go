package charttest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

// rights writes rules as one line per resource: group/resource: verbs.
func rights(rules []rbacv1.PolicyRule) []string {
	var lines []string
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				line := fmt.Sprintf("%s/%s: %s", group, resource, strings.Join(rule.Verbs, " "))
				if len(rule.ResourceNames) > 0 {
					line += " only " + strings.Join(rule.ResourceNames, " ")
				}
				lines = append(lines, strings.TrimPrefix(line, "/"))
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// The controller's rights in the cluster, all of them. A change here is a change of what users grant.
func TestClusterRights(t *testing.T) {
	want := []string{
		"apps/daemonsets: list watch",
		"events: create patch",
		"karpenter.k8s.linode/linodenodeclasses/status: patch",
		"karpenter.k8s.linode/linodenodeclasses: list watch patch",
		"karpenter.sh/nodeclaims/finalizers: update",
		"karpenter.sh/nodeclaims/status: patch",
		"karpenter.sh/nodeclaims: list watch create patch delete",
		"karpenter.sh/nodepools/finalizers: update",
		"karpenter.sh/nodepools/status: patch",
		"karpenter.sh/nodepools: list watch patch",
		"namespaces: list watch",
		"nodes: list watch patch delete",
		"persistentvolumeclaims: list watch",
		"persistentvolumes: list watch",
		"pods/eviction: create",
		"pods: list watch delete",
		"policy/poddisruptionbudgets: list watch",
		"storage.k8s.io/csinodes: list watch",
		"storage.k8s.io/storageclasses: list watch",
		"storage.k8s.io/volumeattachments: list watch",
	}
	check := func(want []string, values ...string) {
		t.Helper()
		r := mustRender(t, "karpenter", append([]string{quickstart}, values...)...)
		got := rights(get[rbacv1.ClusterRole](t, r, "ClusterRole", "karpenter").Rules)
		slices.Sort(want)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("rights with %v:\n got %s\nwant %s", values, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
		}
	}
	check(want)
	check(append(slices.Clone(want), "karpenter.sh/nodeoverlays: list watch", "karpenter.sh/nodeoverlays/status: patch"),
		`settings: {featureGates: {nodeOverlay: true}}`)
	check(append(slices.Clone(want), "autoscaling.x-k8s.io/capacitybuffers: list watch", "autoscaling.x-k8s.io/capacitybuffers/status: patch",
		"podtemplates: list watch", "apps/deployments: list watch", "apps/replicasets: list watch", "apps/statefulsets: list watch"),
		`settings: {featureGates: {capacityBuffer: true}}`)
	check(append(slices.Clone(want), "services: list watch", "replicationcontrollers: list watch", "apps/replicasets: list watch",
		"apps/statefulsets: list watch"),
		`settings: {schedulerConfig: {podTopologySpread: {defaultConstraints: [{maxSkew: 1}]}}}`)
	check(append(slices.Clone(want), "pods: patch"), `settings: {featureGates: {podDeletionCostManagement: true}}`)
	check(append(slices.Clone(want), "apps/replicasets: get", "apps/deployments: get patch"), `settings: {surgeBeforeDrain: true}`)
	check(append(slices.Clone(want), "autoscaling.k8s.io/verticalpodautoscalers: list watch", "apps/deployments: get",
		"apps/statefulsets: get", "apps/daemonsets: get"), `verticalPodAutoscalerRights: true`)
	check(append(slices.Clone(want), "batch/jobs: get"),
		`additionalClusterRoleRules: [{apiGroups: [batch], resources: [jobs], verbs: [get]}]`)
}

func TestRightsInTheNamespace(t *testing.T) {
	r := mustRender(t, "karpenter", quickstart)
	got := rights(get[rbacv1.Role](t, r, "Role", "karpenter").Rules)
	want := []string{
		"configmaps: get update only karpenter-learned-capacity",
		"coordination.k8s.io/leases: create",
		"coordination.k8s.io/leases: get update only karpenter-leader-election",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("rights: %v", got)
	}
}

func TestRightsOfPeople(t *testing.T) {
	r := mustRender(t, "karpenter", quickstart)
	for role, aggregation := range map[string]string{"karpenter-admin": "aggregate-to-admin", "karpenter-view": "aggregate-to-view"} {
		got := get[rbacv1.ClusterRole](t, r, "ClusterRole", role)
		if got.Labels["rbac.authorization.k8s.io/"+aggregation] != "true" {
			t.Errorf("%s is not aggregated: %v", role, got.Labels)
		}
		for _, rule := range got.Rules {
			if role == "karpenter-view" && !reflect.DeepEqual(rule.Verbs, []string{"get", "list", "watch"}) {
				t.Errorf("%s may %v", role, rule.Verbs)
			}
			if slices.Contains(rule.Resources, "*") || slices.Contains(rule.Verbs, "*") {
				t.Errorf("%s has a wildcard: %v", role, rule)
			}
		}
	}
}
