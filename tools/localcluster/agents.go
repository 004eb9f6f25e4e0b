package localcluster

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"net"

	"k8s.io/client-go/kubernetes"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/k3s"
)

// Agents is where agents of k3s and RKE2 register in a cluster of instance mode, which kubeadm's nodes join as well.
type Agents struct {
	AgentEndpoint string // host:port
	AgentToken    string // with the hash of the cluster's certificate authority
}

// startAgentServer serves what a server of k3s and RKE2 serves to agents.
func (c *Cluster) startAgentServer(context.Context) error {
	config, err := c.plane.RESTConfig("k3s-server")
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	password := rand.Text()
	server := &k3s.Server{
		Authority: c.plane.CA(), Signer: c.plane.Authority(), Password: password,
		APIServerPort: c.plane.Port(), Secrets: client.CoreV1().Secrets("kube-system"),
	}
	settings, err := server.TLS()
	if err != nil {
		return err
	}
	listener, err := tls.Listen("tcp", net.JoinHostPort("127.0.0.1", "0"), settings)
	if err != nil {
		return err
	}
	c.AgentEndpoint, c.AgentToken = listener.Addr().String(), k3s.Token(c.plane.CA(), password)
	c.serveOn(listener, server.Handler())
	return nil
}
