package reference

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/metrics"
)

// coreMetricMeanings explains the most useful metrics of Karpenter core. The page lists the other metrics by name only.
var coreMetricMeanings = map[string]string{
	"karpenter_build_info": "1; the version is in the labels.",
	"karpenter_cloudprovider_duration_seconds": "How long a method of the provider took. Create waits for a node up to " +
		"`LKE_CREATE_DEADLINE`.",
	"karpenter_cloudprovider_errors_total": "Methods of the provider that failed, by the type of the error. A Create " +
		"that waits for a node fails with `CreateError`, which is how Karpenter repeats it: count outcomes with " +
		"`karpenter_linode_claims_total` instead.",
	"karpenter_cluster_state_node_count": "Nodes in Karpenter's cluster state.",
	"karpenter_cluster_state_synced": "1 while Karpenter's picture of the cluster is complete; it plans " +
		"nothing while it is 0.",
	"karpenter_nodeclaims_created_total": "NodeClaims made, by reason.",
	"karpenter_nodeclaims_disrupted_total": "NodeClaims that Karpenter disrupted, by reason: drift, consolidation, expiry " +
		"and so on.",
	"karpenter_nodeclaims_instance_termination_duration_seconds": "From the request to remove a Linode until it is gone.",
	"karpenter_nodeclaims_terminated_total":                      "NodeClaims that are gone.",
	"karpenter_nodeclaims_termination_duration_seconds":          "From the deletion of a NodeClaim until it is gone, draining included.",
	"karpenter_nodepools_allowed_disruptions":                    "Nodes that a NodePool's budgets let go now.",
	"karpenter_nodepools_cost_total":                             "Hourly price of a NodePool's nodes in USD, NodeOverlays included.",
	"karpenter_nodepools_limit":                                  "Limits of a NodePool.",
	"karpenter_nodepools_usage":                                  "What counts towards these limits.",
	"karpenter_nodes_created_total":                              "Nodes that registered.",
	"karpenter_nodes_terminated_total":                           "Nodes that are gone.",
	"karpenter_nodes_termination_duration_seconds":               "From the deletion of a Node until it is gone.",
	"karpenter_pods_eviction_requests_total": "Evictions asked for, by the API server's answer: 429 means that a " +
		"PodDisruptionBudget blocks the eviction.",
	"karpenter_pods_startup_duration_seconds": "From a pod's creation until it runs.",
	"karpenter_pods_state": "One series for each pod; leave it out of long-term storage in large " +
		"clusters.",
	"karpenter_scheduler_queue_depth":                 "Pods waiting to be planned.",
	"karpenter_scheduler_scheduling_duration_seconds": "How long planning took.",
	"karpenter_scheduler_unschedulable_pods_count":    "Pods for which no node can be planned.",
	"karpenter_voluntary_disruption_decisions_total":  "Consolidation and drift: what was decided.",
	"karpenter_voluntary_disruption_eligible_nodes":   "Nodes that could be disrupted, by reason.",
	"controller_runtime_reconcile_errors_total":       "Reconciliations that failed, by controller.",
	"leader_election_master_status":                   "1 on the replica that works.",
	"operator_status_condition_count":                 "Conditions of NodePools, NodeClaims, Nodes and LinodeNodeClasses.",
	"workqueue_depth":                                 "Objects that wait for a controller.",
}

// Metrics returns the page docs/metrics.md.
func Metrics(string) (string, error) {
	core, err := CoreMetrics()
	if err != nil {
		return "", err
	}
	for _, name := range slices.Sorted(maps.Keys(coreMetricMeanings)) {
		if !slices.ContainsFunc(core, func(m Metric) bool { return m.Name == name }) {
			return "", fmt.Errorf("no metric of Karpenter core is called %s any more, which reference/metricspage.go explains", name)
		}
	}
	var ownRows, valueRows, coreRows [][]string
	var others []string
	for _, m := range OwnMetrics() {
		ownRows = append(ownRows, []string{code(m.Name), m.Type, codes(m.Labels), sentence(m.Help)})
	}
	for _, label := range []string{"outcome", "result", "kind", "cause"} {
		valueRows = append(valueRows, []string{code(label), codes(metrics.Values(label))})
	}
	for _, m := range core {
		meaning, described := coreMetricMeanings[m.Name]
		switch {
		case described:
			coreRows = append(coreRows, []string{code(m.Name), codes(m.Labels), meaning})
		case strings.HasPrefix(m.Name, "karpenter_"):
			others = append(others, code(m.Name))
		}
	}
	return page("metrics", map[string]string{
		"Own":    table([]string{"Metric", "Type", "Labels", "Meaning"}, ownRows),
		"Labels": table([]string{"Label", "Values"}, valueRows),
		"Core":   table([]string{"Metric", "Labels", "Meaning"}, coreRows),
		"Others": strings.Join(others, ", "),
	})
}
