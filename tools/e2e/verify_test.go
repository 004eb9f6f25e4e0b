package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/verify"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/tools/controlplane"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
)

// TestVerifyStandard and TestVerifyEnterprise run `karpenter-linode verify` without the experiments that the tests of lkeprobe run in
// virtual time.
func TestVerifyStandard(t *testing.T)   { verified(t, "standard") }
func TestVerifyEnterprise(t *testing.T) { verified(t, "enterprise") }

func verified(t *testing.T, tier string) {
	t.Parallel()
	e := start(t, "verify", tier, soon(nil, refreshed...))
	e.scenario(t, "verify with nodes that come, and a kill of the operator", verifies("limits", "arrival", "up-and-down", "killed"))
	e.scenario(t, "verify with nodes that are replaced", verifies("volume", "cheaper", "drift", "deleted-node", "deleted-linode"))
	e.scenario(t, "verify is killed in a scale-up, and --clean removes everything", verifyKilled)
}

// TestVerifyProfiles plays the operator's part on each way in which the simulated platform behaves, ten times as fast. The runs on the
// profile realistic are whole; docs/verify-example.md is the page of such a run, which VERIFY_PAGE=/tmp/page writes.
func TestVerifyProfiles(t *testing.T) {
	t.Parallel()
	for _, tier := range []string{localcluster.Standard, localcluster.Enterprise} {
		for _, profile := range []string{"realistic", "slow", "stale", "hostile"} {
			t.Run(tier+"/"+profile, func(t *testing.T) {
				t.Parallel()
				e := start(t, profile, tier, soonCollected(), func(o *localcluster.Options) { o.Profile, o.TimeScale = profile, 10 })
				parts := []string{"up-and-down", "volume", "cheaper", "drift", "deleted-node", "deleted-linode", "killed"}
				if profile == "realistic" {
					parts = nil
				}
				e.scenario(t, "verify is green and leaves nothing", verifies(parts...))
			})
		}
	}
}

// TestVerifyInstall has the program install the operator with Helm's own program, and uninstall it.
func TestVerifyInstall(t *testing.T) {
	t.Parallel()
	e := start(t, "verify-install", "standard", nil)
	e.scenario(t, "verify installs the operator, is green, and leaves nothing", verifyInstalls)
}

func verifyInstalls(t *testing.T, e *environment) {
	g, bin := NewWithT(t), t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(bin, "helm"), "helm.sh/helm/v4/cmd/helm")
	built, err := build.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(built))
	e.uninstall(t)
	e.installDefinitions(t, "keepOnUninstall", false)
	e.removeRelease(t, "karpenter-crd")
	g.Eventually(t.Context(), func() []string { return e.definitions(t) }).WithTimeout(patience).WithPolling(interval).Should(BeEmpty())

	kubelet, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); e.asPod(kubelet, t) }()
	cmd, err := e.command(t.Context(), "verify", "--cluster", fmt.Sprint(e.ClusterID), "--yes", "--install", "--charts",
		filepath.Join(repositoryRoot(t), "charts"), "--only", "up-and-down,killed,uninstall", "--report", filepath.Join(bin, "verify.json"))
	g.Expect(err).NotTo(HaveOccurred())
	cmd.Env = append(cmd.Env, "PATH="+bin+":"+os.Getenv("PATH"))
	printed, err := cmd.CombinedOutput()
	stop()
	<-ended
	t.Logf("%s", printed)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(e.definitions(t)).To(BeEmpty())
	g.Expect(e.ourInstances()).To(BeEmpty())

	e.installDefinitions(t) // for what the test looks at afterwards
	g.Expect(e.Upgrade(t.Context(), nil)).To(Succeed())
	if err := e.Operator.Start(t.Context()); err != nil {
		g.Expect(e.Operator.Running()).To(BeTrue(), "%v", err)
	}
}

// asPod lets the operator's process come and go with its Pod, as a kubelet does, until the context ends.
func (e *environment) asPod(ctx context.Context, t *testing.T) {
	running := types.UID("")
	for ctx.Err() == nil {
		pods := &corev1.PodList{}
		err := e.kube.List(ctx, pods, client.InNamespace(localcluster.Namespace), client.MatchingLabels{"app.kubernetes.io/name": "karpenter"})
		at := slices.IndexFunc(pods.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodRunning })
		switch {
		case err != nil:
		case at < 0 && running != "":
			e.Operator.Kill()
			<-e.Operator.Exited()
			running = ""
		case at >= 0 && pods.Items[at].UID != running:
			if running != "" {
				e.Operator.Kill()
				<-e.Operator.Exited()
			}
			// Another goroutine restarts a replica that lost its Lease.
			if err := e.Operator.Start(ctx); err != nil && ctx.Err() == nil && !e.Operator.Running() {
				t.Errorf("the operator's pod: %v", err)
			}
			running = pods.Items[at].UID
		}
		select {
		case <-ctx.Done():
		case <-time.After(interval):
		}
	}
}

// verifyKilled kills the program while five nodes come.
func verifyKilled(t *testing.T, e *environment) {
	ctx, g := t.Context(), NewWithT(t)
	cluster := fmt.Sprint(e.ClusterID)
	killed, kill := context.WithCancel(ctx) // with SIGKILL
	ended := make(chan error)
	go func() {
		_, err := e.runProgram(killed, "verify", "--cluster", cluster, "--yes", "--only", "up-and-down", "--report",
			filepath.Join(t.TempDir(), "verify.json"))
		ended <- err
	}()
	run := ""
	g.Eventually(ctx, func(g Gomega) {
		claims := e.nodeClaims(ctx, g)
		g.Expect(claims).NotTo(BeEmpty())
		run = strings.TrimPrefix(claims[0].Labels[karpv1.NodePoolLabelKey], "verify-")
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	kill()
	g.Expect(<-ended).To(HaveOccurred())
	printed := e.program(t, "verify", "--cluster", cluster, "--clean", run, "--yes", "--watch", "1s")
	g.Expect(e.nodeClaims(ctx, g)).To(BeEmpty(), printed)
	g.Expect(e.remains(ctx)).To(BeEmpty(), printed)
}

// TestVerifyInstance runs the operator's part of verify in instance mode.
func TestVerifyInstance(t *testing.T) {
	t.Parallel()
	e := start(t, "verify-plain", "standard", soonCollected(), plainLinodes(2))
	e.scenario(t, "verify is green and leaves nothing", verifies("up-and-down", "drift", "deleted-node", "deleted-linode", "killed"))
}

// verifies runs verify, or the named experiments and scenarios of it.
func verifies(only ...string) func(*testing.T, *environment) {
	return func(t *testing.T, e *environment) {
		if len(only) == 0 { // the experiment "filter" asks for what the API refuses
			e.meant = []string{"GET /lke/clusters/{clusterId}/pools: filter type", "GET /linode/instances: filter lke_cluster_id"}
		}
		before := e.lostLeases()
		r, printed := e.verify(t, only...)
		NewWithT(t).Expect(lkeprobe.Red(r)).To(BeEmpty(), printed)
		restarted := e.lostLeases() > before // by a busy machine: another process counts its calls from zero
		for _, s := range r.Scenarios {
			counted := s.Calls >= 0 || restarted || s.Name == "killed" || s.Name == "nothing-left"
			if !s.Passed || !counted || s.Linodes > 6 || s.Dollars < 0.018*float64(s.Linodes) {
				t.Errorf("%+v", s)
			}
		}
		if keep := os.Getenv("VERIFY_PAGE"); keep != "" {
			writePage(t, keep+"-"+e.Name+"-"+r.Scenarios[0].Name+".md", r)
		}
	}
}

// lostLeases counts how often the operator ended because it lost its Lease.
func (e *environment) lostLeases() int {
	log, _ := os.ReadFile(e.Operator.LogPath()) // none before its first line
	return strings.Count(string(log), "leader election lost") + strings.Count(string(log), "leadership lost")
}

// writePage writes the page for people.
func writePage(t *testing.T, path string, r *report.Report) {
	t.Helper()
	var text bytes.Buffer
	if err := lkeprobe.Markdown(&text, r); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Clean(path), text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// verify runs verify as the program does, without the kill: the operator is no Pod here.
func (e *environment) verify(t *testing.T, only ...string) (*report.Report, string) {
	t.Helper()
	account, err := linode.New(linode.Config{Token: linode.StaticToken(e.OwnerToken), BaseURL: e.SimURL, APIVersion: "v4beta"})
	if err != nil {
		t.Fatal(err)
	}
	var printed bytes.Buffer
	cfg := lkeprobe.Config{
		Access: lkeprobe.Access{Token: e.OwnerToken, BaseURL: e.SimURL}, ClusterID: e.ClusterID, Region: "us-ord",
		Bounds: lkeprobe.Bounds{Duration: time.Hour, Budget: 1}, Only: only, Nodes: verify.KubeNodes{Kube: e.kube}, Out: &printed,
		Run: lkeprobe.NewRun(),
	}
	if e.Operator != nil {
		part := verify.Config{
			Kube: e.kube, Linodes: account, Run: cfg.Run, Volumes: "linode-block-storage", Poll: interval,
			Kill: func(ctx context.Context) error { e.Operator.Kill(); return e.Operator.Start(ctx) },
			Calls: func(ctx context.Context) (int, error) {
				text, err := fetch(ctx, e.Operator.MetricsURL())
				return verify.Requests(text), err
			},
		}
		if e.plain {
			cfg.ClusterID, part.Volumes = 0, ""
			class := &v1alpha1.LinodeNodeClass{} // the user's, as --nodeclass names it
			e.apply(t, "linodenodeclass.yaml")
			if err := e.kube.Get(t.Context(), client.ObjectKey{Name: "default"}, class); err != nil {
				t.Fatal(err)
			}
			part.Class = class.Spec
		}
		cfg.Operator = verify.New(part)
	}
	r, err := lkeprobe.Run(t.Context(), cfg)
	if r == nil || err != nil {
		t.Fatalf("%v\n%s", err, printed.String())
	}
	t.Logf("\n%s", printed.String())
	return r, printed.String()
}

func fetch(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

// TestVerifyLies lets the simulated LKE lie about Nodes: each lie turns its assumption red by name, and no other one.
func TestVerifyLies(t *testing.T) {
	t.Parallel()
	cluster, err := localcluster.Start(t.Context(), localcluster.Options{
		Name: "e2e-lies", WithoutCharts: true, WithoutAddons: true, Progress: t.Output(), Kubernetes: controlplane.Release(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cluster.Stop(context.WithoutCancel(t.Context())) })
	kube, err := cluster.Client()
	if err != nil {
		t.Fatal(err)
	}
	e := &environment{Cluster: cluster, kube: kube}
	for _, about := range []report.Assumption{"", report.LessMemory, report.OtherNames, report.LateTaints} {
		t.Run(fmt.Sprint(about), func(t *testing.T) {
			if about != "" {
				if err := e.Sim.Lie(about); err != nil {
					t.Fatal(err)
				}
				defer e.Sim.HealAll()
			}
			r, printed := e.verify(t, "arrival")
			want := []string{string(about)}
			if about == "" {
				want = nil
				for _, j := range r.Judgements {
					seen := slices.Contains([]report.Assumption{report.LateTaints, report.LessMemory, report.OtherNames}, j.Assumption)
					if seen && j.Verdict != report.Holds {
						t.Errorf("%+v", j)
					}
				}
			}
			if red := lkeprobe.Red(r); !slices.Equal(red, want) {
				t.Errorf("red: %v, want %v\n%s", red, want, printed)
			}
		})
	}
}
