package plane

import (
	"fmt"
	"net"
	"path/filepath"
	"strconv"
)

// component is a program with its arguments and the URL of its health endpoint.
type component struct {
	name   string
	args   []string
	health string // URL
}

func address(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

func (p *Plane) etcd() component {
	client, peer := "https://"+address(p.ports.etcdClient), "https://"+address(p.ports.etcdPeer)
	ca, cert, key := p.path("pki", "etcd-ca.crt"), p.path("pki", "etcd.crt"), p.path("pki", "etcd.key")
	return component{name: "etcd", health: client + "/health", args: []string{
		"--name=local", "--data-dir=" + p.path("etcd"), "--log-level=warn",
		"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=local=" + peer,
		"--client-cert-auth", "--trusted-ca-file=" + ca, "--cert-file=" + cert, "--key-file=" + key,
		"--peer-client-cert-auth", "--peer-trusted-ca-file=" + ca, "--peer-cert-file=" + cert, "--peer-key-file=" + key,
		"--unsafe-no-fsync", // the state is thrown away at the end
	}}
}

func (p *Plane) apiserver() component {
	args := []string{
		"--bind-address=" + loopback, "--advertise-address=" + loopback,
		"--secure-port=" + strconv.Itoa(p.ports.apiserver),
		"--tls-cert-file=" + p.path("pki", "apiserver.crt"), "--tls-private-key-file=" + p.path("pki", "apiserver.key"),
		"--client-ca-file=" + p.path("pki", "trusted.crt"),
		"--etcd-servers=https://" + address(p.ports.etcdClient), "--etcd-cafile=" + p.path("pki", "etcd-ca.crt"),
		"--etcd-certfile=" + p.path("pki", "etcd-client.crt"), "--etcd-keyfile=" + p.path("pki", "etcd-client.key"),
		"--authorization-mode=Node,RBAC", "--allow-privileged", "--profiling=false",
		// Some clusters have this plugin. It requires rights that cannot be seen in a client's requests.
		"--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
		"--service-cluster-ip-range=" + serviceRange,
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + p.path("pki", "serviceaccount.key"),
		"--service-account-signing-key-file=" + p.path("pki", "serviceaccount.key"),
		// Without these the other components complain that they cannot distinguish a
		// front proxy's requests.
		"--requestheader-client-ca-file=" + p.path("pki", "front-proxy-ca.crt"), "--requestheader-allowed-names=front-proxy",
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		// Package kubelet serves the logs of all nodes; the Nodes name it by this kind of address.
		"--kubelet-preferred-address-types=InternalDNS", "--kubelet-certificate-authority=" + p.path("pki", "trusted.crt"),
		"--kubelet-client-certificate=" + p.path("pki", "kubelet-client.crt"), "--kubelet-client-key=" + p.path("pki", "kubelet-client.key"),
		// An endpoint must not be a loopback address, and there is no pod that would use the endpoint.
		"--endpoint-reconciler-type=none",
	}
	if p.cfg.Machine != "" {
		args = append(args, "--enable-bootstrap-token-auth", "--enable-admission-plugins=NodeRestriction")
	}
	if p.cfg.Audit {
		args = append(args, "--audit-policy-file="+p.path("audit-policy.yaml"),
			"--audit-log-path="+filepath.Join(p.cfg.LogDir, "audit.log"))
	}
	return component{name: "kube-apiserver", args: args, health: p.Server() + "/readyz"}
}

// withCluster is a component with the flags that the controller manager and the scheduler share.
func (p *Plane) withCluster(name string, port int, args ...string) component {
	kubeconfig := p.kubeconfigFile(name)
	return component{name: name, health: "https://" + address(port) + "/healthz", args: append([]string{
		"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=" + loopback, "--secure-port=" + strconv.Itoa(port),
		"--tls-cert-file=" + p.path("pki", "component.crt"), "--tls-private-key-file=" + p.path("pki", "component.key"),
		"--leader-elect=false", "--profiling=false", "--kube-api-qps=200", "--kube-api-burst=400",
	}, args...)}
}

func (p *Plane) controllerManager() component {
	controllers := "--controllers=*" // starts no cloud controllers: they need a provider, and 1.37 has no cloud controllers
	if p.cfg.Machine != "" {
		controllers += ",bootstrapsigner,tokencleaner"
	}
	args := []string{
		controllers,
		"--allocate-node-cidrs=false", "--use-service-account-credentials",
		"--root-ca-file=" + p.path("pki", "trusted.crt"),
		"--service-account-private-key-file=" + p.path("pki", "serviceaccount.key"),
		"--cluster-signing-cert-file=" + p.path("pki", "ca.crt"), "--cluster-signing-key-file=" + p.path("pki", "ca.key"),
	}
	if p.cfg.NodeSilence > 0 {
		args = append(args, "--node-monitor-grace-period="+p.cfg.NodeSilence.String())
	}
	return p.withCluster("kube-controller-manager", p.ports.controllerManager, args...)
}

func (p *Plane) scheduler() component {
	return p.withCluster("kube-scheduler", p.ports.scheduler)
}

func (p *Plane) kwok() component {
	return component{name: "kwok", health: "http://" + address(p.ports.kwok) + "/healthz", args: []string{
		"--kubeconfig=" + p.kubeconfigFile("kwok"), "--config=" + p.path("kwok.yaml"),
		"--server-address=" + address(p.ports.kwok), "--cidr=10.2.0.1/16",
		fmt.Sprintf("--manage-nodes-with-label-selector=%s=%s", NodeLabel, NodeLabelValue),
		"--node-lease-duration-seconds=40", // as a real kubelet
	}}
}
