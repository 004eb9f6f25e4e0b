package plane

import (
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/pki"
)

const (
	serviceRange = "10.96.0.0/16"
	firstService = "10.96.0.1" // the address of the Service "kubernetes"
)

// auditPolicy records who did what to which object, not the content.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

// writeFiles makes the certificates, keys and configuration of all components.
func (p *Plane) writeFiles() error {
	authority, err := pki.NewAuthority("karpenter-linode-local")
	if err != nil {
		return err
	}
	p.authority = authority
	return inOrder(
		p.writeServerFiles,
		p.writeEtcdFiles,
		func() error { return p.writeKubeconfig("admin", "kubernetes-admin", "system:masters") },
		func() error {
			return p.writeKubeconfig("kube-controller-manager", "system:kube-controller-manager")
		},
		func() error { return p.writeKubeconfig("kube-scheduler", "system:kube-scheduler") },
		func() error { return p.writeKubeconfig("kwok", "kwok", "system:masters") },
		func() error { return pki.WriteFile(p.path("kwok.yaml"), []byte(kwokConfiguration)) },
		func() error { return pki.WriteFile(p.path("audit-policy.yaml"), []byte(auditPolicy)) },
	)
}

// inOrder ends at the first error: a full disk is one line, not ten.
func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plane) writeServerFiles() error {
	serving, err := p.authority.Server("kube-apiserver", loopback, "localhost", firstService,
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
	if err != nil {
		return err
	}
	component, err := p.authority.Server("component", loopback, "localhost")
	if err != nil {
		return err
	}
	kubeletClient, err := p.authority.Client("kube-apiserver-kubelet-client", "kubelet-clients")
	if err != nil {
		return err
	}
	signing, err := pki.SigningKey()
	if err != nil {
		return err
	}
	// An authority of its own: a client that it signs for may act as any user. It signs for none.
	frontProxy, err := pki.NewAuthority("karpenter-linode-front-proxy")
	if err != nil {
		return err
	}
	return p.writePairs(map[string]pki.Pair{
		"front-proxy-ca": frontProxy.Pair, "ca": p.authority.Pair, "apiserver": serving,
		"component": component, "kubelet-client": kubeletClient, "serviceaccount": signing,
	})
}

// writeEtcdFiles: an authority of its own, so that no user of the cluster can
// pass the API server by.
func (p *Plane) writeEtcdFiles() error {
	authority, err := pki.NewAuthority("karpenter-linode-etcd")
	if err != nil {
		return err
	}
	server, err := authority.Server("etcd", loopback, "localhost")
	if err != nil {
		return err
	}
	client, err := authority.Client("kube-apiserver")
	if err != nil {
		return err
	}
	return p.writePairs(map[string]pki.Pair{"etcd-ca": authority.Pair, "etcd": server, "etcd-client": client})
}

func (p *Plane) writePairs(pairs map[string]pki.Pair) error {
	for name, pair := range pairs {
		if err := pair.Write(p.path("pki"), name); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plane) kubeconfigFile(name string) string { return p.path("kubeconfig", name) }

func (p *Plane) writeKubeconfig(file, user string, groups ...string) error {
	pair, err := p.authority.Client(user, groups...)
	if err != nil {
		return err
	}
	content, err := pki.Kubeconfig(p.cfg.Name, p.Server(), p.authority.Cert, pki.User{Name: user, Pair: pair})
	if err != nil {
		return err
	}
	return pki.WriteFile(p.kubeconfigFile(file), content)
}
