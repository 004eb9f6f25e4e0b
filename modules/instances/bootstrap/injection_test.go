package bootstrap

import (
	"errors"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// hostile are values that would mean something to YAML, JSON or a shell.
var hostile = []string{
	"a\nruncmd:\n  - evil", "a: b", "a # b", "a'; evil; '", `a"; evil; "`, "$(evil)", "`evil`", "a\x00b", "- a", "*a", "&a", "!!binary a",
	"{a: b}", "a\\nb", "a\u2028b", "${KARPENTER_TOKEN}", "a|b", "a&&b", "a\tb",
}

// A value that is not allowed is refused, and the error names its field. An allowed value changes only its own place in the output.
func TestHostileValuesAreRefusedByField(t *testing.T) {
	for field, set := range map[string]func(*Config, string){
		"Node.Name":            func(c *Config, v string) { c.Node.Name = v },
		"Node.Labels":          func(c *Config, v string) { c.Node.Labels = map[string]string{"team": v} },
		"Node.Labels[":         func(c *Config, v string) { c.Node.Labels = map[string]string{v: "a"} },
		"Node.Taints[0].Key":   func(c *Config, v string) { c.Node.Taints = []Taint{{Key: v, Effect: "NoSchedule"}} },
		"Node.Taints[0].Value": func(c *Config, v string) { c.Node.Taints = []Taint{{Key: "a", Value: v, Effect: "NoSchedule"}} },
		"Node.Taints[0].Effect": func(c *Config, v string) {
			c.Node.Taints = []Taint{{Key: "a", Effect: v}}
		},
		"Node.Kubelet.ClusterDNS[0]":  func(c *Config, v string) { c.Node.Kubelet.ClusterDNS = []string{v} },
		"Node.Kubelet.SystemReserved": func(c *Config, v string) { c.Node.Kubelet.SystemReserved = map[string]string{"cpu": v} },
		"Node.Kubelet.KubeReserved":   func(c *Config, v string) { c.Node.Kubelet.KubeReserved = map[string]string{v: "1"} },
		"Node.Kubelet.EvictionHard":   func(c *Config, v string) { c.Node.Kubelet.EvictionHard = map[string]string{"memory.available": v} },
		"Cluster.Endpoint":            func(c *Config, v string) { c.Cluster.Endpoint = v + ":6443" },
		"Cluster.CACertHashes[0]":     func(c *Config, v string) { c.Cluster.CACertHashes = []string{v} },
		"Cluster.Version":             func(c *Config, v string) { c.Cluster.Version = v },
	} {
		for _, value := range hostile {
			c := example()
			set(&c, value)
			for name, render := range map[string]func() ([]byte, error){
				"kubeadm": func() ([]byte, error) { return Kubeadm(c, kubeadmToken) },
				"k3s":     func() ([]byte, error) { return K3s(c, k3sToken, K3sInstaller) },
				"custom":  func() ([]byte, error) { return Custom([]byte("#!/bin/sh\n"), c, "") },
			} {
				text, err := render()
				e, ok := errors.AsType[*Error](err)
				if !ok || !strings.HasPrefix(e.Field, field) {
					t.Errorf("%s: %s = %q: %v\n%s", name, field, value, err, text)
				}
			}
		}
	}
}

func TestBadTokensAreRefusedAndNotShown(t *testing.T) {
	for _, token := range append([]string{"", "secret-secret-secret x"}, hostile...) {
		for name, render := range map[string]func() ([]byte, error){
			"kubeadm": func() ([]byte, error) { return Kubeadm(example(), token) },
			"k3s":     func() ([]byte, error) { return K3s(example(), token+" ", "") },
			"rke2":    func() ([]byte, error) { return RKE2(example(), token+"\n", "") },
		} {
			_, err := render()
			if e, ok := errors.AsType[*Error](err); !ok || e.Field != "token" || len(token) > 8 && strings.Contains(err.Error(), token) {
				t.Errorf("%s: %q: %v", name, token, err)
			}
		}
	}
	if _, err := K3s(example(), k3sToken, "http://example.com/install.sh"); err == nil {
		t.Error("an installer without TLS was accepted")
	}
	c := example()
	c.Cluster.CACertHashes = nil
	if _, err := Kubeadm(c, kubeadmToken); err == nil {
		t.Error("a join without the hash of a CA was accepted")
	}
	if _, err := Talos(Node{Name: "a"}, []byte("machine: [secret-secret")); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("the error shows the machine config: %v", err)
	}
}

// Without the hash of the CA an agent sends its password to any server that answers.
func TestAgentTokensWithoutTheHashOfTheCAAreRefused(t *testing.T) {
	for _, token := range []string{
		"0123456789abcdef", "K10::node:0123456789abcdef", "K10a1b2c3::node:0123456789abcdef", k3sToken[:10] + "::node:0123456789abcdef",
		k3sToken + "\n", "node:" + k3sToken,
	} {
		for name, render := range map[string]func(Config, string, string) ([]byte, error){"k3s": K3s, "rke2": RKE2} {
			if _, err := render(example(), token, ""); err == nil || !strings.Contains(err.Error(), "K10<hash of the CA>::") {
				t.Errorf("%s takes %q: %v", name, token, err)
			}
		}
	}
}

// A token of k3s may have every printable character. It is one value of one file.
func TestAHostileAgentTokenIsOneValue(t *testing.T) {
	const token = "K10e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855::" + `node:"'$(evil);#:{}[]|&*!%@\x00` + "`evil`"
	text, err := K3s(example(), token, "")
	if err != nil {
		t.Fatal(err)
	}
	config := readConfig(t, text)
	var settings struct {
		Token string `yaml:"token"`
	}
	if err := yaml.Unmarshal([]byte(config.content(t, "/etc/rancher/k3s/config.yaml")), &settings); err != nil || settings.Token != token {
		t.Errorf("token %q, %v", settings.Token, err)
	}
	if len(config.Run) != 1 || len(config.Run[0]) != 5 || len(config.Files) != 6 {
		t.Errorf("commands %q, %d files", config.Run, len(config.Files))
	}
	if _, err := Custom([]byte("#!/bin/sh\necho ${KARPENTER_TOKEN}\n"), example(), token); err == nil ||
		strings.Contains(err.Error(), "evil") {
		t.Errorf("custom: %v", err)
	}
}

// The user's commands are scripts of their own: whatever they have, the others stay.
func TestCommandsStayInTheirScript(t *testing.T) {
	c := example()
	c.Before = []string{"cat <<EOF\nruncmd:\n  - evil\nEOF", "echo '", "exit 0 # ' \""}
	text, err := Kubeadm(c, kubeadmToken)
	if err != nil {
		t.Fatal(err)
	}
	config := readConfig(t, text)
	if got := config.content(t, home+"before.sh"); got != "set -eu\n"+strings.Join(c.Before, "\n")+"\n" {
		t.Errorf("before.sh is %q", got)
	}
	if got := config.content(t, home+"bootstrap.sh"); got != kubeadmScript(c.Cluster.Version, new(cloudConfig).nodeIP(c.Node, kubeadmNodeIP)) {
		t.Errorf("bootstrap.sh is %q", got)
	}
	if !slices.EqualFunc(config.Run, [][]string{{"sh", home + "bootstrap.sh"}}, slices.Equal) {
		t.Errorf("commands %q", config.Run)
	}
}

func TestScriptsAreShells(t *testing.T) {
	for name, script := range map[string]string{"kubeadm": kubeadmScript("v1.35.2", kubeadmNodeIP), "k3s": k3s.script(k3s.nodeIP()),
		"rke2": rke2.script(""), "kernel": kernelScript, "swap": swapScript, "private": PrivateNetwork.script(), "vpc": VPCNetwork.script()} {
		check := exec.CommandContext(t.Context(), "sh", "-n")
		check.Stdin = strings.NewReader(script)
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}

// A shell runs the rendered script and sees the values, in quotes of either kind.
func TestAShellSeesTheValuesOfCustomVariables(t *testing.T) {
	c := example()
	script, err := Custom([]byte("#!/bin/sh\nset -eu\nprintf '%s|' \"${KARPENTER_NODE_NAME}\" '${KARPENTER_NODE_NAME}' "+
		"\"x${KARPENTER_NODE_TAINTS}\" ${KARPENTER_ENDPOINT}\n"), c, "")
	if err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), "sh")
	run.Stdin = strings.NewReader(string(script))
	out, err := run.CombinedOutput()
	want := "demo-default-x7k2p|${KARPENTER_NODE_NAME}|xdedicated=batch:NoSchedule,karpenter.sh/unregistered=:NoExecute|api.example.com:6443|"
	if err != nil || string(out) != want {
		t.Errorf("%s, %v, want %s", out, err, want)
	}
}

func TestCustomRefusesWhatItCannotFill(t *testing.T) {
	for name, text := range map[string]string{
		"an unknown variable":         "#cloud-config\nhostname: ${KARPENTER_HOSTNAME}\n",
		"in a script":                 "#!/bin/sh\necho ${KARPENTER_HOSTNAME}\n",
		"a variable in a key":         "#cloud-config\n${KARPENTER_NODE_NAME}: a\n",
		"a script of another kind":    "#!/usr/bin/python3\nprint('${KARPENTER_NODE_NAME}')\n",
		"no known format":             "hostname: ${KARPENTER_NODE_NAME}\n",
		"two documents":               "#cloud-config\na: 1\n---\nb: ${KARPENTER_NODE_NAME}\n",
		"a list":                      "#cloud-config\n- ${KARPENTER_NODE_NAME}\n",
		"broken YAML":                 "#cloud-config\na: [\n",
		"broken JSON":                 "{\"a\": ",
		"JSON with a variable as key": "{\"${KARPENTER_NODE_NAME}\": 1}",
	} {
		if out, err := Custom([]byte(text), example(), k3sToken); err == nil {
			t.Errorf("%s was accepted:\n%s", name, out)
		}
	}
	for text, want := range map[string][]string{
		"#cloud-config\na: b\n":                       {VarKubeletArgs, VarNodeLabels, VarNodeTaints},
		"#!/bin/sh\necho ${KARPENTER_NODE_LABELS}\n":  {VarKubeletArgs, VarNodeTaints},
		"#!/bin/sh\necho ${KARPENTER_KUBELET_ARGS}\n": nil,
	} {
		if got := Unregistered([]byte(text)); !slices.Equal(got, want) {
			t.Errorf("%q lacks %v, want %v", text, got, want)
		}
	}
}

func TestOnlyLabelsAreSetThatAKubeletMaySet(t *testing.T) {
	all := map[string]string{
		"team": "a", "example.com/x": "b", "karpenter.sh/nodepool": "c", "kubernetes.io/arch": "amd64", "node.kubernetes.io/instance-type": "d",
		"a.kubelet.kubernetes.io/x":      "e",
		"node-role.kubernetes.io/worker": "", "node-restriction.kubernetes.io/x": "f", "kubernetes.io/cluster-service": "g", "a.k8s.io/x": "h",
		"evilkubernetes.io/x": "i",
	}
	got := slices.Sorted(maps.Keys(SelfLabels(all)))
	want := []string{"a.kubelet.kubernetes.io/x", "evilkubernetes.io/x", "example.com/x", "karpenter.sh/nodepool", "kubernetes.io/arch",
		"node.kubernetes.io/instance-type", "team"}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestVariablesAreThoseThatAreFilledIn(t *testing.T) {
	c := example()
	filled, err := c.variables(k3sToken)
	if err != nil {
		t.Fatal(err)
	}
	if names := slices.Sorted(maps.Keys(filled)); !slices.Equal(names, Variables()) {
		t.Errorf("Variables are %q, those that are filled in %q", Variables(), names)
	}
}
