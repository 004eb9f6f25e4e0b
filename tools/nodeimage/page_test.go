package nodeimage_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// first returns the first group of a pattern's only match.
func first(t *testing.T, text, pattern string) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1)
	if len(found) != 1 {
		t.Fatalf("%s: %d matches, expected 1", pattern, len(found))
	}
	return found[0][1]
}

// A node compares the script with the sum of the page, and fetches it from the tag of the release that has both.
func TestThePageHasTheScriptsChecksum(t *testing.T) {
	page := read(t, filepath.Join(repository, "docs/images.md"))
	if got, want := first(t, page, `echo '([0-9a-f]{64})  /run/kubeadm-node.sh' \| sha256sum`), sum([]byte(read(t, script))); got != want {
		t.Errorf("docs/images.md: the script's sum is %s, expected %s", got, want)
	}
	version := first(t, read(t, filepath.Join(repository, "charts/karpenter/Chart.yaml")), `(?m)^version: (\S+)$`)
	address := "https://raw.githubusercontent.com/karpenter-linode/karpenter-linode/v" + version + "/docs/examples/image/kubeadm-node.sh"
	if !strings.Contains(page, address+"\n") {
		t.Errorf("docs/images.md: there is no %s", address)
	}
}

func TestThePageHasTheVersionsOfTheScript(t *testing.T) {
	page, text := read(t, filepath.Join(repository, "docs/image-contents.md")), read(t, script)
	for row, variable := range map[string]string{
		"kubelet, kubeadm": "kubernetes", "containerd": "containerd", "runc": "runc", "CNI plugins": "cni_plugins",
	} {
		version := first(t, text, `(?m)^`+variable+`=([0-9.]+)$`)
		if !strings.Contains(page, "\n| "+row+" | "+version+" | ") {
			t.Errorf("docs/image-contents.md: the row of %s has not version %s of the script", row, version)
		}
	}
	for _, variable := range []string{"kubelet", "kubeadm", "containerd", "runc", "cni_plugins"} {
		first(t, text, `(?m)^`+variable+`_sha256=([0-9a-f]{64})$`)
	}
}

// installStep returns the preJoinCommands of the page as one script, as the operator's user data runs them.
func installStep(t *testing.T) string {
	t.Helper()
	block := first(t, read(t, filepath.Join(repository, "docs/images.md")), "(?s)```yaml\\n([^`]*name: kubeadm-at-boot\\n[^`]*)```")
	var class struct {
		Spec struct {
			Bootstrap struct {
				PreJoinCommands []string `json:"preJoinCommands"`
			} `json:"bootstrap"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal([]byte(block), &class); err != nil {
		t.Fatal(err)
	}
	return "set -eu\n" + strings.Join(class.Spec.Bootstrap.PreJoinCommands, "\n") + "\n"
}

func TestTheInstallStepOfThePageRuns(t *testing.T) {
	b := newBench(t)
	options := slices.Concat([]string{"--root=" + b.root}, b.mirrors(), b.sums(), versions)
	step := strings.NewReplacer("https://raw.githubusercontent.com", b.url, "/run/", t.TempDir()+"/", "kubeadm-node.sh install",
		"kubeadm-node.sh install "+strings.Join(options, " ")).Replace(installStep(t))
	run := func() (string, error) {
		command := exec.CommandContext(t.Context(), "sh", "-c", step)
		command.Env = append(os.Environ(), "CURL_CA_BUNDLE="+b.authority, "NO_PROXY=*", "TMPDIR="+b.temp)
		text, err := command.CombinedOutput()
		return string(text), err
	}
	path := first(t, step, `(/karpenter-linode/karpenter-linode/\S+)`)
	b.serve(path, "echo evil >"+b.root+"/evil\n")
	output, err := run()
	if left := tree(t, b.root); err == nil || !strings.Contains(output, "kubeadm-node.sh: FAILED") || len(left) > 0 {
		t.Errorf("another script: %v, left %q: %s", err, left, output)
	}
	b.serve(path, read(t, script))
	if output, err := run(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	if got := read(t, filepath.Join(b.root, "usr/local/bin/kubelet")); got != "the kubelet" {
		t.Errorf("the kubelet is %q", got)
	}
}
