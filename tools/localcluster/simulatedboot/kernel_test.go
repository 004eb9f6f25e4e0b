package simulatedboot

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/instances/bootstrap"
)

// joins stands for kubeadm: it has the kubelet started with the configuration that kubeadm patches.
func joins(m *machine) error {
	patch, err := m.root.read("/var/lib/karpenter-bootstrap/patches/kubeletconfiguration+strategic.yaml")
	if err != nil { // of the user's own text
		patch = nil
	}
	m.kubelet = []string{"--config=/var/lib/kubelet/config.yaml"}
	return m.root.write("/var/lib/kubelet/config.yaml", string(patch), 0o600)
}

// Of what the first boot does the second one has what the user data persisted, and nothing else.
func TestASecondBootKeepsOnlyWhatIsPersisted(t *testing.T) {
	kubeadm := programs["kubeadm"]
	programs["kubeadm"] = func(m *machine, _ context.Context, _ invocation) error { return joins(m) }
	t.Cleanup(func() { programs["kubeadm"] = kubeadm })
	const own = "#cloud-config\nwrite_files:\n- path: /root/a.sh\n  content: |\n    set -eu\n    "
	const run = "runcmd:\n- [sh, /root/a.sh]\n- [kubeadm, join]\n"
	for _, test := range []struct {
		name     string
		userData string
		swapMB   int
		fault    string // of the second boot; "" = none
		swap     bool   // at the second boot
		modules  []string
	}{
		{"kubeadm's user data", rendered(t, false), 512, "", false, []string{"overlay", "br_netfilter"}},
		{"kubeadm's user data, swap allowed", rendered(t, true), 512, "", true, []string{"overlay", "br_netfilter"}},
		{"no swap disk", rendered(t, false), 0, "", false, []string{"overlay", "br_netfilter"}},
		{"swap that is turned off once", own + "swapoff -a\n" + run, 512, "running with swap on is not supported", true, nil},
		{"swap that is turned off for good", own + "swapoff -a; systemctl mask swap.target\n" + run, 512, "", false, nil},
		{"a sysctl that is set once", own + "sysctl -w net.ipv4.ip_forward=1\n" + run, 0, "net.ipv4.ip_forward was 1", false, nil},
		{"a sysctl that is in a file", own + "echo net.ipv4.ip_forward=1 > /etc/sysctl.d/1.conf; sysctl -p /etc/sysctl.d/1.conf\n" + run, 0, "",
			false, nil},
		{"a module that is loaded once", own + "modprobe br_netfilter\n" + run, 0, "", false, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := newMachine(t, "debian12")
			m.event.SwapMB = test.swapMB
			if err := m.startKernel(); err != nil {
				t.Fatal(err)
			}
			if err := m.bootCloudInit(t.Context(), test.userData); err != nil {
				t.Fatalf("%v\n%s", err, m.console)
			}
			if err := m.checkSwap(m.kubelet); err != nil {
				t.Fatalf("at the first boot: %v", err)
			}
			if err := m.keepKernel(); err != nil {
				t.Fatal(err)
			}
			again := &machine{root: m.root, console: &console{}, event: m.event}
			err := again.bootAgain()
			if err == nil {
				err = again.checkSwap(m.kubelet)
			}
			if test.fault == "" && err != nil || test.fault != "" && (err == nil || !strings.Contains(err.Error(), test.fault)) {
				t.Errorf("the second boot: %v, expected %q\n%s", err, test.fault, again.console)
			}
			if again.kernel.Swap != test.swap || !slices.Equal(again.kernel.Modules, test.modules) {
				t.Errorf("swap is on: %t, modules %q", again.kernel.Swap, again.kernel.Modules)
			}
			if lost := strings.Contains(again.console.String(), "is not loaded any more"); lost != (test.name == "a module that is loaded once") {
				t.Errorf("the console of the second boot: %s", again.console)
			}
		})
	}
}

func rendered(t *testing.T, allowSwap bool) string {
	t.Helper()
	text, err := bootstrap.Kubeadm(bootstrap.Config{
		Node:    bootstrap.Node{Name: "own-a", Kubelet: bootstrap.Kubelet{AllowSwap: allowSwap}},
		Cluster: bootstrap.Cluster{Endpoint: "10.0.0.2:6443", CACertHashes: []string{"sha256:" + strings.Repeat("0", 64)}},
	}, "abcdef.0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
