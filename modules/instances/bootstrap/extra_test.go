package bootstrap

import (
	"errors"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// withExtra is the example with further fields of its kubelet's configuration, one of them with a text that looks like YAML.
func withExtra() Config {
	c := example()
	c.Node.Kubelet.Extra = map[string]any{"maxParallelImagePulls": 5, "allowedUnsafeSysctls": []any{"a\nrun: evil"},
		"memorySwap": map[string]any{"swapBehavior": "LimitedSwap"}}
	return c
}

func TestFurtherFieldsReachTheKubelet(t *testing.T) {
	file := func(config cloudConfig, path string) map[string]any {
		for _, f := range config.Files {
			if f.Path == path {
				var content map[string]any
				if err := yaml.Unmarshal([]byte(f.Content), &content); err != nil {
					t.Fatal(err)
				}
				return content
			}
		}
		t.Fatalf("there is no file %s", path)
		return nil
	}
	has := func(name string, fields map[string]any) {
		t.Helper()
		swap, _ := fields["memorySwap"].(map[string]any)
		sysctls, _ := fields["allowedUnsafeSysctls"].([]any)
		if fields["maxParallelImagePulls"] != 5 || swap["swapBehavior"] != "LimitedSwap" || len(sysctls) != 1 || sysctls[0] != "a\nrun: evil" {
			t.Errorf("%s: %v", name, fields)
		}
	}

	text, err := Kubeadm(withExtra(), kubeadmToken)
	if err != nil {
		t.Fatal(err)
	}
	patch := file(readConfig(t, text), home+"patches/kubeletconfiguration+strategic.yaml")
	has("kubeadm", patch)
	if patch["maxPods"] != 110 || patch["kind"] != "KubeletConfiguration" {
		t.Errorf("the patch lacks fields of the class's own: %v", patch)
	}

	for name, render := range map[string]func(Config) ([]byte, error){
		"k3s":  func(c Config) ([]byte, error) { return K3s(c, k3sToken, "") },
		"rke2": func(c Config) ([]byte, error) { return RKE2(c, k3sToken, "") },
	} {
		c := withExtra()
		text, err := render(c)
		if err != nil {
			t.Fatal(err)
		}
		path := "/etc/rancher/" + name + "/karpenter-kubelet.yaml"
		config := readConfig(t, text)
		fields := file(config, path)
		has(name, fields)
		if len(fields) != 5 || fields["kind"] != "KubeletConfiguration" {
			t.Errorf("%s has more in its file than the further fields: %v", name, fields)
		}
		args, _ := file(config, "/etc/rancher/"+name+"/config.yaml")["kubelet-arg"].([]any)
		if len(args) == 0 || args[len(args)-1] != "config="+path {
			t.Errorf("%s: the kubelet's flags are %v", name, args)
		}
		for version, refused := range map[string]bool{"v1.31.9+k3s1": true, "v1.32.0+k3s1": false, "": false} {
			c.Cluster.Version = version
			if _, err := render(c); (err != nil) != refused || refused && !strings.Contains(err.Error(), "v1.32") {
				t.Errorf("%s of version %q: %v", name, version, err)
			}
		}
	}

	text, err = Talos(withExtra().Node, input(t, "talos.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var machine struct {
		Machine struct {
			Kubelet struct {
				ExtraConfig map[string]any `yaml:"extraConfig"`
			}
		}
	}
	if err := yaml.Unmarshal(text, &machine); err != nil {
		t.Fatal(err)
	}
	has("talos", machine.Machine.Kubelet.ExtraConfig)

	if _, err := Custom([]byte("#!/bin/sh\n"), withExtra(), ""); err == nil || !strings.Contains(err.Error(), "Node.Kubelet.Extra") {
		t.Errorf("custom: %v", err)
	}
}

func TestFurtherFieldsReplaceNoneThatIsManaged(t *testing.T) {
	var all Kubelet
	n, quota, one := number(1), true, map[string]string{"memory.available": "1Gi"}
	all = Kubelet{ClusterDNS: []string{"10.0.0.1"}, MaxPods: n, PodsPerCore: n, SystemReserved: one, KubeReserved: one, EvictionHard: one,
		EvictionSoft: one, EvictionSoftGracePeriod: one, EvictionMaxPodGracePeriod: n, ImageGCHighThresholdPercent: n,
		ImageGCLowThresholdPercent: n, CPUCFSQuota: &quota, ServerTLSBootstrap: true, AllowSwap: true}
	fields := []string{"apiVersion", "kind", "registerWithTaints", "reservedSystemCPUs"}
	for _, s := range all.settings() {
		fields = append(fields, s.field)
	}
	for _, field := range fields {
		c := example()
		c.Node.Kubelet.Extra = map[string]any{field: "x"}
		_, err := Kubeadm(c, kubeadmToken)
		if e, ok := errors.AsType[*Error](err); !ok || e.Field != "Node.Kubelet.Extra["+field+"]" || e.Err.Error() == "" {
			t.Errorf("%s: %v", field, err)
		}
	}
}
