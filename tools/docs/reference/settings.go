package reference

import (
	"fmt"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
)

// coreMeanings explains the settings of Karpenter core. A setting without a text is an error, so a setting that core adds needs a text
// here.
var coreMeanings = map[string]string{
	"BATCH_IDLE_DURATION": "A batch of pending pods ends after this time without a new one.",
	"BATCH_MAX_DURATION": "A batch of pending pods ends at this age at the latest. Longer batches make fewer and larger " +
		"nodes.",
	"CPU_REQUESTS":                        "Millicores that the operator's container requests. The chart sets it from `controller.resources`.",
	"DISABLE_CLUSTER_STATE_OBSERVABILITY": "Leave out the metrics and events about the state of pods and nodes.",
	"DISABLE_CONTROLLER_WARMUP":           "Fill caches only once leadership is won, not before.",
	"DISABLE_LEADER_ELECTION":             "Work without a Lease. For one replica only: two active replicas buy too many nodes.",
	"ENABLE_PROFILING": "Serve Go's profiles under `/debug/pprof` of the metrics port, to connections over loopback " +
		"only (`kubectl port-forward`).",
	"FEATURE_GATES":             "Optional features. `SpotToSpotConsolidation` and `ReservedCapacity` have nothing to act on here.",
	"HEALTH_PROBE_PORT":         "Port of `/healthz` and `/readyz`.",
	"IGNORE_DRA_REQUESTS":       "Make no node for a pod with dynamic resource claims. The operator does not start with `false`.",
	"KARPENTER_SERVICE":         "Name of the operator's Service.",
	"KUBE_CLIENT_BURST":         "Most requests to the Kubernetes API server at once.",
	"KUBE_CLIENT_QPS":           "Most requests to the Kubernetes API server a second.",
	"LEADER_ELECTION_NAME":      "Name of the Lease by which one replica is chosen. The chart's Role names it.",
	"LEADER_ELECTION_NAMESPACE": "Namespace of that Lease; the operator's own without it.",
	"LEGACY_NODE_REPAIR": "With the gate `NodeRepair`, repair as before core 1.15: nodes are replaced, outside of budgets and without " +
		"regard to " +
		"`karpenter.sh/do-not-repair`, and none is rebooted.",
	"LOG_ERROR_OUTPUT_PATHS": "Where errors of logging itself go, comma separated.",
	"LOG_LEVEL":              "`debug`, `info` or `error`.",
	"LOG_OUTPUT_PATHS":       "Where logs go, comma separated.",
	"MEMORY_LIMIT":           "Memory limit of the container in bytes; garbage collection aims at 90% of it. The chart sets it.",
	"METRICS_PORT":           "Port of `/metrics`.",
	"MIN_VALUES_POLICY":      "`Strict`, or `BestEffort`: relax a NodePool's `minValues` when they cannot be met.",
	"PREFERENCE_POLICY": "`Respect` preferred affinities and `ScheduleAnyway` spreads when planning nodes, or `Ignore` " +
		"them.",
	"SCHEDULER_CONFIG": "YAML or JSON of what the cluster's kube-scheduler does beyond its defaults and Karpenter has to plan with: " +
		"`podTopologySpread.defaultConstraints`.",
}

// settingsTable lists the described settings. values has the names of the chart's values by variable.
func settingsTable(descriptions []options.Description, values map[string][]string) (string, error) {
	var rows [][]string
	for _, d := range descriptions {
		meaning := sentence(d.Usage)
		if meaning == "" {
			meaning = coreMeanings[d.Variables[0]]
		}
		if meaning == "" {
			return "", fmt.Errorf("the setting %s of Karpenter core has no text in reference/settings.go", d.Variables[0])
		}
		flag := ""
		if d.Flag != "" {
			flag = code("--" + d.Flag)
		}
		rows = append(rows, []string{codes(d.Variables), flag, d.Type, code(d.Default), codes(values[d.Variables[0]]), meaning})
	}
	return table([]string{"Variable", "Flag", "Type", "Default", "Chart value", "Meaning"}, rows), nil
}
