package reference

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/metrics"
)

// coreMetricMeanings are Karpenter core's metrics that are worth a look; the others are listed by name.
var coreMetricMeanings = map[string]string{
	"karpenter_build_info":                                       "1; the version is in the labels.",
	"karpenter_cloudprovider_duration_seconds":                   "How long a method of the provider took. Create waits for a node up to `LKE_CREATE_DEADLINE`.",
	"karpenter_cloudprovider_errors_total":                       "Methods of the provider that failed, by the type of the error. A Create that waits for a node fails with `CreateError`, which is how Karpenter repeats it: count outcomes with `karpenter_linode_claims_total` instead.",
	"karpenter_cluster_state_node_count":                         "Nodes that Karpenter reckons with.",
	"karpenter_cluster_state_synced":                             "1 while Karpenter's picture of the cluster is complete; it plans nothing while it is 0.",
	"karpenter_nodeclaims_created_total":                         "NodeClaims made, by reason.",
	"karpenter_nodeclaims_disrupted_total":                       "NodeClaims given up on purpose, by reason: drift, consolidation, expiry and so on.",
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
	"karpenter_pods_eviction_requests_total":                     "Evictions asked for, by the API server's answer: 429 is a PodDisruptionBudget that holds.",
	"karpenter_pods_startup_duration_seconds":                    "From a pod's creation until it runs.",
	"karpenter_pods_state":                                       "One series for each pod; leave it out of long-term storage in large clusters.",
	"karpenter_scheduler_queue_depth":                            "Pods waiting to be planned.",
	"karpenter_scheduler_scheduling_duration_seconds":            "How long planning took.",
	"karpenter_scheduler_unschedulable_pods_count":               "Pods for which no node can be planned.",
	"karpenter_voluntary_disruption_decisions_total":             "Consolidation and drift: what was decided.",
	"karpenter_voluntary_disruption_eligible_nodes":              "Nodes that could be disrupted, by reason.",
	"controller_runtime_reconcile_errors_total":                  "Reconciliations that failed, by controller.",
	"leader_election_master_status":                              "1 on the replica that works.",
	"operator_status_condition_count":                            "Conditions of NodePools, NodeClaims, Nodes and LinodeNodeClasses.",
	"workqueue_depth":                                            "Objects that wait for a controller.",
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
	return strings.Join([]string{
		generated("the metrics that modules/operator/metrics and Karpenter core declare"),
		metricsIntroduction,
		"## Of this provider\n", ownIntroduction, table([]string{"Metric", "Type", "Labels", "Meaning"}, ownRows),
		valuesOfLabels, table([]string{"Label", "Values"}, valueRows),
		"## Of Karpenter core\n", coreMetricsIntroduction, table([]string{"Metric", "Labels", "Meaning"}, coreRows),
		"Further ones: " + strings.Join(others, ", ") + ".\n",
		metricsQuestions, metricsDashboard,
	}, "\n"), nil
}

const metricsIntroduction = `# Metrics

Each replica serves ` + "`/metrics`" + ` on ` + "`METRICS_PORT`" + ` (8080), in the clear and to every client that reaches it: the pod network, no
farther, with the chart's Service, which is of type ClusterIP. ` + "`serviceMonitor.enabled=true`" + ` has the Prometheus operator
scrape it. A name that ends in ` + "`_total`" + ` is a counter, one that ends in ` + "`duration_seconds` or `wait_seconds`" + ` a histogram
or a summary, any other a gauge; ` + "`karpenter_nodepools_cost_total`" + ` is a gauge all the same.
`

const ownIntroduction = `Labels have a bounded set of values: routes are templates without IDs, outcomes and results a closed set, instance types
what the Linode API lists. No label holds a name of a NodeClaim, an ID or a token.
`

const valuesOfLabels = `Values of labels that are known beforehand; ` + "`other`" + ` is what would otherwise be a new one. ` + "`status`" + ` is the HTTP status, 0 for a
request without an answer. What each outcome means is in [troubleshooting](troubleshooting.md#a-nodeclaim-is-not-launched).
`

const coreMetricsIntroduction = `A choice; the controllers' libraries export more about themselves (` + "`controller_runtime_*`, `workqueue_*`, `client_go_*`, `go_*`, `process_*`" + `).
Those of conditions, ` + "`operator_*`" + `, appear once there is an object with conditions.
`

const metricsQuestions = `## Questions and queries

| question | query |
|---|---|
| Do requests of the claim engine fail? | ` + "`sum by (result) (rate(karpenter_linode_pool_actions_total{result!=\"ok\"}[5m]))`" + ` |
| How old are prices? | ` + "`time() - karpenter_linode_catalog_refreshed_timestamp_seconds`" + ` |
| Is the API's limit near? | ` + "`sum(rate(karpenter_linode_api_requests_total{status=\"429\"}[5m]))`" + ` above 0, and ` + "`sum(rate(karpenter_linode_api_limiter_wait_seconds_sum[5m]))`" + ` |
| How many requests a minute? | ` + "`60 * sum(rate(karpenter_linode_api_requests_total[5m]))`" + ` |
| How do claims end? | ` + "`sum by (outcome) (rate(karpenter_linode_claims_total[5m]))`" + ` |
| Was an instance or pool bought that no NodeClaim used? | ` + "`sum by (kind) (increase(karpenter_linode_collected_total[1h]))`" + ` |
| What does an hour cost? | ` + "`sum(karpenter_nodepools_cost_total)`" + ` |
| Which plans are not listed as available? | ` + "`karpenter_cloudprovider_instance_type_offering_available == 0`" + ` |

What to do about what they show: [troubleshooting](troubleshooting.md).
`

const metricsDashboard = `## Dashboard

` + "`grafanaDashboard.enabled=true`" + ` creates a ConfigMap with a dashboard for Grafana's sidecar; without a sidecar, import
` + "`charts/karpenter/files/dashboard.json`" + `. Tests check it against Grafana's schema, and its queries against what a running operator exports.

![Panels of the dashboard: nodes, cost and claims while nodes come, a plan has no capacity, and a node goes](images/dashboard.png)

No Grafana server has drawn this picture: ` + "`tools/make/pictures.sh dashboard`" + ` gives Grafana's own panel components (` + "`@grafana/ui`" + `) what a
Prometheus has scraped of an operator on the [local cluster](local-cluster.md) in a minute and a half. Below these panels are those of the Linode API and of the operator itself.
`
