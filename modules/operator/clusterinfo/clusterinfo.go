// Package clusterinfo finds what a new node must know of a self-managed cluster to join it: the address of the API server, the hash of the
// cluster's CA, and the API server's version.
//
// The address and the CA are those of the settings, else those of the ConfigMap cluster-info in kube-public, which kubeadm keeps for
// joining nodes. Where there is none, as with k3s, the CA is the one by which this process verifies the API server.
//
// Answers are remembered for a while, those that found nothing for a few seconds. It never writes. Safe for concurrent use.
package clusterinfo

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	namespace, name, key = "kube-public", "cluster-info", "kubeconfig"

	foundTTL   = 4 * time.Minute
	missingTTL = 10 * time.Second
	readTime   = 10 * time.Second
)

// Cluster is what is known of the cluster; empty what is not.
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
}

// Reader finds the cluster's facts.
type Reader struct {
	kube client.Reader
	cfg  Config

	mu    sync.Mutex
	known Cluster
	until time.Time
}

// NewReader returns a Reader. kube must be able to read the ConfigMap; one that reads from the API server needs no right to list.
func NewReader(kube client.Reader, cfg Config) (*Reader, error) {
	if cfg.Endpoint != "" {
		endpoint, err := hostPort(cfg.Endpoint)
		if err != nil {
			return nil, err
		}
		cfg.Endpoint = endpoint
	}
	if cfg.CABundle != "" {
		if _, err := bundle(cfg.CABundle); err != nil {
			return nil, err
		}
	}
	return &Reader{kube: kube, cfg: cfg}, nil
}

// Cluster returns the facts, from memory if they are young. An error means that something could not be read; what was known before
// is returned with it.
func (r *Reader) Cluster(ctx context.Context) (Cluster, error) {
	r.mu.Lock()
	known, until := r.known, r.until
	r.mu.Unlock()
	if time.Now().Before(until) {
		return known, nil
	}
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	found, err := r.read(ctx)
	if err != nil {
		return known, err
	}
	ttl := foundTTL
	if found.Endpoint == "" || len(found.CACertHashes) == 0 || found.Version == "" {
		ttl = missingTTL
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known, r.until = found, time.Now().Add(ttl)
	return found, nil
}

func (r *Reader) read(ctx context.Context) (Cluster, error) {
	found, err := r.published(ctx)
	if err != nil {
		return Cluster{}, err
	}
	if r.cfg.Endpoint != "" {
		found.Endpoint = r.cfg.Endpoint
	}
	switch {
	case r.cfg.CABundle != "":
		found.CA, err = bundle(r.cfg.CABundle)
	case len(found.CA) == 0:
		found.CA, err = trusted(r.cfg.Kube)
	}
	if err != nil {
		return Cluster{}, err
	}
	if found.CACertHashes, err = Hashes(found.CA); err != nil {
		return Cluster{}, err
	}
	found.Version, err = r.version(ctx)
	return found, err
}

// published is what cluster-info has; empty if there is none, or it may not be read.
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

func (r *Reader) version(ctx context.Context) (string, error) {
	config := rest.CopyConfig(r.cfg.Kube)
	if deadline, ok := ctx.Deadline(); ok {
		config.Timeout = time.Until(deadline)
	}
	server, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return "", fmt.Errorf("asking the API server for its version: %w", err)
	}
	version, err := server.ServerVersion()
	if err != nil {
		return "", fmt.Errorf("asking the API server for its version: %w", err)
	}
	return version.GitVersion, nil
}

// hostPort takes an address apart, with the port of https where it has none.
func hostPort(address string) (string, error) {
	text := address
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		text = u.Host
		if u.Port() == "" {
			text = net.JoinHostPort(u.Hostname(), "443")
		}
	}
	if _, _, err := net.SplitHostPort(text); err != nil {
		return "", fmt.Errorf("%q is no address of an API server: use host:port or https://host:port", address)
	}
	return text, nil
}

func bundle(text string) ([]byte, error) {
	decoded, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("the CA bundle is no base64: %w", err)
	}
	if _, err := Hashes(decoded); err != nil {
		return nil, err
	}
	return decoded, nil
}

// trusted is the CA by which this process verifies the API server.
func trusted(config *rest.Config) ([]byte, error) {
	if config == nil || len(config.CAData) > 0 || config.CAFile == "" {
		if config == nil {
			return nil, nil
		}
		return config.CAData, nil
	}
	text, err := os.ReadFile(config.CAFile)
	if err != nil {
		return nil, fmt.Errorf("reading the CA of the API server: %w", err)
	}
	return text, nil
}

// Hashes are the hashes of the public keys of certificates in PEM, as kubeadm has them, in order.
func Hashes(ca []byte) ([]string, error) {
	var hashes []string
	for block, rest := pem.Decode(ca); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("the cluster's CA is no certificate: %w", err)
		}
		sum := sha256.Sum256(certificate.RawSubjectPublicKeyInfo)
		hashes = append(hashes, "sha256:"+hex.EncodeToString(sum[:]))
	}
	if len(ca) > 0 && len(hashes) == 0 {
		return nil, fmt.Errorf("the cluster's CA has no certificate in PEM")
	}
	slices.Sort(hashes)
	return slices.Compact(hashes), nil
}
