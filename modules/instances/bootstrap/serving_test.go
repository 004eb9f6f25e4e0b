package bootstrap_test

import (
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/instances/bootstrap"
)

// A kubelet requests its serving certificate where the node has that set, in the form that the distribution documents, and nowhere else.
func TestServingCertificateIsAskedForOnlyWhereSet(t *testing.T) {
	config := func(asks bool) bootstrap.Config {
		return bootstrap.Config{
			Node:    bootstrap.Node{Name: "own-a", Kubelet: bootstrap.Kubelet{ServerTLSBootstrap: asks}},
			Cluster: bootstrap.Cluster{Endpoint: "10.0.0.2:6443", CACertHashes: []string{"sha256:" + strings.Repeat("0", 64)}},
		}
	}
	for name, test := range map[string]struct {
		render func(bootstrap.Config) ([]byte, error)
		text   string
	}{
		"kubeadm": {func(c bootstrap.Config) ([]byte, error) { return bootstrap.Kubeadm(c, "abcdef.0123456789abcdef") },
			"serverTLSBootstrap: true"},
		"Talos": {func(c bootstrap.Config) ([]byte, error) {
			return bootstrap.Talos(c.Node, []byte("machine: {type: worker}\n"))
		}, `rotate-server-certificates: "true"`},
		"custom": {func(c bootstrap.Config) ([]byte, error) {
			return bootstrap.Custom([]byte("#!/bin/sh\nkubelet ${KARPENTER_KUBELET_ARGS}\n"), c, "")
		}, "--rotate-server-certificates=true"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, asks := range []bool{true, false} {
				text, err := test.render(config(asks))
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(string(text), test.text) != asks || !asks && strings.Contains(string(text), "erver-certificates") {
					t.Errorf("asked for is %t, and the user data is\n%s", asks, text)
				}
				if strings.Count(string(text), "serverTLSBootstrap")+strings.Count(string(text), "rotate-server-certificates") > 1 {
					t.Errorf("it is set twice:\n%s", text)
				}
			}
		})
	}
}
