package main

import (
	"fmt"

	"k8s.io/component-base/configz"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	kubeletscheme "k8s.io/kubernetes/pkg/kubelet/apis/config/scheme"
)

// publish lets the kubelet report its configuration at /configz, as the kubelet's program does before it starts the kubelet.
func publish(cfg *kubeletconfig.KubeletConfiguration) error {
	scheme, _, err := kubeletscheme.NewSchemeAndCodecs()
	if err != nil {
		return err
	}
	versioned := &kubeletv1beta1.KubeletConfiguration{}
	if err := scheme.Convert(cfg, versioned, nil); err != nil {
		return fmt.Errorf("the kubelet's configuration: %w", err)
	}
	versioned.SetGroupVersionKind(kubeletv1beta1.SchemeGroupVersion.WithKind("KubeletConfiguration"))
	published, err := configz.New("kubeletconfig")
	if err != nil {
		return err
	}
	return published.Set(versioned)
}
