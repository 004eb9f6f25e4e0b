package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/metrics/pkg/apis/metrics/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/snapshot"
)

// metricsAPI stands in for metrics-server behind the API server's aggregation layer. Each list has readings of 15 seconds later.
type metricsAPI struct {
	pods  []client.ObjectKey
	usage corev1.ResourceList
	lists atomic.Int64
}

func (m *metricsAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var answer any
	switch r.URL.Path {
	case "/apis/metrics.k8s.io/v1beta1":
		answer = metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
			GroupVersion: "metrics.k8s.io/v1beta1",
			APIResources: []metav1.APIResource{{Name: "pods", Namespaced: true, Kind: "PodMetrics", Verbs: []string{"get", "list"}}}}
	case "/apis/metrics.k8s.io/v1beta1/pods":
		list := v1beta1.PodMetricsList{TypeMeta: metav1.TypeMeta{Kind: "PodMetricsList", APIVersion: "metrics.k8s.io/v1beta1"}}
		at := metav1.NewTime(time.Date(2026, time.May, 4, 12, 0, int(15*(m.lists.Add(1)-1)), 0, time.UTC))
		for _, pod := range m.pods {
			list.Items = append(list.Items, v1beta1.PodMetrics{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
				Timestamp: at, Containers: []v1beta1.ContainerMetrics{{Name: "main", Usage: m.usage}}})
		}
		answer = list
	default:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// aggregate makes the API server read metrics.k8s.io from that address, as from metrics-server.
func aggregate(t *testing.T, kube client.Client, address string) {
	t.Helper()
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(parsed.Port())
	if err != nil {
		t.Fatal(err)
	}
	createYAML(t, kube, fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: metrics-server, namespace: kube-system}
spec: {type: ExternalName, externalName: localhost, ports: [{port: %[1]d}]}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.metrics.k8s.io}
spec: {group: metrics.k8s.io, version: v1beta1, groupPriorityMinimum: 100, versionPriority: 100, insecureSkipTLSVerify: true,
  service: {name: metrics-server, namespace: kube-system, port: %[1]d}}
`, port))
	for { // until the test's deadline
		var list v1beta1.PodMetricsList
		if err := kube.List(t.Context(), &list); err == nil && len(list.Items) > 0 {
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatal("the API server did not ask for metrics")
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// createYAML makes objects, and their status where a file has one.
func createYAML(t *testing.T, kube client.Client, documents string) {
	t.Helper()
	for document := range strings.SplitSeq(documents, "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			t.Fatal(err)
		}
		status := object.DeepCopy()
		create(t, kube, object)
		if status.Object["status"] != nil {
			status.SetResourceVersion(object.GetResourceVersion())
			if err := kube.Status().Update(t.Context(), status); err != nil {
				t.Fatal(err)
			}
		}
	}
}

const (
	busyPod = `
apiVersion: v1
kind: Pod
metadata:
  name: %[1]s
  namespace: default
  labels: {pod-template-hash: 5d4f}
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-5d4f, uid: web, controller: true}]
spec:
  nodeName: lke1-7-a
  containers:
    - {name: main, image: web, resources: {requests: {cpu: "1", memory: 2Gi}}}
status: {phase: Running}`
	autoscaler = `
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscaler
metadata: {name: web, namespace: default}
spec: {targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, updatePolicy: {updateMode: "Off"}}
status: {recommendation: {containerRecommendations: [{containerName: main, target: {cpu: 100m, memory: 300Mi}, upperBound: {cpu: "8", memory: 9Gi}}]}}`
)

func TestWhatifReadsUseFromTheCluster(t *testing.T) {
	kube, kubeconfig := apiServer(t)
	command := func(name string, args ...string) (string, error) {
		return execute(t, "", append([]string{name, "--kubeconfig", kubeconfig}, args...)...)
	}
	node, _, _ := strings.Cut(cluster, "---")
	pods := []client.ObjectKey{{Namespace: "default", Name: "web-5d4f-a"}, {Namespace: "default", Name: "web-5d4f-b"}}
	createYAML(t, kube, node+"---\n"+fmt.Sprintf(busyPod, pods[0].Name)+"\n---\n"+fmt.Sprintf(busyPod, pods[1].Name))

	for want, args := range map[string][]string{
		"the cluster has no metrics-server": {"--use", "metrics"},
		"there is no VerticalPodAutoscaler": {"--use", "vpa"},
	} {
		if out, err := command("whatif", append(args, "--prices", "builtin")...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q\n%s", args, err, want, out)
		}
	}

	metrics := &metricsAPI{pods: pods, usage: corev1.ResourceList{"cpu": resource.MustParse("200m"), "memory": resource.MustParse("512Mi")}}
	server := httptest.NewTLSServer(metrics)
	t.Cleanup(server.Close)
	aggregate(t, kube, server.URL)
	createYAML(t, kube, autoscaler)
	metrics.lists.Store(0) // the times below are of the reading that the command makes

	live, err := command("whatif", "--use", "metrics", "--prices", "builtin", "--sensitivity=false")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Deployment default/web  2     2    0.46     4Gi     1.15Gi",
		"percentile 95 of what metrics-server measured from 2026-05-04 12:00:00 to 2026-05-04 12:00:00 UTC, plus 15%"} {
		if !strings.Contains(live, want) {
			t.Errorf("no %q in\n%s", want, live)
		}
	}

	metrics.lists.Store(0)
	dump, err := command("dump", "--use", "metrics")
	if err != nil {
		t.Fatal(err)
	}
	again, err := execute(t, "", "whatif", "--from", write(t, "dump.json", dump), "--use", "metrics", "--prices", "builtin",
		"--sensitivity=false")
	if err != nil || again != live {
		t.Errorf("%v; of the cluster\n%s\nof its dump\n%s", err, live, again)
	}

	vpa, err := command("whatif", "--use", "vpa", "--prices", "builtin", "--sensitivity=false")
	if err != nil || !strings.Contains(vpa, "Deployment default/web  2     2    0.2      4Gi     0.59Gi") ||
		!strings.Contains(vpa, "As used: the targets of VerticalPodAutoscalers, plus 0%.") {
		t.Errorf("%v\n%s", err, vpa)
	}

	// The cluster has not changed: the commands only read.
	var list corev1.PodList
	if err := kube.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	for _, pod := range list.Items {
		if cpu := pod.Spec.Containers[0].Resources.Requests.Cpu().String(); cpu != "1" {
			t.Errorf("%s requests %s", pod.Name, cpu)
		}
	}

	metrics.lists.Store(0)
	s := &snapshot.Snapshot{}
	reader := &use{from: useMetrics, time: 200 * time.Millisecond, apart: 10 * time.Millisecond}
	if err := reader.read(t.Context(), &source{access: access{kubeconfig: kubeconfig}}, s); err != nil {
		t.Fatal(err)
	}
	if made := int(metrics.lists.Load()); made == 0 || len(s.PodMetrics) != 2*made {
		t.Errorf("%d lists, and %d readings of 2 pods are kept", made, len(s.PodMetrics))
	}
	server.Close()
	out, err := command("whatif", "--use", "metrics", "--prices", "builtin")
	if err == nil || !strings.Contains(err.Error(), "metrics-server") {
		t.Errorf("%v with metrics-server down\n%s", err, out)
	}
}

func TestReadingsAreRepeatedForAsLongAsAsked(t *testing.T) {
	failed := errors.New("metrics-server is down")
	for _, c := range []struct {
		name         string
		time, takes  time.Duration
		fails, leave int // the reading that fails, and the one during which the user interrupts; 0: none
		made         int
		want         error
	}{
		{name: "without --use-for", made: 1},
		{name: "less time than to a second reading", time: 14 * time.Second, made: 1},
		{name: "a minute", time: time.Minute, made: 5},
		{name: "each takes longer than they are apart", time: time.Minute, takes: 20 * time.Second, made: 3},
		{name: "the third fails", time: time.Minute, fails: 3, made: 3, want: failed},
		{name: "interrupted at the second", time: time.Minute, leave: 2, made: 2, want: context.Canceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				made := 0
				err := (&use{time: c.time, apart: readingsApart}).repeat(ctx, func() error {
					made++
					time.Sleep(c.takes)
					switch made {
					case c.fails:
						return failed
					case c.leave:
						cancel()
					}
					return nil
				})
				if made != c.made || !errors.Is(err, c.want) {
					t.Errorf("%d readings, %v; want %d, %v", made, err, c.made, c.want)
				}
			})
		})
	}
}

func TestWhatifRefusesUseThatNothingShows(t *testing.T) {
	const hostile = cluster + "\n---\n" + `
apiVersion: metrics.k8s.io/v1beta1
kind: PodMetrics
metadata: {name: web, namespace: default}
timestamp: "2026-05-04T12:00:00Z"
window: 15s
containers: [{name: main, usage: {cpu: 1e9999999, memory: 1e9999999}}]
`
	for want, args := range map[string][]string{
		`--use: "prometheus" is not one of metrics, vpa`:     {"--use", "prometheus"},
		"--use metrics: there are no PodMetrics":             {"--use", "metrics"},
		"--use vpa: there is no VerticalPodAutoscaler":       {"--use", "vpa"},
		"--use-for: only --use metrics reads more than once": {"--use", "vpa", "--use-for", "1m"},
		"--use-for: with --from there are no new readings":   {"--use", "metrics", "--use-for", "1m"},
		"--use-percentile: a VerticalPodAutoscaler has one":  {"--use", "vpa", "--use-percentile", "90"},
		"--use-percentile: 0 is not above 0 and at most 100": {"--use", "metrics", "--use-percentile", "0"},
		"--use-headroom: -1 is not a share":                  {"--use", "metrics", "--use-headroom", "-1"},
		"without --use nothing shows what pods use":          {"--use-headroom", "0.2"},
	} {
		out, err := execute(t, cluster, append([]string{"whatif", "--prices", "builtin", "--from", "-"}, args...)...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q\n%s", args, err, want, out)
		}
	}
	out, err := execute(t, hostile, "whatif", "--prices", "builtin", "--from", "-", "--use", "metrics", "--sensitivity=false")
	if err != nil || !strings.Contains(out, "no node holds 1 pod (default/web)") {
		t.Errorf("%v\n%s", err, out)
	}
}
