package supervisor_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/supervisor"
)

// A shell that evaluates the exports gets every value unchanged, also the path of a folder with spaces and quotes.
func TestAShellReadsTheExportsBack(t *testing.T) {
	odd := filepath.Join(t.TempDir(), "it's a folder", "admin")
	info := supervisor.Info{
		Name: "dev", Kubeconfig: odd, SimURL: "http://127.0.0.1:8470", AdminURL: "http://127.0.0.1:8471", Token: "secret",
		MetricsURL: "http://127.0.0.1:8000/metrics",
	}
	const print = `echo "$KUBECONFIG|$LINODE_URL|$LINODE_TOKEN|$LINODESIM_ADMIN|$KARPENTER_METRICS|$CLUSTER_NAME|$KARPENTER_NAMESPACE|${PATH##*:}"`
	out, err := exec.CommandContext(t.Context(), "sh", "-c", info.Exports(filepath.Dir(odd))+print).CombinedOutput()
	want := strings.Join([]string{
		odd, "http://127.0.0.1:8470", "secret", "http://127.0.0.1:8471", "http://127.0.0.1:8000/metrics", "dev", "kube-system", filepath.Dir(odd),
	}, "|")
	if got := strings.TrimSpace(string(out)); err != nil || got != want {
		t.Errorf("%v\n%s, want\n%s", err, got, want)
	}
	if strings.Contains(supervisor.Info{Name: "dev"}.Exports("/bin"), "METRICS") {
		t.Error("a cluster without an operator exports where its metrics are")
	}
	if strings.Contains(info.String(), "secret") {
		t.Error("what people see shows the token")
	}
}
