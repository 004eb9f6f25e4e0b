package prometheus_test

import (
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/tools/prometheus"
)

const scrape = `# TYPE nodes gauge
nodes{pool="a"} 1
nodes{pool="b"} 2
# TYPE pods gauge
pods{scheduled="true"} 1
pods{scheduled="false"} 1
# TYPE wait histogram
wait_bucket{le="1"} 1
wait_bucket{le="+Inf"} 2
wait_sum 3
wait_count 2
`

func TestSeriesAreCountedAsPrometheusStoresThem(t *testing.T) {
	const monitor = `{spec: {endpoints: [{metricRelabelings: [
		{action: keep, sourceLabels: [__name__, scheduled], separator: ";", regex: "(nodes|wait_bucket);.*|pods;false"},
		{action: drop, sourceLabels: [pool], regex: b}]}]}}`
	keep, err := prometheus.Relabelings([]byte(monitor))
	if err != nil {
		t.Fatal(err)
	}
	if exported, stored, err := prometheus.Series(strings.NewReader(scrape), keep); err != nil || exported != 8 || stored != 4 {
		t.Errorf("%d series, %d stored, %v; want 8 and 4", exported, stored, err)
	}
	if exported, stored, err := prometheus.Series(strings.NewReader(scrape), nil); err != nil || exported != 8 || stored != 8 {
		t.Errorf("%d series, %d stored without relabelings, %v", exported, stored, err)
	}
	for _, bad := range []string{"spec: {}", `{spec: {endpoints: [{metricRelabelings: [{action: keep, regex: "("}]}]}}`} {
		if _, err := prometheus.Relabelings([]byte(bad)); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
	if _, _, err := prometheus.Series(strings.NewReader("{"), nil); err == nil {
		t.Error("a scrape that is none is accepted")
	}
}
