package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// offerings makes the catalog's metrics at every scrape, so that plans that go and marks that end need no
// event. It is a prometheus.Collector.
type offerings struct {
	metrics                       *Metrics
	price, available, cpu, memory *prometheus.Desc
}

func newOfferings(m *Metrics, d *declarations) *offerings {
	return &offerings{
		metrics: m,
		price: d.desc("instance_type_offering_price_estimate",
			"Hourly price of an instance type in USD.", labelInstanceType, labelCapacityType, labelZone),
		available: d.desc("instance_type_offering_available",
			"Whether an instance type can be bought: 0 while the Linode API lists it as unavailable or has refused it lately, otherwise 1.",
			labelInstanceType, labelCapacityType, labelZone),
		cpu: d.desc("instance_type_cpu_cores", "Virtual CPUs of an instance type.", labelInstanceType),
		memory: d.desc("instance_type_memory_bytes",
			"Memory that a node of an instance type is expected to show, in bytes.", labelInstanceType),
	}
}

// Describe implements prometheus.Collector.
func (o *offerings) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{o.price, o.available, o.cpu, o.memory} {
		descs <- desc
	}
}

// Collect implements prometheus.Collector.
func (o *offerings) Collect(metrics chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	for _, offered := range o.metrics.offered() {
		available := 0.0
		if offered.Available {
			available = 1
		}
		gauge(o.price, offered.HourlyUSD, offered.InstanceType, karpv1.CapacityTypeOnDemand, offered.Region)
		gauge(o.available, available, offered.InstanceType, karpv1.CapacityTypeOnDemand, offered.Region)
		gauge(o.cpu, float64(offered.VCPUs), offered.InstanceType)
		gauge(o.memory, float64(offered.MemoryBytes), offered.InstanceType)
	}
}
