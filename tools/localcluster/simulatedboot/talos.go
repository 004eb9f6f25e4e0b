package simulatedboot

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/pki"
)

// Files that Talos gives the kubelet.
const (
	talosConfig    = "/etc/kubernetes/kubelet.yaml"
	talosBootstrap = "/etc/kubernetes/bootstrap-kubeconfig"
	talosAuthority = "/etc/kubernetes/pki/ca.crt"
)

// talosMachineConfig is the part of a worker's machine config that is simulated. It has fields without an effect here, too, because
// an unknown key is an error: a config must fail only if Talos would refuse it.
type talosMachineConfig struct {
	Version string       `json:"version"`
	Debug   bool         `json:"debug"`
	Persist *bool        `json:"persist"`
	Machine talosMachine `json:"machine"`
	Cluster talosCluster `json:"cluster"`
}

type talosMachine struct {
	Type        string            `json:"type"`
	Token       string            `json:"token"`
	CA          talosAuthorityRef `json:"ca"`
	CertSANs    []string          `json:"certSANs"`
	Kubelet     talosKubelet      `json:"kubelet"`
	Network     map[string]any    `json:"network"`
	Install     map[string]any    `json:"install"`
	NodeLabels  map[string]string `json:"nodeLabels"`
	Sysctls     map[string]string `json:"sysctls"`
	Kernel      map[string]any    `json:"kernel"`
	Time        map[string]any    `json:"time"`
	Registries  map[string]any    `json:"registries"`
	Features    map[string]any    `json:"features"`
	Annotations map[string]string `json:"nodeAnnotations"`
}

type talosKubelet struct {
	Image                string            `json:"image"`
	ExtraArgs            map[string]string `json:"extraArgs"`
	ExtraConfig          map[string]any    `json:"extraConfig"`
	ClusterDNS           []string          `json:"clusterDNS"`
	DefaultSeccomp       *bool             `json:"defaultRuntimeSeccompProfileEnabled"`
	DisableManifestsPath *bool             `json:"disableManifestsDirectory"`
	NodeIP               map[string]any    `json:"nodeIP"`
}

type talosCluster struct {
	ID           string            `json:"id"`
	Secret       string            `json:"secret"`
	Name         string            `json:"clusterName"`
	ControlPlane talosEndpoint     `json:"controlPlane"`
	Network      map[string]any    `json:"network"`
	Token        string            `json:"token"`
	CA           talosAuthorityRef `json:"ca"`
	Discovery    map[string]any    `json:"discovery"`
}

type talosEndpoint struct {
	Endpoint string `json:"endpoint"`
}

type talosAuthorityRef struct {
	Crt string `json:"crt"`
	Key string `json:"key"`
}

// talosDocuments are the kinds of the documents that Talos accepts in addition to the machine config. They have no effect here.
var talosDocuments = []string{"TrustedRootsConfig", "HostnameConfig", "ExtensionServiceConfig", "KmsgLogConfig", "WatchdogTimerConfig",
	"EventSinkConfig"}

// protected are the kubelet's settings that only Talos may set.
var protected = []string{"apiVersion", "kind", "authentication", "authorization", "port", "staticPodPath", "cgroupRoot",
	"rotateCertificates"}

var _ = readBy("talos", (*machine).bootTalos)

// bootTalos does what Talos does with a worker's machine config, up to the kubelet's start.
func (m *machine) bootTalos(_ context.Context, userData string) error {
	config, err := parseTalos(userData)
	if err != nil {
		return fmt.Errorf("machine config: %w", err)
	}
	fmt.Fprintln(m.console, "[talos] the machine config is valid")
	fmt.Fprintln(m.console, "[simulated, not run] the installation to the disk, the identity certificate from trustd with machine.token, "+
		"apid, containerd")
	authority, err := base64.StdEncoding.DecodeString(config.Cluster.CA.Crt)
	if err != nil {
		return fmt.Errorf("machine config: cluster.ca.crt is no base64: %w", err)
	}
	token := pki.User{Name: "kubelet", Token: config.Cluster.Token}
	kubeconfig, err := pki.Kubeconfig("local", config.Cluster.ControlPlane.Endpoint, authority, token)
	if err != nil {
		return err
	}
	settings, err := yaml.Marshal(config.kubeletConfiguration())
	if err != nil {
		return err
	}
	for path, content := range map[string][]byte{talosBootstrap: kubeconfig, talosAuthority: authority, talosConfig: settings} {
		if err := m.root.write(path, string(content), 0o600); err != nil {
			return err
		}
	}
	hostname, _ := config.Machine.Network["hostname"].(string)
	m.kubelet = config.kubeletFlags(hostname)
	address, err := config.nodeIP(m.addresses())
	if address != "" {
		m.kubelet = append(m.kubelet, nodeIPFlag+address)
	}
	return err
}

// nodeIP is the first address of the machine within machine.kubelet.nodeIP.validSubnets, "" if no address is within.
func (c *talosMachineConfig) nodeIP(addresses []string) (string, error) {
	subnets, _ := c.Machine.Kubelet.NodeIP["validSubnets"].([]any)
	for _, address := range addresses {
		for _, subnet := range subnets {
			prefix, err := netip.ParsePrefix(fmt.Sprint(subnet))
			if err != nil {
				return "", fmt.Errorf("machine config: machine.kubelet.nodeIP.validSubnets: %w", err)
			}
			if a, err := netip.ParseAddr(address); err == nil && prefix.Contains(a) {
				return address, nil
			}
		}
	}
	return "", nil
}

func parseTalos(text string) (*talosMachineConfig, error) {
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("there is no user data")
	}
	var config *talosMachineConfig
	for i, document := range strings.Split("\n"+text, "\n---\n") {
		var head struct{ Kind string }
		if err := yaml.Unmarshal([]byte(document), &head); err != nil {
			return nil, fmt.Errorf("document %d is no YAML", i+1)
		}
		switch {
		case head.Kind != "" && !slices.Contains(talosDocuments, head.Kind):
			return nil, fmt.Errorf("document %d: kind %q is not registered", i+1, head.Kind)
		case head.Kind != "" || strings.TrimSpace(document) == "":
		case config != nil:
			return nil, errors.New("there are two machine configs")
		default:
			config = &talosMachineConfig{}
			if err := yaml.UnmarshalStrict([]byte(document), config); err != nil {
				return nil, fmt.Errorf("unknown keys found during decoding: %s", strings.ReplaceAll(err.Error(), "\n", " "))
			}
		}
	}
	if config == nil {
		return nil, errors.New("there is no machine config in it")
	}
	return config, config.check()
}

func (c *talosMachineConfig) check() error {
	for field, value := range map[string]string{
		"machine.token": c.Machine.Token, "machine.ca.crt": c.Machine.CA.Crt, "cluster.token": c.Cluster.Token,
		"cluster.ca.crt": c.Cluster.CA.Crt, "cluster.controlPlane.endpoint": c.Cluster.ControlPlane.Endpoint,
	} {
		if value == "" {
			return fmt.Errorf("%s is required", field)
		}
	}
	if c.Version != "v1alpha1" {
		return fmt.Errorf("version %q must be v1alpha1", c.Version)
	}
	if c.Machine.Type != "worker" {
		return fmt.Errorf("machine.type %q: only workers are supported", c.Machine.Type)
	}
	for key := range c.Machine.Kubelet.ExtraConfig {
		if slices.Contains(protected, key) {
			return fmt.Errorf("machine.kubelet.extraConfig.%s is set by Talos", key)
		}
	}
	return nil
}

// kubeletConfiguration is Talos's own configuration, overridden by the user's extraConfig.
func (c *talosMachineConfig) kubeletConfiguration() map[string]any {
	settings := map[string]any{
		"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "clusterDomain": "cluster.local",
		"authentication": map[string]any{"x509": map[string]any{"clientCAFile": talosAuthority}, "webhook": map[string]any{"enabled": true},
			"anonymous": map[string]any{"enabled": false}},
		"authorization":      map[string]any{"mode": "Webhook"},
		"rotateCertificates": true,
		"systemReserved":     map[string]string{"cpu": "50m", "memory": "192Mi", "pid": "100", "ephemeral-storage": "256Mi"},
	}
	if len(c.Machine.Kubelet.ClusterDNS) > 0 {
		settings["clusterDNS"] = c.Machine.Kubelet.ClusterDNS
	}
	maps.Copy(settings, c.Machine.Kubelet.ExtraConfig)
	return settings
}

func (c *talosMachineConfig) kubeletFlags(hostname string) []string {
	flags := []string{"--bootstrap-kubeconfig=" + talosBootstrap, "--kubeconfig=/etc/kubernetes/kubeconfig-kubelet", "--config=" + talosConfig,
		"--hostname-override=" + hostname}
	labels := make([]string, 0, len(c.Machine.NodeLabels))
	for _, key := range slices.Sorted(maps.Keys(c.Machine.NodeLabels)) {
		labels = append(labels, key+"="+c.Machine.NodeLabels[key])
	}
	if len(labels) > 0 { // Talos writes them to the Node a moment later, with the kubelet's own rights
		flags = append(flags, "--node-labels="+strings.Join(labels, ","))
	}
	extra := c.Machine.Kubelet.ExtraArgs
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		flags = append(flags, "--"+name+"="+extra[name])
	}
	return flags
}
