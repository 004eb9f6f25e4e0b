package plane_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/kubectl/pkg/util/podutils"

	"github.com/karpenter-linode/karpenter-linode/tools/controlplane"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/plane"
)

const patience = 2 * time.Minute

func config(t *testing.T) plane.Config {
	t.Helper()
	root, err := controlplane.FindRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	bin := controlplane.PlaneDir(root, controlplane.Release())
	if missing := controlplane.Missing(bin, plane.Programs...); len(missing) > 0 {
		t.Fatalf("%s lacks %v: run `make build` first", bin, missing)
	}
	dir := t.TempDir()
	return plane.Config{Name: "test", Bin: bin, Dir: filepath.Join(dir, "state"), LogDir: filepath.Join(dir, "logs")}
}

func start(t *testing.T, cfg plane.Config) *plane.Plane {
	t.Helper()
	if testing.Short() {
		t.Skip("-short leaves out what starts a control plane")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p, err := plane.Start(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop(context.Background()) })
	return p
}

func client(t *testing.T, config *rest.Config, err error) *kubernetes.Clientset {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A plane that begins with the prepared state has certificates of its own.
func TestPreparedPlaneHasItsOwnAuthority(t *testing.T) {
	first := start(t, config(t))
	cfg := config(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := plane.Prepare(ctx, cfg.Bin); err != nil {
		t.Fatal(err)
	}
	second := start(t, cfg)
	var born [2]metav1.Time
	for i, p := range []*plane.Plane{first, second} {
		admin, err := clientcmd.BuildConfigFromFlags("", p.AdminKubeconfig())
		c := client(t, admin, err)
		err = wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			published, err := c.CoreV1().ConfigMaps("kube-system").Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
			return err == nil && published.Data["ca.crt"] == string(p.CA()), nil
		})
		if err != nil {
			t.Errorf("plane %d does not publish its own certificate authority: %v", i, err)
		}
		namespace, err := c.CoreV1().Namespaces().Get(ctx, "kube-system", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		born[i] = namespace.CreationTimestamp
	}
	if !born[1].Before(&born[0]) && !born[1].Equal(&born[0]) {
		t.Errorf("the second plane's namespaces are of %s; the prepared state is older than %s", born[1], born[0])
	}
}

func TestPlaneRunsPodsAndLeavesNothing(t *testing.T) {
	p := start(t, config(t))
	admin, err := clientcmd.BuildConfigFromFlags("", p.AdminKubeconfig())
	c := client(t, admin, err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	version, err := c.ServerVersion()
	if err != nil || version.GitVersion != controlplane.Version(controlplane.Release()) {
		t.Errorf("server version %v, %v", version, err)
	}
	anonymous := rest.AnonymousClientConfig(admin)
	if _, err := client(t, anonymous, nil).CoreV1().Pods("default").List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) &&
		!apierrors.IsUnauthorized(err) {
		t.Errorf("an anonymous list answers %v: want a refusal", err)
	}
	runPod(ctx, t, c)

	p.Stop(ctx)
	for _, child := range p.Processes() {
		if err := syscall.Kill(child.PID(), 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("%s (%d) is still there: %v", child.Name(), child.PID(), err)
		}
	}
	select {
	case err := <-p.Died():
		t.Errorf("a stop is reported as a death: %v", err)
	default:
	}
}

// runPod makes a node and a pod. The pod runs on the node when the node is ready, becomes ready again after another client has written
// that it is not, and goes.
func runPod(ctx context.Context, t *testing.T, c *kubernetes.Clientset) {
	t.Helper()
	room := corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("1Gi"), "pods": resource.MustParse("10")}
	const readyAfter = 2 * time.Second
	made := time.Now()
	_, err := c.CoreV1().Nodes().Create(ctx, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: "n", Labels: map[string]string{plane.NodeLabel: plane.NodeLabelValue},
			Annotations: map[string]string{plane.ReadyAfterNote: readyAfter.String()},
		},
		Status: corev1.NodeStatus{
			Capacity: room, Allocatable: room,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "KubeletNotReady"}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pods, grace := c.CoreV1().Pods("default"), int64(3)
	_, err = pods.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "pause"}}, TerminationGracePeriodSeconds: &grace},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(ctx, t, "the pod runs", func() bool {
		pod, err := pods.Get(ctx, "p", metav1.GetOptions{})
		return err == nil && pod.Status.Phase == corev1.PodRunning && pod.Spec.NodeName == "n" && pod.Status.PodIP != ""
	})
	if took := time.Since(made); took < readyAfter {
		t.Errorf("the pod runs after %s, and its node is ready after %s", took, readyAfter)
	}
	unready := []byte(`{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`) // as the node controller writes it
	if _, err := pods.Patch(ctx, "p", types.StrategicMergePatchType, unready, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	eventually(ctx, t, "the kubelet writes that the pod is ready", func() bool {
		pod, err := pods.Get(ctx, "p", metav1.GetOptions{})
		return err == nil && podutils.IsPodReady(pod)
	})
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default"}}
	if err := pods.EvictV1(ctx, eviction); err != nil {
		t.Fatal(err)
	}
	var ending *corev1.Pod
	eventually(ctx, t, "the evicted pod goes", func() bool {
		pod, err := pods.Get(ctx, "p", metav1.GetOptions{})
		if err == nil {
			ending = pod
		}
		return apierrors.IsNotFound(err)
	})
	if ending == nil || ending.DeletionTimestamp == nil || time.Now().Before(ending.DeletionTimestamp.Time) {
		t.Errorf("the evicted pod was gone before its grace period was over: %+v", ending)
	}
}

func eventually(ctx context.Context, t *testing.T, what string, check func() bool) {
	t.Helper()
	err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(context.Context) (bool, error) { return check(), nil })
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func TestADeathIsReported(t *testing.T) {
	p := start(t, config(t))
	for _, child := range p.Processes() {
		if child.Name() == "kube-scheduler" {
			child.Kill()
		}
	}
	select {
	case err := <-p.Died():
		if !strings.Contains(err.Error(), "kube-scheduler ended (signal: killed") || !strings.Contains(err.Error(), "kube-scheduler.log") {
			t.Errorf("says %q", err)
		}
	case <-time.After(patience):
		t.Fatal("no report that the scheduler died")
	}
}

func TestStartSaysInOneLineWhatIsWrong(t *testing.T) {
	if testing.Short() {
		t.Skip("-short leaves out what starts a control plane")
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	cases := map[string]struct {
		change func(*testing.T, *plane.Config)
		says   []string
	}{
		"port in use": {
			func(_ *testing.T, c *plane.Config) { c.Port = taken.Addr().(*net.TCPAddr).Port },
			[]string{"kube-apiserver: port ", "address already in use"},
		},
		"binary missing": {
			func(t *testing.T, c *plane.Config) { c.Bin = binWithout(t, c.Bin, "etcd") },
			[]string{"etcd: the program is missing: run `make build` first"},
		},
		"child dies during start": {
			func(t *testing.T, c *plane.Config) {
				c.Bin = binWithout(t, c.Bin, "kube-scheduler")
				script(t, filepath.Join(c.Bin, "kube-scheduler"), "echo fatal: no way >&2; exit 3")
			},
			[]string{"kube-scheduler ended (exit status 3: fatal: no way)", "kube-scheduler.log"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			cfg := config(t)
			c.change(t, &cfg)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			p, err := plane.Start(ctx, cfg)
			if err == nil {
				p.Stop(ctx)
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

// binWithout links all programs but one into a folder.
func binWithout(t *testing.T, bin, without string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range plane.Programs {
		if name == without {
			continue
		}
		if err := os.Symlink(filepath.Join(bin, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func script(t *testing.T, file, body string) {
	t.Helper()
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	if testing.Short() {
		t.Skip("-short leaves out what starts a control plane")
	}
	cfg := config(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if _, err := plane.Start(ctx, cfg); err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("got %v", err)
	}
}
