package localcluster_test

import (
	"context"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
)

// The operator's whole life in one cluster: installed, run with what its
// Deployment requires, killed, upgraded, stopped.
func TestOperatorRunsAsItsDeploymentSays(t *testing.T) {
	if testing.Short() {
		t.Skip("-short leaves out what starts a cluster")
	}
	w := start(t, localcluster.Options{
		Values: map[string]any{"settings": map[string]any{"batchIdleDuration": "2s"}}, Env: []string{"EXTRA=yes"},
	})
	if !w.Operator.Running() {
		t.Fatal("it does not run")
	}
	w.checkEnvironment("BATCH_IDLE_DURATION=2s", "EXTRA=yes", "CLUSTER_NAME=test", "LINODE_URL="+w.SimURL,
		"LEADER_ELECTION_NAMESPACE=kube-system")
	w.checkIdentity("system:serviceaccount:kube-system:karpenter")
	w.shows(w.Operator.MetricsURL(), "karpenter_")
	w.checkPodLog()
	w.shows(w.AdminURL+"/state", `"Label":"test"`)

	w.Operator.Kill()
	if w.Operator.Running() {
		t.Error("it runs after Kill")
	}
	if err := w.Upgrade(w.ctx, map[string]any{"settings": map[string]any{"batchIdleDuration": "3s"}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Operator.Start(w.ctx); err != nil {
		t.Fatal(err)
	}
	w.checkEnvironment("BATCH_IDLE_DURATION=3s")
	if err := w.Operator.Start(w.ctx); err == nil || !strings.Contains(err.Error(), "running already") {
		t.Errorf("a second start: %v", err)
	}
	w.Operator.Stop(w.ctx)
	if w.Operator.Running() {
		t.Error("it runs after Stop")
	}
	w.Stop(w.ctx)
	w.checkLogsForToken()
}

// checkEnvironment reads the process's environment from the kernel.
func (w *world) checkEnvironment(want ...string) {
	w.Helper()
	content, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(w.Operator.PID()), "environ"))
	if err != nil {
		w.Log("this system does not show a process's environment: not checked")
		return
	}
	env := "\x00" + string(content)
	for _, variable := range append(want, "LINODE_TOKEN="+w.SimToken) {
		if !strings.Contains(env, "\x00"+variable+"\x00") {
			w.Errorf("the operator's environment lacks %s", strings.ReplaceAll(variable, w.SimToken, "<token>"))
		}
	}
	for _, ours := range []string{"\x00HOME=", "\x00PATH="} {
		if strings.Contains(env, ours) {
			w.Errorf("the operator inherits %s from this process", ours[1:])
		}
	}
}

// checkIdentity checks which user the operator's kubeconfig authenticates as.
func (w *world) checkIdentity(want string) {
	w.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(w.dir, "state", "operator", "kubeconfig"))
	if err != nil {
		w.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		w.Fatal(err)
	}
	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(w.ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil || review.Status.UserInfo.Username != want {
		w.Errorf("the operator is %q (%v), want %q", review.Status.UserInfo.Username, err, want)
	}
}

// shows looks for words in the served text.
func (w *world) shows(url, words string) {
	w.Helper()
	answer, err := http.Get(url) //nolint:gosec // of the local cluster
	if err != nil {
		w.Fatal(err)
	}
	defer answer.Body.Close()
	if body, err := io.ReadAll(answer.Body); err != nil || !strings.Contains(string(body), words) {
		w.Errorf("%s: %s, %v, %.100s", url, answer.Status, err, body)
	}
}

// checkPodLog reads the log of the operator's Pod and the log of a simulated Pod through the API server, as kubectl does.
func (w *world) checkPodLog() {
	w.Helper()
	for selector, want := range map[string]string{"app.kubernetes.io/name=karpenter": `"level":`,
		"k8s-app=kube-proxy": "is simulated: no program runs in it"} {
		pods, err := w.kube.CoreV1().Pods(localcluster.Namespace).List(w.ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil || len(pods.Items) == 0 {
			w.Fatalf("%s: %v, %v", selector, pods, err)
		}
		text, err := w.kube.CoreV1().Pods(localcluster.Namespace).GetLogs(pods.Items[0].Name,
			&corev1.PodLogOptions{TailLines: new(int64(2))}).DoRaw(w.ctx)
		if err != nil || !strings.Contains(string(text), want) || strings.Count(string(text), "\n") > 2 {
			w.Errorf("log of %s: %v\n%s", pods.Items[0].Name, err, text)
		}
	}
}

func (w *world) checkLogsForToken() {
	w.Helper()
	err := filepath.WalkDir(w.dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(file)
		if strings.Contains(string(content), w.SimToken) {
			w.Errorf("the token is in %s", file)
		}
		return err
	})
	if err != nil {
		w.Error(err)
	}
}

func TestStartSaysWhatTheOperatorSays(t *testing.T) {
	if testing.Short() {
		t.Skip("-short leaves out what starts a cluster")
	}
	cases := map[string]struct {
		values map[string]any
		says   []string
	}{
		"refused by the operator": {
			map[string]any{"settings": map[string]any{"clusterName": "elsewhere"}},
			[]string{"operator ended (exit status 1: ", "elsewhere", "operator.log"},
		},
		"refused by the chart": {
			map[string]any{"settings": map[string]any{"mode": "warp"}},
			[]string{"helm: release karpenter: ", "mode"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			cluster, err := localcluster.Start(ctx, localcluster.Options{Name: "test", StateDir: t.TempDir(), Values: c.values})
			if err == nil {
				cluster.Stop(ctx)
				t.Fatal("want an error")
			}
			t.Log(err)
			for _, part := range c.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q lacks %q", err, part)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
		})
	}
}
