// Package metrics declares the metrics of the provider. Karpenter core's metrics are not here.
//
// Every label has a bounded set of values, whatever the Linode API answers. A value outside of its label's closed set (see Values) counts
// as "other". An instance type is a plan that the catalog offers. The label nodepool has at most 200 names; further NodePools count as
// "other". No label contains a token, a name of a NodeClaim, or an ID. New registers the metrics with a registry; cmd/controller passes
// core's registry and connects the hooks. Describe lists all metrics, for dashboards, alerts, documentation and their tests.
//
// Offerings and facts of instance types are read from the catalog at every scrape. Example: a refusal makes an offering unavailable until
// 12:03; a scrape at 12:02 reads 0, and a scrape at 12:04 reads 1.
//
// The names of the catalog's metrics begin with karpenter_cloudprovider_, all other names with karpenter_linode_. The counts begin at 0
// with each process.
package metrics

import (
	"errors"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	karpcloud "sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches"
)

// Metrics are the provider's metrics. All methods are safe for concurrent use.
type Metrics struct {
	requesting
	claiming
	nodes
	market
}

// requesting is about requests of the Linode client.
type requesting struct {
	requests    *prometheus.CounterVec
	duration    *prometheus.HistogramVec
	limiterWait *prometheus.HistogramVec
	retries     *prometheus.CounterVec
}

// claiming is about attempts to claim nodes for NodeClaims, and the actions of the claim engine.
type claiming struct {
	claims    *prometheus.CounterVec
	nodePools names
	claimWait *prometheus.HistogramVec

	actions        *prometheus.CounterVec
	actionDuration *prometheus.HistogramVec
	requested      *prometheus.CounterVec
	handedOut      *prometheus.CounterVec
}

// nodes is about instances that were removed, and nodes that did not join or need attention.
type nodes struct {
	collected    *prometheus.CounterVec
	unidentified *prometheus.CounterVec
	neverJoined  *prometheus.CounterVec
	maintenance  *prometheus.GaugeVec
}

// market is about plans, prices and availability.
type market struct {
	refusals  *prometheus.CounterVec
	refreshes *prometheus.CounterVec
	refreshed *prometheus.GaugeVec

	source atomic.Pointer[catalog.Catalog]
}

// New declares the metrics in a registry.
func New(registry prometheus.Registerer) *Metrics {
	m, _ := declare(registry)
	return m
}

// APICall counts a call of the Linode client.
func (m *Metrics) APICall(call linode.Call) {
	method, route := bounded(labelMethod, call.Method), bounded(labelRoute, call.Route)
	m.requests.WithLabelValues(method, route, bounded(labelStatus, strconv.Itoa(call.Status))).Inc()
	m.duration.WithLabelValues(method, route).Observe(call.Duration.Seconds())
	if call.LimiterWait > 0 {
		m.limiterWait.WithLabelValues(method, route).Observe(call.LimiterWait.Seconds())
	}
	if call.Retries > 0 {
		m.retries.WithLabelValues(method, route).Add(float64(call.Retries))
	}
}

// Claim counts an attempt to claim a node for a NodeClaim of a NodePool.
func (m *Metrics) Claim(nodePool, outcome string, elapsed time.Duration) {
	outcome = bounded(labelOutcome, outcome)
	nodePool, isNew := m.nodePools.name(nodePool)
	if isNew {
		m.beginClaims(nodePool)
	}
	m.claims.WithLabelValues(nodePool, outcome).Inc()
	m.claimWait.WithLabelValues(outcome).Observe(elapsed.Seconds())
}

// beginClaims makes the series of all outcomes of a NodePool, with the value 0: an alert on an increase would not see a series that begins
// at 1. The first attempt for a NodePool makes its series. A bad outcome comes only after several attempts, so Prometheus can scrape the 0
// before it.
func (m *Metrics) beginClaims(nodePool string) {
	for _, outcome := range launches.Outcomes() {
		m.claims.WithLabelValues(nodePool, outcome)
	}
}

// Action counts an action of the claim engine.
func (m *Metrics) Action(end claims.ActionEnd) {
	action := bounded(labelAction, end.Op)
	m.actions.WithLabelValues(action, resultOf(end.Err)).Inc()
	m.actionDuration.WithLabelValues(action).Observe(end.Duration.Seconds())
	if end.Bought > 0 {
		m.requested.WithLabelValues(m.offeredName(end.InstanceType)).Add(float64(end.Bought))
	}
	if end.Claimed > 0 {
		m.handedOut.WithLabelValues(m.offeredName(end.InstanceType)).Add(float64(end.Claimed))
	}
}

// resultOf returns "ok", or the kind of the error that ended an action.
func resultOf(err error) string {
	var poolErr *claims.Error
	switch {
	case err == nil:
		return resultOK
	case errors.As(err, &poolErr):
		return bounded(labelResult, string(poolErr.Kind))
	}
	return other
}

// Collected counts the instances, places and pools that garbage collection removed.
func (m *Metrics) Collected(collected claims.Collected) {
	for _, node := range collected.Removed {
		kind := collectedOrphan
		if node.Claim == "" {
			kind = collectedSurplus
		}
		m.collected.WithLabelValues(kind).Inc()
	}
	m.collected.WithLabelValues(collectedPlace).Add(float64(len(collected.Slots)))
	m.collected.WithLabelValues(collectedPool).Add(float64(len(collected.Pools)))
}

// Unidentified counts a Node from which pods were not kept off, because it was identified neither by provider ID nor by label.
func (m *Metrics) Unidentified() { m.unidentified.WithLabelValues().Inc() }

// NeverJoined counts a node that was paid for and never joined.
func (m *Metrics) NeverJoined(instanceType string) {
	m.neverJoined.WithLabelValues(m.offeredName(instanceType)).Inc()
}

// HostMaintenance sets how many NodeClaims have maintenance of their host pending.
func (m *Metrics) HostMaintenance(nodes int) { m.maintenance.WithLabelValues().Set(float64(nodes)) }

// Refused counts an offering that was marked unavailable.
func (m *Metrics) Refused(plan string, cause launches.Cause) {
	m.refusals.WithLabelValues(m.offeredName(plan), bounded(labelCause, string(cause))).Inc()
}

// Refreshed counts a read of plans, prices and availability, at the time at.
func (m *Metrics) Refreshed(err error, at time.Time) {
	if err != nil {
		m.refreshes.WithLabelValues(resultError).Inc()
		return
	}
	m.refreshes.WithLabelValues(resultOK).Inc()
	m.refreshed.WithLabelValues().Set(float64(at.Unix()))
}

// Offerings sets the catalog, from which offerings and the facts of instance types are read at every scrape.
func (m *Metrics) Offerings(source *catalog.Catalog) { m.source.Store(source) }

func (m *Metrics) offered() []*karpcloud.InstanceType {
	if source := m.source.Load(); source != nil {
		return source.InstanceTypes(nil)
	}
	return nil
}

// offeredName returns the name of an instance type that the catalog offers now, and "other" for every other name.
func (m *Metrics) offeredName(name string) string {
	if slices.ContainsFunc(m.offered(), func(it *karpcloud.InstanceType) bool { return it.Name == name }) {
		return name
	}
	return other
}
