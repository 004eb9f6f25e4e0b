package plane

import (
	_ "embed"

	"k8s.io/client-go/util/keyutil"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/pki"
)

const (
	serviceRange = "10.96.0.0/16"
	firstService = "10.96.0.1" // the address of the Service "kubernetes"
	// administrators is the group that may do everything.
	administrators = "system:masters"
)

// auditPolicy logs the user, the verb and the object of a request, and not the content.
//
//go:embed audit-policy.yaml
var auditPolicy []byte

// kwokConfiguration simulates a kubelet in stages.
//
//go:embed kwok.yaml
var kwokConfiguration []byte

// writeFiles makes the certificates, keys and configuration of all components.
func (p *Plane) writeFiles() error {
	authority, err := pki.NewAuthority("karpenter-linode-local")
	if err != nil {
		return err
	}
	p.authority = authority
	for file, content := range map[string][]byte{"kwok.yaml": kwokConfiguration, "audit-policy.yaml": auditPolicy} {
		if err := pki.WriteFile(p.path(file), content); err != nil {
			return err
		}
	}
	for file, user := range map[string][]string{ // a user, followed by the user's groups
		"admin": {"kubernetes-admin", administrators}, "kwok": {"kwok", administrators},
		"kube-controller-manager": {"system:kube-controller-manager"}, "kube-scheduler": {"system:kube-scheduler"},
	} {
		if err := p.writeKubeconfig(file, user[0], user[1:]...); err != nil {
			return err
		}
	}
	if err := p.writeServerFiles(); err != nil {
		return err
	}
	return p.writeEtcdFiles()
}

func (p *Plane) writeServerFiles() error {
	if err := pki.WriteFile(p.path("pki", "trusted.crt"), p.authority.Cert); err != nil {
		return err
	}
	serving, err := p.serving(p.authority)
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
	signing, err := keyutil.MakeEllipticPrivateKeyPEM() // signs the tokens of ServiceAccounts
	if err != nil {
		return err
	}
	if err := pki.WriteFile(p.path("pki", "serviceaccount.key"), signing); err != nil {
		return err
	}
	// The front proxy has a separate authority, which signs no certificate: a client with its certificate may act as any user.
	frontProxy, err := pki.NewAuthority("karpenter-linode-front-proxy")
	if err != nil {
		return err
	}
	return p.writePairs(map[string]pki.Pair{
		"front-proxy-ca": frontProxy.Pair, "ca": p.authority.Pair, "apiserver": serving,
		"component": component, "kubelet-client": kubeletClient,
	})
}

// serving issues the API server's certificate.
func (p *Plane) serving(authority *pki.Authority) (pki.Pair, error) {
	return authority.Server("kube-apiserver", loopback, "localhost", firstService,
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
}

// writeEtcdFiles uses a separate authority, so that no user of the cluster can
// bypass the API server.
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
