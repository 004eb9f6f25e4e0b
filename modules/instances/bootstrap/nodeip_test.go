package bootstrap

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// addresses is the output of ip for a Linode with everything: ip itself is replaced by a shell function.
const addresses = `1: eth0    inet 198.51.100.7/24 brd 198.51.100.255 scope global eth0
1: eth0    inet 192.168.150.9/17 brd 192.168.255.255 scope global secondary eth0
2: eth1    inet 10.0.5.3/24 brd 10.0.5.255 scope global eth1
`

// A shell runs the script that finds the node's address.
func TestTheNodesAddressIsOfItsNetwork(t *testing.T) {
	for name, c := range map[string]struct {
		network     Network
		found, want string
	}{
		"private":                   {PrivateNetwork, addresses, "192.168.150.9"},
		"vpc":                       {VPCNetwork, addresses, "10.0.5.3"},
		"vpc in 192.168":            {VPCNetwork, "2: eth0    inet 192.168.3.4/24 scope global eth0\n", "192.168.3.4"},
		"vpc in 172.16":             {VPCNetwork, "2: eth0    inet 172.31.3.4/24 scope global eth0\n", "172.31.3.4"},
		"a public 172":              {VPCNetwork, "2: eth0    inet 172.105.3.4/24 scope global eth0\n", ""},
		"edges of the private one":  {PrivateNetwork, "2: eth0    inet 192.168.127.255/17 scope global eth0\n", ""},
		"first of the private one":  {PrivateNetwork, "2: eth0    inet 192.168.128.0/17 scope global eth0\n", "192.168.128.0"},
		"last of the private one":   {PrivateNetwork, "2: eth0    inet 192.168.255.255/17 scope global eth0\n", "192.168.255.255"},
		"no VPC":                    {VPCNetwork, "2: eth0    inet 192.168.150.9/17 scope global eth0\n", ""},
		"no address of the network": {PrivateNetwork, "2: eth0    inet 198.51.100.7/24 scope global eth0\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "node-ip")
			run := exec.CommandContext(t.Context(), "sh")
			run.Stdin = strings.NewReader("ip() { cat <<'END'\n" + c.found + "END\n}\n" +
				strings.ReplaceAll(c.network.script(), nodeIPFile, file))
			if out, err := run.CombinedOutput(); err != nil || (c.want == "") != strings.Contains(string(out), "no address in") {
				t.Errorf("%v: %s", err, out)
			}
			if got, err := os.ReadFile(file); err != nil || strings.TrimSpace(string(got)) != c.want {
				t.Errorf("found %q, want %q: %v", got, c.want, err)
			}
		})
	}
}

// The steps of a first boot with the address end in the kubelet's flag.
func TestTheNodesAddressReachesTheKubelet(t *testing.T) {
	dir := t.TempDir()
	join := filepath.Join(dir, "join.yaml")
	c := example()
	text, err := Kubeadm(c, kubeadmToken)
	if err != nil {
		t.Fatal(err)
	}
	config := readConfig(t, text)
	if err := os.WriteFile(join, []byte(config.content(t, home+"join.yaml")), 0o600); err != nil {
		t.Fatal(err)
	}
	shell(t, dir, "address=192.168.150.9\n"+strings.ReplaceAll(kubeadmNodeIP, home, dir+"/"))
	got, err := os.ReadFile(join)
	if want := "name: node-ip\n      value: 192.168.150.9\n"; err != nil || !strings.Contains(string(got), want) ||
		strings.Contains(string(got), nodeIPMark) || !strings.HasSuffix(strings.TrimSpace(string(got)), "directory: "+home+"patches") {
		t.Errorf("%v: %s", err, got)
	}

	folder := filepath.Join(dir, "rancher")
	for address, want := range map[string]string{"": "", "10.0.5.3": "node-ip: 10.0.5.3\n"} {
		shell(t, dir, "address="+address+"\n"+strings.ReplaceAll(k3s.nodeIP(), "/etc/rancher", folder))
		got, _ := os.ReadFile(filepath.Join(folder, "k3s/config.yaml.d/karpenter-node-ip.yaml"))
		if string(got) != want {
			t.Errorf("k3s with the address %q reads %q, want %q", address, got, want)
		}
		_ = os.RemoveAll(folder)
	}

	c.Node.Network = AnyNetwork
	if text, err = Kubeadm(c, kubeadmToken); err != nil || strings.Contains(string(text), "nodeip.sh") {
		t.Errorf("%v: any network has a script for its address\n%s", err, text)
	}
	c.Node.Network = "vlan"
	if _, err := Kubeadm(c, kubeadmToken); err == nil || !strings.Contains(err.Error(), "Node.Network") {
		t.Errorf("the network %q: %v", c.Node.Network, err)
	}
}

func shell(t *testing.T, dir, script string) {
	t.Helper()
	run := exec.CommandContext(t.Context(), "sh", "-euc", script)
	run.Dir = dir
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// A user's own choice of the kubelet's address in a machine config stays.
func TestTalosKeepsTheUsersNodeIP(t *testing.T) {
	const own = "machine:\n  type: worker\n  kubelet:\n    nodeIP:\n      validSubnets: [10.9.0.0/16]\n"
	for machine, want := range map[string]string{own: "- 10.9.0.0/16", "machine:\n  type: worker\n": "- 192.168.128.0/17"} {
		got, err := Talos(Node{Name: "a", Network: PrivateNetwork}, []byte(machine))
		if err != nil || !strings.Contains(string(got), want) || strings.Count(string(got), "/1") != 1 {
			t.Errorf("want %s: %v\n%s", want, err, got)
		}
	}
}
