package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fewPods are workloads that take one or a few nodes.
func fewPods(t *testing.T) []predicted {
	t.Helper()
	pool := []string{example(t, "linodenodeclass.yaml"), nodePool("default", "", "")}
	web := replicated("web", 6, "500m", "1Gi", "")
	return []predicted{
		{name: "20 pods with a volume each", nodePools: pool, pods: 20, objects: []string{withVolumes("db", 20, "250m", "512Mi")}},
		{name: "12 pods spread, 5 kept apart", nodePools: pool, pods: 17, objects: []string{
			replicated("web", 12, "500m", "1Gi", `
      topologySpreadConstraints:
        - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}`),
			replicated("cache", 5, "250m", "2Gi", apart("cache")),
		}},
		{name: "40 pods beside two DaemonSets", nodePools: pool, pods: 40, objects: []string{
			onEachNode("logs", "200m", "256Mi"), onEachNode("metrics", "100m", "128Mi"), replicated("web", 40, "500m", "512Mi", ""),
		}},
		{name: "2 pods with a GPU, 6 without", nodePools: append(pool, gpuNodePool(t)), pods: 8, objects: []string{
			web, replicated("train", 2, "2", "8Gi", `
      tolerations: [{key: nvidia.com/gpu, operator: Exists}]`, `nvidia.com/gpu: "1"`),
		}},
	}
}

// threeHundredPods are pods of two kinds, of which one needs CPUs and the other the slots of a node.
func threeHundredPods(t *testing.T) []predicted {
	t.Helper()
	return []predicted{{
		name: "300 pods of two kinds", nodePools: []string{example(t, "linodenodeclass.yaml"), nodePool("default", "", "")}, pods: 300,
		objects: []string{replicated("web", 200, "250m", "512Mi", ""), replicated("jobs", 100, "500m", "256Mi", "")},
	}}
}

// example returns a file of docs/examples.
func example(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repositoryRoot(t), "docs", "examples", name)) //nolint:gosec // a test's own
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// gpuNodePool is the example's, which lets empty nodes go sooner.
func gpuNodePool(t *testing.T) string {
	t.Helper()
	return strings.Replace(example(t, "nodepool-gpu.yaml"), "consolidateAfter: 5m", "consolidateAfter: 5s", 1)
}

// requests returns a container with these requests, and limits of other resources.
func requests(cpu, memory string, limits ...string) string {
	return fmt.Sprintf(`
      containers:
        - name: pause
          image: registry.k8s.io/pause:3.10
          resources: {requests: {cpu: %s, memory: %s}, limits: {%s}}`, cpu, memory, strings.Join(limits, ", "))
}

func replicated(name string, replicas int, cpu, memory, more string, limits ...string) string {
	return deployment(name, replicas, more+requests(cpu, memory, limits...))
}

func onEachNode(name, cpu, memory string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: %[1]s, namespace: default}
spec:
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      terminationGracePeriodSeconds: 0
      tolerations: [{operator: Exists}]%[2]s
`, name, requests(cpu, memory))
}

func withVolumes(name string, replicas int, cpu, memory string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: %[1]s, namespace: default}
spec:
  serviceName: %[1]s
  replicas: %[2]d
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      terminationGracePeriodSeconds: 0%[3]s
  volumeClaimTemplates:
    - metadata: {name: data}
      spec: {accessModes: [ReadWriteOnce], storageClassName: linode-block-storage, resources: {requests: {storage: 10Gi}}}
`, name, replicas, requests(cpu, memory))
}
