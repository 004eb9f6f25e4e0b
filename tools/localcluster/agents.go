package localcluster

import (
	"context"
	"crypto/rand"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/k3s"
)

// Agents has the address and the token with which agents of k3s and RKE2 register in a cluster of instance mode. Nodes of kubeadm join the
// same cluster.
type Agents struct {
	AgentEndpoint string // host:port
	AgentToken    string // with the hash of the cluster's certificate authority
}

// startAgentServer starts a server with the endpoints that a server of k3s or RKE2 has for its agents.
func (c *Cluster) startAgentServer(context.Context) error {
	client, err := c.plane.Client("k3s-server")
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
	port, err := c.serve(server.Handler(), settings)
	if err != nil {
		return err
	}
	c.AgentEndpoint, c.AgentToken = address(port), k3s.Token(c.plane.CA(), password)
	return nil
}
