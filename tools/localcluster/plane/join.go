package plane

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/karpenter-linode/karpenter-linode/tools/controlplane"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/pki"
)

// letNodesJoin makes the objects in a self-managed cluster that kubeadm init makes.
func (p *Plane) letNodesJoin(ctx context.Context) error {
	if p.cfg.Machine == "" {
		return nil
	}
	config, err := p.kubeadmConfiguration()
	if err != nil {
		return err
	}
	file := p.path("kubeadm.yaml")
	if err := pki.WriteFile(file, config); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, p.cfg.Machine, "init", "--kubeconfig="+p.AdminKubeconfig(), "--config="+file)
	cmd.Dir, cmd.Env = p.cfg.Dir, []string{"HOME=" + p.cfg.Dir, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir()}
	if out, err := cmd.CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return fmt.Errorf("kubeadm's part of the control plane: %w: %s", err, lines[len(lines)-1])
	}
	return nil
}

// kubeadmConfiguration is the configuration with which kubeadm would have made this plane.
func (p *Plane) kubeadmConfiguration() ([]byte, error) {
	var documents []string
	for _, document := range []map[string]any{
		{
			"apiVersion": "kubeadm.k8s.io/v1beta4", "kind": "InitConfiguration", "bootstrapTokens": []any{},
			// kubeadm refuses loopback addresses; this one is for documentation, and kubeadm stores it nowhere.
			"localAPIEndpoint": map[string]any{"advertiseAddress": "192.0.2.1", "bindPort": p.ports.apiserver},
			"nodeRegistration": map[string]any{"name": "control-plane", "criSocket": "unix:///run/containerd/containerd.sock"},
		},
		{
			"apiVersion": "kubeadm.k8s.io/v1beta4", "kind": "ClusterConfiguration", "clusterName": p.cfg.Name,
			"kubernetesVersion": controlplane.KubernetesVersion, "controlPlaneEndpoint": address(p.ports.apiserver),
			"networking": map[string]any{"serviceSubnet": serviceRange},
		},
	} {
		content, err := yaml.Marshal(document)
		if err != nil {
			return nil, err
		}
		documents = append(documents, string(content))
	}
	return []byte(strings.Join(documents, "---\n")), nil
}
