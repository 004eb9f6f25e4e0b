// Package clusterinfo finds the facts that a new node needs to join a self-managed cluster: the address of the API server, the hash of
// the cluster's CA, and the API server's version.
//
// The address and the CA come from the settings, or else from the ConfigMap cluster-info in kube-public, which kubeadm keeps for joining
// nodes. Without the ConfigMap, as with k3s, the CA is the CA with which this process verifies the API server.
//
// The Reader remembers answers for ten seconds. If a read fails, it returns the facts of the last successful read together with the
// error. Callers are the check of a class and each launch of package instance: without an address or a CA the class is not Ready
// (EndpointUnknown, CAUnknown). The package never writes. Safe for concurrent use.
//
// A read may take ten seconds. Errors name the ConfigMap and the part that cannot be used: no kubeconfig, no server of the form host:port
// or https://host:port, no certificate in PEM.
package clusterinfo

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net"
	"net/url"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	namespace, name, key = "kube-public", "cluster-info", "kubeconfig"

	// ttl is short, because a node never joins if it gets the hash of a CA that the cluster has replaced. A burst of launches makes one
	// request in this time.
	ttl      = 10 * time.Second
	readTime = 10 * time.Second
)

// Cluster has the facts about the cluster. A fact that is not known is empty.
type Cluster struct {
	Endpoint     string   // host and port
	CACertHashes []string // sha256:<hex> of the CAs' public keys
	CA           []byte   // PEM
	Version      string   // of the API server, for example v1.35.2
}

// Config configures a Reader.
type Config struct {
	Endpoint string // of the settings: host and port, or a URL; "" = what is found
	CABundle string // of the settings: base64 of PEM; "" = what is found
	Kube     *rest.Config
	Clock    clock.PassiveClock // nil = the time of day
}

// Reader finds the cluster's facts.
type Reader struct {
	kube   client.Reader
	cfg    Config
	ca     []byte // of the settings
	server discovery.ServerVersionInterface

	mu    sync.Mutex
	known Cluster
	until time.Time
}

// NewReader returns a Reader. kube reads the ConfigMap. It should read from the API server and not from a cache, which would need the
// right to list.
func NewReader(kube client.Reader, cfg Config) (*Reader, error) {
	if cfg.Clock == nil {
		cfg.Clock = clock.RealClock{}
	}
	r := &Reader{kube: kube, cfg: cfg}
	var err error
	if cfg.Endpoint != "" {
		if r.cfg.Endpoint, err = hostPort(cfg.Endpoint); err != nil {
			return nil, err
		}
	}
	if r.ca, err = base64.StdEncoding.DecodeString(cfg.CABundle); err != nil {
		return nil, fmt.Errorf("the CA bundle is not valid base64: %w", err)
	}
	if _, err := hashes(r.ca); err != nil {
		return nil, err
	}
	config := rest.CopyConfig(cfg.Kube)
	config.Timeout = readTime
	if r.server, err = discovery.NewDiscoveryClientForConfig(config); err != nil {
		return nil, fmt.Errorf("making the client for the API server's version: %w", err)
	}
	return r, nil
}

// Cluster returns the facts, from memory if they are young. If a read fails, it returns an error together with the facts from before.
func (r *Reader) Cluster(ctx context.Context) (Cluster, error) {
	r.mu.Lock()
	known, until := r.known, r.until
	r.mu.Unlock()
	if r.cfg.Clock.Now().Before(until) {
		return known, nil
	}
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	found, err := r.read(ctx)
	if err != nil {
		return known, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known, r.until = found, r.cfg.Clock.Now().Add(ttl)
	return found, nil
}

func (r *Reader) read(ctx context.Context) (Cluster, error) {
	found, err := r.published(ctx)
	if err != nil {
		return Cluster{}, err
	}
	found.Endpoint = cmp.Or(r.cfg.Endpoint, found.Endpoint)
	switch {
	case len(r.ca) > 0:
		found.CA = r.ca
	case len(found.CA) == 0: // the one by which this process verifies the API server
		config := rest.CopyConfig(r.cfg.Kube)
		if err := rest.LoadTLSFiles(config); err != nil {
			return Cluster{}, fmt.Errorf("reading the CA of the API server: %w", err)
		}
		found.CA = config.CAData
	}
	if found.CACertHashes, err = hashes(found.CA); err != nil {
		return Cluster{}, err
	}
	version, err := r.server.ServerVersion()
	if err != nil {
		return Cluster{}, fmt.Errorf("reading the API server's version: %w", err)
	}
	found.Version = version.GitVersion
	return found, nil
}

// published returns the facts in cluster-info. They are empty if the ConfigMap does not exist or may not be read.
func (r *Reader) published(ctx context.Context) (Cluster, error) {
	info := &corev1.ConfigMap{}
	switch err := r.kube.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, info); {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return Cluster{}, nil
	case err != nil:
		return Cluster{}, fmt.Errorf("reading the ConfigMap %s/%s: %w", namespace, name, err)
	}
	config, err := clientcmd.Load([]byte(info.Data[key]))
	if err != nil {
		return Cluster{}, fmt.Errorf("the ConfigMap %s/%s has no kubeconfig under the key %s: %w", namespace, name, key, err)
	}
	for _, cluster := range config.Clusters {
		endpoint, err := hostPort(cluster.Server)
		if err != nil {
			return Cluster{}, fmt.Errorf("the server in the ConfigMap %s/%s: %w", namespace, name, err)
		}
		return Cluster{Endpoint: endpoint, CA: cluster.CertificateAuthorityData}, nil
	}
	return Cluster{}, nil
}

// hostPort returns host and port of an address. A URL without a port has port 443.
func hostPort(address string) (string, error) {
	text := address
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		text = u.Host
		if u.Port() == "" {
			text = net.JoinHostPort(u.Hostname(), "443")
		}
	}
	if _, _, err := net.SplitHostPort(text); err != nil {
		return "", fmt.Errorf("%q is not the address of an API server: use host:port or https://host:port", address)
	}
	return text, nil
}

// hashes returns the hashes of the public keys of certificates in PEM, sorted, in kubeadm's form.
func hashes(ca []byte) ([]string, error) {
	if len(ca) == 0 {
		return nil, nil
	}
	certificates, err := cert.ParseCertsPEM(ca)
	if err != nil {
		return nil, fmt.Errorf("the cluster's CA has no certificate in PEM: %w", err)
	}
	all := sets.New[string]()
	for _, c := range certificates {
		all.Insert(fmt.Sprintf("sha256:%x", sha256.Sum256(c.RawSubjectPublicKeyInfo)))
	}
	return sets.List(all), nil
}
