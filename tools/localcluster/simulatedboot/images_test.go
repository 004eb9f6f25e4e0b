package simulatedboot

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metadata "github.com/linode/go-metadata"
)

func newMachine(t *testing.T, image string) *machine {
	t.Helper()
	root, err := openRoot(filepath.Join(t.TempDir(), "root"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(root.close)
	return &machine{root: root, console: &console{}, image: metadata.InstanceImageData{Label: image}}
}

const talosWorker = `version: v1alpha1
machine: {type: worker, token: a, ca: {crt: YQ==}, network: {hostname: own-a}, nodeLabels: {team: a}, kubelet: {extraArgs: {cloud-provider: external}, extraConfig: {maxPods: 40, systemReserved: {memory: 100Mi}}}}
cluster: {token: b, ca: {crt: YQ==}, controlPlane: {endpoint: "https://127.0.0.1:6443"}}
---
apiVersion: v1alpha1
kind: TrustedRootsConfig
`

func TestTalosStartsTheKubeletWithTheMachineConfig(t *testing.T) {
	m := newMachine(t, "talos")
	if err := m.reader()(t.Context(), talosWorker); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"--hostname-override=own-a", "--node-labels=team=a", "--cloud-provider=external",
		"--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubeconfig"} {
		if !slices.Contains(m.kubelet, want) {
			t.Errorf("the kubelet's flags %q lack %s", m.kubelet, want)
		}
	}
	for path, want := range map[string]string{talosConfig: "maxPods: 40", talosBootstrap: "token: b"} {
		if content, err := m.root.read(path); err != nil || !strings.Contains(string(content), want) {
			t.Errorf("%s lacks %q: %s, %v", path, want, content, err)
		}
	}
}

func TestMachineConfigsAreReadStrictly(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"an unknown key":          {"machine: {", "machine: {nodeTaint: {}, ", "unknown keys found"},
		"an unknown document":     {"TrustedRootsConfig", "TrustedRoots", "is not registered"},
		"no cluster token":        {"token: b, ", "", "cluster.token is required"},
		"a control plane":         {"type: worker", "type: controlplane", "only workers"},
		"a setting of Talos's":    {"maxPods: 40", "port: 1", "is set by Talos"},
		"another version":         {"v1alpha1\nm", "v2\nm", "must be v1alpha1"},
		"cloud-init's user data":  {talosWorker, "#cloud-config\nhostname: a\n", "unknown keys found"},
		"no YAML":                 {talosWorker, "{", "no YAML"},
		"none":                    {talosWorker, "", "no user data"},
		"two machine configs":     {"apiVersion: v1alpha1\nkind: TrustedRootsConfig", "machine: {}", "two machine configs"},
		"other documents, no own": {talosWorker, "kind: HostnameConfig\n", "no machine config"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseTalos(strings.Replace(talosWorker, c.old, c.new, 1))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestIgnitionConfigsAreReadStrictly(t *testing.T) {
	const good = `{"ignition": {"version": "3.4.0"}, "storage": {"files": [{"path": "/etc/a", "mode": 384, "contents": {"source": "data:,a%20b"}}]},
  "systemd": {"units": [{"name": "a.service", "enabled": true, "contents": "[Service]\nType=oneshot\nEnvironment=OWN=of-the-unit\nExecStart=/usr/bin/sh -c 'echo ${OWN}; cat /etc/a'\n[Install]\nWantedBy=multi-user.target\n"}]}}`
	for name, c := range map[string]struct{ old, new, want string }{
		"good":                 {"", "", ""},
		"an unknown key":       {`"mode"`, `"nonsense": 1, "mode"`, "nonsense"},
		"another version":      {"3.4.0", "2.3.0", "unsupported config version"},
		"no JSON":              {good, "{", "ignition"},
		"a disk":               {`"files"`, `"disks": [{"device": "/dev/sda"}], "files"`, "systemd.units are supported"},
		"a URL":                {"data:,a%20b", "https://example.com", "only data URLs"},
		"an unknown option":    {"Type=oneshot", "User=core", "User is not supported"},
		"a command not there":  {"/usr/bin/sh -c", "/opt/missing", "ended with"},
		"no data":              {good, "", "ignition"},
		"a cloud-config":       {good, "#cloud-config\n", "ignition"},
		"files are not merged": {`"version": "3.4.0"`, `"version": "3.4.0", "config": {"merge": [{"source": "data:,"}]}`, "only version"},
		"enabled by nothing":   {"[Install]\\nWantedBy=multi-user.target\\n", "", "no install section"},
		"a unit with a drop-in": {`"enabled": true`, `"enabled": true, "dropins": [{"name": "a.conf", "contents": "[Service]\nType=simple\n"}]`,
			"dropins"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, "flatcar-stable")
			err := m.reader()(t.Context(), strings.Replace(good, c.old, c.new, 1))
			if c.want == "" && (err != nil || !strings.Contains(m.console.String(), "of-the-unit\na b")) || c.want != "" &&
				(err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want %q; console %s", err, c.want, m.console)
			}
		})
	}
}

// agentBoot is the boot of an agent, up to what the service needs of a server.
const agentBoot = `set -eu
curl --fail --retry 5 --output installer.sh https://get.k3s.io
INSTALL_K3S_EXEC=agent INSTALL_K3S_VERSION=v1.36.3+k3s1 sh installer.sh
systemctl enable --now k3s-agent
`

func TestAgentsBootsFailWhereTheyWouldFail(t *testing.T) {
	for name, c := range map[string]struct{ image, old, new, config, want string }{
		"another installer":      {"", "https://get.k3s.io", "https://example.com", "", "Could not resolve host"},
		"not as an agent":        {"", "EXEC=agent", "EXEC=server", "", "not as an agent"},
		"no release of k3s":      {"", "+k3s1", "", "", "there is no release"},
		"nothing installed":      {"", "sh installer.sh", "true", "", "k3s-agent.service not found"},
		"no configuration":       {"", "", "", "", "config.yaml"},
		"the image has it":       {"own-k3s", "sh installer.sh", "true", "", "config.yaml"},
		"an unknown setting":     {"", "", "", "servers: a\n", "unknown field"},
		"no name":                {"", "", "", "server: https://127.0.0.1:1\n", "node-name is required"},
		"no server answers":      {"", "", "", "server: https://127.0.0.1:1\ntoken: abc\nnode-name: a\n", "failed to get CA certs"},
		"the server is no HTTPS": {"", "", "", "server: http://127.0.0.1:1\ntoken: abc\nnode-name: a\n", "must be an https address"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, c.image)
			if c.config != "" {
				if err := m.root.write("/etc/rancher/k3s/config.yaml", c.config, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			sh, err := m.shell()
			if err != nil {
				t.Fatal(err)
			}
			err = sh.run(context.WithoutCancel(t.Context()), command{shell: strings.Replace(agentBoot, c.old, c.new, 1)})
			if err == nil || !strings.Contains(m.console.String(), c.want) || m.kubelet != nil {
				t.Errorf("error %v, want %q on the console %s", err, c.want, m.console)
			}
		})
	}
}

// The flags of kubeadm's file and of the user's file reach the kubelet, in that order.
func TestKubeletIsStartedAsTheServiceOfItsPackageDoes(t *testing.T) {
	m := newMachine(t, "debian")
	for path, content := range map[string]string{
		kubeadmFlags: "KUBELET_KUBEADM_ARGS=\"--cloud-provider=external --node-labels=a=b\"\n",
		kubeletFlags: "# the user's\nKUBELET_EXTRA_ARGS=--max-pods=40 --eviction-hard=memory.available<100Mi\n",
	} {
		if err := m.root.write(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	joining, err := m.environmentFile(kubeadmFlags, kubeadmHandle)
	if err != nil || !slices.Equal(joining, []string{"--cloud-provider=external", "--node-labels=a=b"}) {
		t.Errorf("kubeadm's flags are %q, %v", joining, err)
	}
	users, err := m.environmentFile(kubeletFlags, kubeletHandle)
	if err != nil || !slices.Equal(users, []string{"--max-pods=40", "--eviction-hard=memory.available<100Mi"}) {
		t.Errorf("the user's flags are %q, %v", users, err)
	}
	if none, err := m.environmentFile("/etc/none", kubeletHandle); err != nil || none != nil {
		t.Errorf("a file that is not there has %q, %v", none, err)
	}
}
