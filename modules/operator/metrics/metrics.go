// Package metrics declares what the provider measures beside Karpenter core.
//
// Every label has a bounded set of values: routes are templates without IDs, outcomes a closed set, plans and
// regions what the API lists. Nothing here holds a token, a name of a NodeClaim, or an ID. New registers with
// a registry; cmd/controller passes the one that core serves, and connects the hooks.
package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/instancetype"
)

const namespace = "karpenter"

// Metrics are the provider's metrics. All methods are safe for concurrent use.
type Metrics struct {
	requests    *prometheus.CounterVec
	duration    *prometheus.HistogramVec
	limiterWait *prometheus.HistogramVec
	retries     *prometheus.CounterVec
	claims      *prometheus.CounterVec
	claimWait   *prometheus.HistogramVec
	collected   *prometheus.CounterVec
	price       *prometheus.GaugeVec
	available   *prometheus.GaugeVec
}

// New declares the metrics in a registry.
func New(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		requests: counter("linode_api", "requests_total", "Requests to the Linode API by method, route and status; status 0 is a request without an answer.", "method", "route", "status"),
		duration: histogram("linode_api", "request_duration_seconds", "Duration of a request to the Linode API, retries included.", "method", "route"),
		limiterWait: histogram("linode_api", "limiter_wait_seconds",
			"How long a request waited so as not to exceed the API's limits.", "method", "route"),
		retries:   counter("linode_api", "retries_total", "Repeated requests to the Linode API.", "method", "route"),
		claims:    counter("linode", "claims_total", "Attempts to claim a node for a NodeClaim by outcome.", "outcome"),
		claimWait: histogram("linode", "claim_duration_seconds", "Duration of an attempt to claim a node by outcome.", "outcome"),
		collected: counter("linode", "collected_total", "What garbage collection has removed: instances nobody owned and pools nobody needed.", "kind"),
		price: gauge("cloudprovider", "instance_type_offering_price_estimate",
			"Hourly price of an instance type in USD.", "instance_type", "capacity_type", "zone"),
		available: gauge("cloudprovider", "instance_type_offering_available",
			"Whether the Linode API lists the instance type as available: 1 or 0.", "instance_type", "capacity_type", "zone"),
	}
	registry.MustRegister(m.requests, m.duration, m.limiterWait, m.retries, m.claims, m.claimWait, m.collected, m.price, m.available)
	return m
}

func counter(subsystem, name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help}, labels)
}

func gauge(subsystem, name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help}, labels)
}

func histogram(subsystem, name, help string, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Subsystem: subsystem, Name: name, Help: help,
		Buckets: []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120},
	}, labels)
}

// APICall counts a call of the Linode client.
func (m *Metrics) APICall(call linode.Call) {
	m.requests.WithLabelValues(call.Method, call.Route, strconv.Itoa(call.Status)).Inc()
	m.duration.WithLabelValues(call.Method, call.Route).Observe(call.Duration.Seconds())
	if call.LimiterWait > 0 {
		m.limiterWait.WithLabelValues(call.Method, call.Route).Observe(call.LimiterWait.Seconds())
	}
	if call.Retries > 0 {
		m.retries.WithLabelValues(call.Method, call.Route).Add(float64(call.Retries))
	}
}

// Claim counts an attempt to claim a node.
func (m *Metrics) Claim(outcome string, elapsed time.Duration) {
	m.claims.WithLabelValues(outcome).Inc()
	m.claimWait.WithLabelValues(outcome).Observe(elapsed.Seconds())
}

// Collected counts what garbage collection removed.
func (m *Metrics) Collected(collected lkepool.Collected) {
	m.collected.WithLabelValues("instance").Add(float64(len(collected.Released)))
	m.collected.WithLabelValues("pool").Add(float64(len(collected.Pools)))
}

// Offered sets prices and availability. Plans that are no longer offered disappear.
func (m *Metrics) Offered(offered []instancetype.Offered) {
	m.price.Reset()
	m.available.Reset()
	for _, o := range offered {
		m.price.WithLabelValues(o.InstanceType, "on-demand", o.Region).Set(o.HourlyUSD)
		available := 0.0
		if o.Available {
			available = 1
		}
		m.available.WithLabelValues(o.InstanceType, "on-demand", o.Region).Set(available)
	}
}
