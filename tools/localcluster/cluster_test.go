package localcluster_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/simulatedlke"
)

const patience = 3 * time.Minute

// world is a running cluster with the clients of the tests.
type world struct {
	*testing.T
	*localcluster.Cluster
	ctx  context.Context
	kube *kubernetes.Clientset
	dir  string
}

func start(t *testing.T, opts localcluster.Options) *world {
	t.Helper()
	if testing.Short() {
		t.Skip("-short leaves out what starts a cluster")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	opts.Name, opts.StateDir = "test", filepath.Join(t.TempDir(), "cluster")
	cluster, err := localcluster.Start(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cluster.Stop(context.Background()) })
	config, err := cluster.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return &world{T: t, Cluster: cluster, ctx: ctx, kube: kube, dir: opts.StateDir}
}

// call calls the API of the LKE cluster.
func (w *world) call(method, path string, body any) map[string]any {
	w.Helper()
	content, err := json.Marshal(body)
	if err != nil {
		w.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(w.api(method, fmt.Sprintf("/v4beta/lke/clusters/%d%s", w.ClusterID, path), string(content)), &out); err != nil {
		w.Fatal(err)
	}
	return out
}

// api sends a request to the simulator over HTTP.
func (w *world) api(method, path, body string) []byte {
	w.Helper()
	request, err := http.NewRequestWithContext(w.ctx, method, w.SimURL+path, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+w.SimToken)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		w.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		w.Fatalf("%s %s: %s %s %v", method, path, answer.Status, text, err)
	}
	return text
}

func (w *world) eventually(what string, check func() bool) {
	w.Helper()
	err := wait.PollUntilContextCancel(w.ctx, 50*time.Millisecond, true, func(context.Context) (bool, error) { return check(), nil })
	if err != nil {
		for _, i := range w.Sim.Snapshot().Instances {
			if i.Console != "" {
				w.Logf("console of %s: %s\n%s", i.Label, i.BootFault, i.Console)
			}
		}
		w.Fatalf("%s: %v; logs: %s", what, err, w.LogDir())
	}
}

// poolNode waits for the only node of a pool and returns it once its cloud
// controller manager is done with it.
func (w *world) poolNode(pool string) *corev1.Node {
	w.Helper()
	var node *corev1.Node
	w.eventually("a node of pool "+pool, func() bool {
		list, err := w.kube.CoreV1().Nodes().List(w.ctx, metav1.ListOptions{LabelSelector: simulatedlke.PoolIDLabel + "=" + pool})
		if err != nil || len(list.Items) != 1 {
			return false
		}
		node = &list.Items[0]
		return node.Spec.ProviderID != ""
	})
	return node
}

func (w *world) node(name string) (*corev1.Node, error) {
	return w.kube.CoreV1().Nodes().Get(w.ctx, name, metav1.GetOptions{})
}

func hasTaint(node *corev1.Node, key string) bool {
	for _, t := range node.Spec.Taints {
		if t.Key == key {
			return true
		}
	}
	return false
}

func TestNodesComeAndGoAsInLKE(t *testing.T) {
	for _, tier := range []string{localcluster.Standard, localcluster.Enterprise} {
		t.Run(tier, func(t *testing.T) {
			w := start(t, localcluster.Options{Tier: tier, WithoutCharts: true})
			back := w.killSidecar("csi-attacher")
			pool := w.addPool(tier)
			node := w.poolNode(pool)
			w.checkNode(node, pool, tier)
			w.runPodOn(node.Name)
			w.followPool(pool, node.Name)
			second := w.deleteByHand(pool, node.Name)
			w.loseNode(second)
			back()
			w.stopAndLook()
		})
	}
}

// killSidecar ends a sidecar of the storage driver; back waits until the sidecar runs again.
func (w *world) killSidecar(name string) (back func()) {
	w.Helper()
	killed := w.PIDs()[name]
	if err := syscall.Kill(killed, syscall.SIGKILL); err != nil {
		w.Fatalf("%s (%d): %v", name, killed, err)
	}
	return func() {
		w.Helper()
		w.eventually(name+" runs again", func() bool { return w.PIDs()[name] != killed })
	}
}

// addPool makes a pool with a label and a taint of its own.
func (w *world) addPool(tier string) string {
	body := map[string]any{
		"type": "g6-standard-2", "count": 1, "labels": map[string]string{"team": "a"},
		"taints": []map[string]string{{"key": "only", "value": "a", "effect": "NoSchedule"}},
	}
	if tier == localcluster.Enterprise {
		cluster := w.call(http.MethodGet, "", nil)
		body["k8s_version"], body["update_strategy"] = cluster["k8s_version"], "on_recycle"
	}
	return strconv.Itoa(int(w.call(http.MethodPost, "/pools", body)["id"].(float64)))
}

func (w *world) checkNode(node *corev1.Node, pool, tier string) {
	w.Helper()
	state := w.Sim.Snapshot()
	for _, instance := range state.Instances {
		if instance.Label != node.Name {
			continue
		}
		if want := "linode://" + strconv.Itoa(instance.ID); node.Spec.ProviderID != want {
			w.Errorf("provider ID %q, want %q", node.Spec.ProviderID, want)
		}
	}
	for key, want := range map[string]string{
		"team": "a", "lke.linode.com/pool-id": pool, "kubernetes.io/hostname": node.Name,
		"node.kubernetes.io/instance-type": "g6-standard-2", "topology.kubernetes.io/region": "us-ord",
	} {
		if node.Labels[key] != want {
			w.Errorf("label %s is %q, want %q", key, node.Labels[key], want)
		}
	}
	w.eventually("the pool's taint is there", func() bool { // LKE may add it after the registration
		now, err := w.node(node.Name)
		return err == nil && hasTaint(now, "only") && !hasTaint(now, simulatedlke.UninitializedTaint)
	})
	// Kubelets of Enterprise reserve 255 MiB and 11 MiB for each of 110 pods (FACTS.md, section 18).
	want := map[string]string{localcluster.Standard: "3919624Ki", localcluster.Enterprise: "2419464Ki"}[tier]
	if memory := node.Status.Allocatable.Memory(); memory.Cmp(resource.MustParse(want)) != 0 {
		w.Errorf("allocatable memory %s, want %s", memory, want)
	}
}

// runPodOn runs a pod that only this node can take.
func (w *world) runPodOn(node string) {
	w.Helper()
	pods := w.kube.CoreV1().Pods("default")
	_, err := pods.Create(w.ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"team": "a"},
			Tolerations:  []corev1.Toleration{{Key: "only", Operator: corev1.TolerationOpExists}},
			Containers: []corev1.Container{{Name: "c", Image: "pause", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"cpu": resource.MustParse("1500m")},
			}}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		w.Fatal(err)
	}
	w.eventually("the pod runs", func() bool {
		pod, err := pods.Get(w.ctx, "p", metav1.GetOptions{})
		return err == nil && pod.Status.Phase == corev1.PodRunning && pod.Spec.NodeName == node
	})
}

// followPool: a change of the pool reaches the node; a user's change on the node itself stays.
func (w *world) followPool(pool, name string) {
	w.Helper()
	_, err := w.kube.CoreV1().Nodes().Patch(w.ctx, name, "application/merge-patch+json", []byte(`{"metadata":{"labels":{"mine":"yes"}}}`),
		metav1.PatchOptions{})
	if err != nil {
		w.Fatal(err)
	}
	w.call(http.MethodPut, "/pools/"+pool, map[string]any{
		"labels": map[string]string{"team": "b"}, "taints": []map[string]string{},
	})
	w.eventually("the node follows its pool", func() bool {
		node, err := w.node(name)
		return err == nil && node.Labels["team"] == "b" && node.Labels["mine"] == "yes" && !hasTaint(node, "only")
	})
}

// deleteByHand: a Node that a user deletes does not come back while its Linode
// lives, as kubelets register once. A second node of the pool shows that the pool's events went on; the function returns its name.
func (w *world) deleteByHand(pool, name string) string {
	w.Helper()
	if err := w.kube.CoreV1().Nodes().Delete(w.ctx, name, metav1.DeleteOptions{}); err != nil {
		w.Fatal(err)
	}
	w.call(http.MethodPut, "/pools/"+pool, map[string]any{"count": 2})
	second := w.poolNode(pool)
	w.call(http.MethodPut, "/pools/"+pool, map[string]any{"labels": map[string]string{"team": "c"}})
	w.eventually("the second node follows its pool", func() bool {
		node, err := w.node(second.Name)
		return err == nil && node.Labels["team"] == "c"
	})
	if _, err := w.node(name); second.Name == name || !apierrors.IsNotFound(err) {
		w.Errorf("the deleted Node %s is back (%v)", name, err)
	}
	return second.Name
}

// loseNode deletes the node through the Linode API, after which Node and pod go.
func (w *world) loseNode(name string) {
	w.Helper()
	_, id, _ := strings.Cut(name, "-")
	w.call(http.MethodDelete, "/nodes/"+id, nil)
	w.eventually("the Node goes with its Linode", func() bool {
		_, err := w.node(name)
		return apierrors.IsNotFound(err)
	})
	for _, instance := range w.Sim.Snapshot().Instances {
		if instance.Label == name {
			w.Error("the Node went before its Linode")
		}
	}
	list, err := w.kube.CoreV1().Nodes().List(w.ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		w.Errorf("%d nodes left (%v), want the user's own", len(list.Items), err)
	}
}

func (w *world) stopAndLook() {
	w.Helper()
	if _, err := localcluster.Start(w.ctx, localcluster.Options{Name: "test", StateDir: w.dir}); !errors.Is(err, localcluster.ErrRunning) {
		w.Errorf("a second start: %v, want ErrRunning", err)
	}
	pids := w.PIDs()
	if len(pids) != 7 {
		w.Errorf("children %v, want 7", pids)
	}
	w.Stop(w.ctx)
	for name, pid := range pids {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			w.Errorf("%s (%d) is still there: %v", name, pid, err)
		}
	}
	if holder := localcluster.Holder(w.dir); holder != 0 {
		w.Errorf("process %d still holds the lock", holder)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "state")); !os.IsNotExist(err) {
		w.Errorf("the state is left behind: %v", err)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "logs", "kube-apiserver.log")); err != nil {
		w.Errorf("the logs are gone: %v", err)
	}
}

func TestStartRefuses(t *testing.T) {
	cases := map[string]struct {
		opts localcluster.Options
		says string
	}{
		"unknown tier": {localcluster.Options{Tier: "premium"}, `tier "premium" must be standard or enterprise`},
		"unknown profile": {localcluster.Options{Profile: "warp"},
			`profile "warp" is unknown; use one of fast, realistic, slow, stale, hostile, or a .json report of verify`},
		"no report":        {localcluster.Options{Profile: "none.json"}, "no such file"},
		"odd name":         {localcluster.Options{Name: "../x"}, `name "../x"`},
		"nothing is built": {localcluster.Options{Root: t.TempDir()}, "run `make build` first"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.opts.StateDir = t.TempDir()
			cluster, err := localcluster.Start(t.Context(), c.opts)
			if err == nil {
				cluster.Stop(t.Context())
				t.Fatal("want an error")
			}
			if !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %q, want one line with %q", err, c.says)
			}
		})
	}
}
