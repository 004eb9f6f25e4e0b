package plane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

const pollInterval = 50 * time.Millisecond

// healthClient trusts both authorities. It shows only etcd a certificate, the API
// server's: the other components accept a client without a certificate, and refuse a
// client with a certificate that they do not trust. Each probe makes a new connection,
// because a component uses a new certificate authority for new connections only.
func (p *Plane) healthClient(etcd bool) (*http.Client, error) {
	etcdCA, err := os.ReadFile(p.path("pki", "etcd-ca.crt"))
	if err != nil {
		return nil, err
	}
	config := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	if !config.RootCAs.AppendCertsFromPEM(p.authority.Cert) || !config.RootCAs.AppendCertsFromPEM(etcdCA) {
		return nil, errors.New("control plane: unreadable certificates")
	}
	if etcd {
		certificate, err := tls.LoadX509KeyPair(p.path("pki", "etcd-client.crt"), p.path("pki", "etcd-client.key"))
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{certificate}
	}
	return &http.Client{
		Timeout:   5 * time.Second,
		Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true},
	}, nil
}

// waitForServiceAccounts waits for the ServiceAccounts of the namespaces: the API server
// refuses pods until the controller manager has made the namespace's ServiceAccount.
func (p *Plane) waitForServiceAccounts(ctx context.Context) error {
	client, err := p.Client("localcluster")
	if err != nil {
		return err
	}
	var last error
	err = wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		for _, namespace := range []string{"default", "kube-system"} {
			if _, last = client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{}); last != nil {
				return false, nil //nolint:nilerr // it is probed again
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("kube-controller-manager makes no ServiceAccounts (%w): %w; log: %s/kube-controller-manager.log",
			context.Cause(ctx), last, p.cfg.LogDir)
	}
	return nil
}
