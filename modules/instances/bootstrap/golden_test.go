package bootstrap

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"go.yaml.in/yaml/v3"
)

var update = flag.Bool("update", false, "write testdata/*.golden anew")

const (
	kubeadmToken = "abcdef.0123456789abcdef"
	k3sToken     = "K10e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855::node:0123456789abcdef"
)

func number(n int) *int { return &n }

// example is a node with a value for everything.
func example() Config {
	quota := false
	return Config{
		Node: Node{
			Name: "demo-default-x7k2p",
			Labels: map[string]string{
				"karpenter.sh/nodepool": "default", "team": "a", "topology.kubernetes.io/region": "us-ord",
				"node-role.kubernetes.io/worker": "", "node.kubernetes.io/instance-type": "g6-standard-2",
			},
			Taints: []Taint{
				{Key: "karpenter.sh/unregistered", Effect: "NoExecute"},
				{Key: "dedicated", Value: "batch", Effect: "NoSchedule"},
			},
			Network: PrivateNetwork,
			Kubelet: Kubelet{
				ClusterDNS: []string{"10.96.0.10"}, MaxPods: number(110), PodsPerCore: number(20),
				SystemReserved: map[string]string{"cpu": "100m", "memory": "200Mi"}, KubeReserved: map[string]string{"memory": "300Mi"},
				EvictionHard: map[string]string{"memory.available": "100Mi", "nodefs.available": "10%"},
				EvictionSoft: map[string]string{"memory.available": "200Mi"}, EvictionSoftGracePeriod: map[string]string{"memory.available": "1m30s"},
				EvictionMaxPodGracePeriod: number(60), ImageGCHighThresholdPercent: number(85), ImageGCLowThresholdPercent: number(80),
				CPUCFSQuota: &quota,
			},
		},
		Cluster: Cluster{
			Endpoint: "api.example.com:6443", Version: "v1.35.2+k3s1",
			CACertHashes: []string{"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		},
		Before: []string{"modprobe br_netfilter", "sysctl -w net.ipv4.ip_forward=1"},
		After:  []string{"touch /run/joined"},
	}
}

// TestGolden compares whole user data with files that people can read.
func TestGolden(t *testing.T) {
	for name, render := range map[string]func() ([]byte, error){
		"kubeadm": func() ([]byte, error) { return Kubeadm(example(), kubeadmToken) },
		"kubeadm-least": func() ([]byte, error) {
			c := example()
			return Kubeadm(Config{Node: Node{Name: "a"}, Cluster: Cluster{Endpoint: "10.0.0.1:6443", CACertHashes: c.Cluster.CACertHashes}},
				kubeadmToken)
		},
		"k3s":       func() ([]byte, error) { return K3s(example(), k3sToken, K3sInstaller) },
		"k3s-image": func() ([]byte, error) { return K3s(example(), k3sToken, "") },
		"rke2": func() ([]byte, error) {
			c := example()
			c.Node.Network = VPCNetwork
			c.Cluster.Endpoint, c.Cluster.Version = "rke.example.com:9345", "v1.35.2+rke2r1"
			return RKE2(c, k3sToken, RKE2Installer)
		},
		"talos":               func() ([]byte, error) { return Talos(example().Node, input(t, "talos.yaml")) },
		"custom-cloud-config": func() ([]byte, error) { return Custom(input(t, "custom-cloud-config.yaml"), example(), k3sToken) },
		"custom-script":       func() ([]byte, error) { return Custom(input(t, "custom-script.sh"), example(), k3sToken) },
		"custom-ignition":     func() ([]byte, error) { return Custom(input(t, "custom-ignition.json"), example(), k3sToken) },
	} {
		t.Run(name, func(t *testing.T) {
			got, err := render()
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(file, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s differs (go test -update writes it anew):\n%s", file, got)
			}
			if len(got) > 16384 {
				t.Errorf("%d bytes", len(got))
			}
		})
	}
}

func input(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// readConfig parses a cloud-config strictly: a key that is not known fails.
func readConfig(t *testing.T, text []byte) cloudConfig {
	t.Helper()
	if !bytes.HasPrefix(text, []byte("#cloud-config\n")) {
		t.Fatalf("no cloud-config: %.40q", text)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	var config cloudConfig
	if err := decoder.Decode(&config); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return config
}

func (c *cloudConfig) content(t *testing.T, path string) string {
	t.Helper()
	for _, file := range c.Files {
		if file.Path == path {
			if file.Permissions != "0600" || file.Owner != "root:root" {
				t.Errorf("%s is %s of %s", path, file.Permissions, file.Owner)
			}
			return file.Content
		}
	}
	t.Fatalf("no file %s", path)
	return ""
}
