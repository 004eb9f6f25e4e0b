package metrics

import (
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/allocator"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches"
)

const (
	namespace = "karpenter"

	labelMethod       = "method"
	labelRoute        = "route"
	labelStatus       = "status"
	labelOutcome      = "outcome"
	labelResult       = "result"
	labelAction       = "action"
	labelKind         = "kind"
	labelCause        = "cause"
	labelNodePool     = "nodepool"
	labelInstanceType = "instance_type"
	labelCapacityType = "capacity_type"
	labelZone         = "zone"

	other       = "other"
	resultOK    = "ok"
	resultError = "error"

	collectedSurplus = "surplus" // an instance that was never claimed
	collectedOrphan  = "orphan"  // an instance whose NodeClaim is gone
	collectedPlace   = "place"   // a place in a pool that no instance took
	collectedPool    = "pool"    // a pool without nodes
)

// A Description is one metric of the provider.
type Description struct {
	Name   string // in full, as it is scraped; a scrape of a histogram adds the suffixes _bucket, _sum and _count
	Type   string // counter, gauge or histogram
	Help   string
	Labels []string
}

// Describe returns all metrics of the provider, ordered by name. Metrics of Karpenter core are not among them.
func Describe() []Description {
	_, all := declare(prometheus.NewRegistry())
	return all.described
}

// Values returns the closed set of values of a label. It returns nil for nodepool, and for the labels whose values come from the catalog:
// instance_type, capacity_type and zone.
func Values(label string) []string { return slices.Clone(closedSets()[label]) }

// closedSets returns the values of each label whose values are known beforehand.
var closedSets = sync.OnceValue(func() map[string][]string {
	sets := map[string][]string{
		labelOutcome: launches.Outcomes(),
		labelKind:    {collectedSurplus, collectedOrphan, collectedPlace, collectedPool},
		labelResult:  {resultOK, resultError},
		labelAction:  slices.Concat(allocator.Actions(), instances.Actions()),
		labelStatus:  {"0"}, // no answer
	}
	for _, operation := range api.Operations() {
		sets[labelMethod] = append(sets[labelMethod], operation.Method)
		sets[labelRoute] = append(sets[labelRoute], operation.Route)
	}
	for status := 100; status < 600; status++ {
		if http.StatusText(status) != "" { // a status without a text counts as other
			sets[labelStatus] = append(sets[labelStatus], strconv.Itoa(status))
		}
	}
	for _, kind := range []claims.Kind{
		claims.KindProvisioning, claims.KindInsufficientCapacity, claims.KindQuotaExceeded, claims.KindRateLimited, claims.KindInvalid,
		claims.KindNotFound, claims.KindConflict, claims.KindForbidden, claims.KindUnavailable,
	} {
		sets[labelResult] = append(sets[labelResult], string(kind))
	}
	for _, cause := range launches.Causes() {
		sets[labelCause] = append(sets[labelCause], string(cause))
	}
	for label := range sets {
		if label != labelKind { // all values of labelKind are declared here
			sets[label] = append(sets[label], other)
		}
		slices.Sort(sets[label])
		sets[label] = slices.Compact(sets[label])
	}
	return sets
})

// bounded returns the value if it is in the closed set of its label, and otherwise "other".
func bounded(label, value string) string {
	if _, known := slices.BinarySearch(closedSets()[label], value); known {
		return value
	}
	return other
}

// declarations make metrics, and describe them.
type declarations struct {
	promauto.Factory
	described []Description
}

// describe records the description of a metric, and returns the metric's name in full.
func (d *declarations) describe(kind, subsystem, name, help string, labels []string) string {
	name = prometheus.BuildFQName(namespace, subsystem, name)
	d.described = append(d.described, Description{name, kind, help, labels})
	return name
}

func (d *declarations) counter(subsystem, name, help string, labels ...string) *prometheus.CounterVec {
	return d.NewCounterVec(prometheus.CounterOpts{Name: d.describe("counter", subsystem, name, help, labels), Help: help}, labels)
}

func (d *declarations) gauge(subsystem, name, help string, labels ...string) *prometheus.GaugeVec {
	return d.NewGaugeVec(prometheus.GaugeOpts{Name: d.describe("gauge", subsystem, name, help, labels), Help: help}, labels)
}

func (d *declarations) histogram(subsystem, name, help string, labels ...string) *prometheus.HistogramVec {
	return d.NewHistogramVec(prometheus.HistogramOpts{Name: d.describe("histogram", subsystem, name, help, labels), Help: help,
		Buckets: seconds}, labels)
}

// desc describes a gauge that a separate collector makes at every scrape.
func (d *declarations) desc(name, help string, labels ...string) *prometheus.Desc {
	const subsystem = "cloudprovider" // as in core and in other providers
	return prometheus.NewDesc(d.describe("gauge", subsystem, name, help, labels), help, labels, nil)
}
