package reference

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	_ "sigs.k8s.io/karpenter/pkg/cloudprovider/metrics" // this and the following declare core's metrics
	_ "sigs.k8s.io/karpenter/pkg/controllers"
	"sigs.k8s.io/karpenter/pkg/controllers/metrics/node"
	_ "sigs.k8s.io/karpenter/pkg/operator"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/metrics"
)

// Metric is a metric that the operator exports.
type Metric struct {
	Name   string
	Type   string // counter, gauge or histogram; empty where the library does not report it
	Help   string
	Labels []string
}

// OwnMetrics lists the provider's metrics by name.
func OwnMetrics() []Metric {
	var list []Metric
	for _, d := range metrics.Describe() {
		list = append(list, Metric{d.Name, d.Type, d.Help, d.Labels})
	}
	return list
}

// nodes declares core's metrics of nodes, which the constructor of their controller declares.
var nodes = sync.OnceFunc(func() { node.NewController(nil) })

// CoreMetrics lists the metrics of Karpenter core and of its libraries. The list lacks metrics that only running
// controllers declare: some metrics of conditions (operator_...), and the metrics of caches.
func CoreMetrics() ([]Metric, error) {
	nodes()
	collector, ok := crmetrics.Registry.(prometheus.Collector)
	if !ok {
		return nil, errors.New("the registry of controller-runtime does not describe its metrics")
	}
	return described(collector)
}

// description parses the text of a prometheus.Desc, because a Desc gives its name and its labels in no other form.
var description = regexp.MustCompile(`^Desc\{fqName: "([^"]*)", help: (".*"), constLabels: \{[^}]*\}, variableLabels: \{([^}]*)\}\}$`)

func described(collector prometheus.Collector) ([]Metric, error) {
	descriptions := make(chan *prometheus.Desc)
	go func() {
		defer close(descriptions)
		collector.Describe(descriptions)
	}()
	found := map[string]Metric{}
	var unread string
	for d := range descriptions {
		m := description.FindStringSubmatch(d.String())
		if m == nil {
			unread = d.String()
			continue
		}
		metric := Metric{Name: m[1], Help: strings.Trim(m[2], `"`)}
		if m[3] != "" {
			metric.Labels = strings.Split(m[3], ",")
		}
		found[metric.Name] = metric
	}
	if unread != "" {
		return nil, fmt.Errorf("cannot read %s", unread)
	}
	list := make([]Metric, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		list = append(list, found[name])
	}
	return list, nil
}
