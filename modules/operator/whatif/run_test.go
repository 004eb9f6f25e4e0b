package whatif_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/snapshot"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/whatif"
)

func TestTry(t *testing.T) {
	for name, cluster := range clusters() {
		began := time.Now()
		report := run(t, whatif.Input{Cluster: cluster, Sensitivity: true})
		var out bytes.Buffer
		_ = report.WriteText(&out)
		fmt.Println("=====", name, time.Since(began))
		fmt.Println(out.String())
	}
}

func TestTryLarge(t *testing.T) {
	s := &snapshot.Snapshot{Nodes: nodes(200)}
	s.DaemonSets = append(s.DaemonSets, daemonSet("logs", "200m", "256Mi"), daemonSet("metrics", "100m", "128Mi"))
	for i := range 40 {
		workload(s, fmt.Sprintf("web-%d", i), 50, fmt.Sprintf("%dm", 100+25*(i%10)), fmt.Sprintf("%dMi", 256+128*(i%7)))
	}
	began := time.Now()
	report := run(t, whatif.Input{Cluster: s, Sensitivity: false})
	var out bytes.Buffer
	_ = report.WriteText(&out)
	fmt.Println("===== large", time.Since(began))
	fmt.Println(out.String())
}
