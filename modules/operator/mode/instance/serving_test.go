package instance_test

import (
	"bytes"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance"
)

// Kubelets request serving certificates from the cluster where the setting is on; kubelets of k3s and RKE2 get one by their servers.
func TestKubeletsAskForServingCertificatesWhereTheSettingIsOn(t *testing.T) {
	k3s := &v1alpha1.Bootstrap{Type: v1alpha1.BootstrapK3s, TokenSecretRef: ref("agent"), APIServerEndpoint: "10.0.0.2:6443"}
	for _, test := range []struct {
		name      string
		setting   bool
		bootstrap *v1alpha1.Bootstrap
		want      bool
	}{
		{"kubeadm", true, nil, true},
		{"kubeadm, off", false, nil, false},
		{"k3s", true, k3s, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, known, func(c *instance.Config) { c.ServingCertificates = test.setting }, secret("agent", agentToken))
			if _, err := w.backend.Claim(t.Context(), launch(classWith(v1alpha1.LinodeNodeClassSpec{Bootstrap: test.bootstrap}))); err != nil {
				t.Fatal(err)
			}
			text := w.engine.specs[0].UserData.Content
			if got := bytes.Contains(text, []byte("serverTLSBootstrap: true")) ||
				bytes.Contains(text, []byte("rotate-server-certificates")); got != test.want {
				t.Errorf("the kubelet asks: %t, expected %t\n%s", got, test.want, text)
			}
		})
	}
}
