package metrics

import (
	"cmp"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

var seconds = []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120}

// declare makes all metrics in a registry.
func declare(registry prometheus.Registerer) (*Metrics, *declarations) {
	d := &declarations{Factory: promauto.With(registry)}
	m := &Metrics{}
	m.requesting = requesting{
		requests: d.counter("linode_api", "requests_total",
			"Requests to the Linode API by method, route and status; status 0 is a request without an answer.", labelMethod, labelRoute,
			labelStatus),
		duration: d.histogram("linode_api", "request_duration_seconds",
			"Duration of a request to the Linode API, waits and retries included.", labelMethod, labelRoute),
		limiterWait: d.histogram("linode_api", "limiter_wait_seconds",
			"Time that a request waited for the client's rate limit; a request that did not wait is not counted.", labelMethod, labelRoute),
		retries: d.counter("linode_api", "retries_total", "Repeated requests to the Linode API.", labelMethod, labelRoute),
	}
	m.claiming = claiming{
		claims: d.counter("linode", "claims_total", "Attempts to claim a node for a NodeClaim by NodePool and outcome.",
			labelNodePool, labelOutcome),
		claimWait: d.histogram("linode", "claim_duration_seconds", "Duration of an attempt to claim a node by outcome.", labelOutcome),

		actions: d.counter("linode_pool", "actions_total",
			"Requests of the claim engine about LKE node pools and their nodes, by result: ok, or the kind of the error. A list counts as one.",
			labelAction, labelResult),
		actionDuration: d.histogram("linode_pool", "action_duration_seconds", "Duration of an action of the claim engine.", labelAction),
		requested:      d.counter("linode_pool", "nodes_requested_total", "Nodes by which LKE node pools were scaled up.", labelInstanceType),
		handedOut:      d.counter("linode_pool", "nodes_claimed_total", "Nodes that were claimed for NodeClaims.", labelInstanceType),
	}
	m.beginClaims(other)
	m.nodes = nodes{
		collected: d.counter("linode", "collected_total",
			"Objects that garbage collection removed: surplus instances (never claimed), orphans (NodeClaim gone), places that no instance "+
				"took, pools.",
			labelKind),

		unidentified: d.counter("linode", "unidentified_nodes_total",
			"Nodes that had neither a provider ID nor the label of their pool, so the operator could not keep pods off them."),

		neverJoined: d.counter("linode", "nodes_never_joined_total",
			"NodeClaims that were deleted after their instance was launched and its node never joined.", labelInstanceType),

		maintenance: d.gauge("linode", "host_maintenance_pending_nodes",
			"NodeClaims whose Linode will be interrupted by pending maintenance of its host; only with HOST_MAINTENANCE."),
	}
	m.market = market{
		refusals: d.counter("linode", "offering_refusals_total",
			"How often an offering was marked unavailable because the Linode API refused it, by cause.", labelInstanceType, labelCause),
		refreshes: d.counter("linode", "catalog_refreshes_total", "Reads of plans, prices and availability by result.", labelResult),
		refreshed: d.gauge("linode", "catalog_refreshed_timestamp_seconds",
			"When plans, prices and availability were last read, in seconds since 1970."),
	}
	registry.MustRegister(newOfferings(m, d))
	slices.SortFunc(d.described, func(a, b Description) int { return cmp.Compare(a.Name, b.Name) })
	return m, d
}
