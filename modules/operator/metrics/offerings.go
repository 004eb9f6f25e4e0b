package metrics

import "github.com/prometheus/client_golang/prometheus"

// offerings makes the catalog's metrics at every scrape, so that a removed plan and the end of a refusal need no event. It is a
// prometheus.Collector.
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
	for _, it := range o.metrics.offered() {
		offering := it.Offerings[0] // each type has exactly one
		gauge(o.price, offering.Price, it.Name, offering.CapacityType(), offering.Zone())
		gauge(o.available, float64(len(it.Offerings.Available())), it.Name, offering.CapacityType(), offering.Zone())
		gauge(o.cpu, it.Capacity.Cpu().AsApproximateFloat64(), it.Name)
		gauge(o.memory, it.Capacity.Memory().AsApproximateFloat64(), it.Name)
	}
}
