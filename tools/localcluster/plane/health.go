package plane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/process"
)

const pollInterval = 50 * time.Millisecond

// waitHealthy polls a component's own health endpoint until it answers 200, the
// component dies or ctx ends.
func (p *Plane) waitHealthy(ctx context.Context, c component, child *process.Process) error {
	client, err := p.healthClient(c.name == "etcd")
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	var last error
	check := func() bool {
		last = probe(ctx, client, c.health)
		return last == nil
	}
	if poll(ctx, child.Exited(), check) {
		return nil
	}
	if !child.Running() {
		return child.Failure()
	}
	return fmt.Errorf("%s is not ready (%w): %w; log: %s", c.name, context.Cause(ctx), last, child.LogFile())
}

// poll calls check until it is true; false when ctx or stop ended it.
func poll(ctx context.Context, stop <-chan struct{}, check func() bool) bool {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for !check() {
		select {
		case <-ctx.Done():
			return false
		case <-stop:
			return false
		case <-ticker.C:
		}
	}
	return true
}

func probe(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<20)); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, answer.Status)
	}
	return nil
}

// healthClient trusts both authorities. Only etcd is shown a certificate, that of
// the API server: the others let any client ask, but refuse one that shows
// a certificate that they do not trust. Each probe makes a connection of its own, as
// a component takes up a certificate authority that it learns of for new ones only.
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

// waitForServiceAccounts: the API server refuses pods until the controller
// manager has made the namespace's ServiceAccount.
func (p *Plane) waitForServiceAccounts(ctx context.Context) error {
	client, err := p.client()
	if err != nil {
		return err
	}
	var last error
	ready := poll(ctx, nil, func() bool {
		for _, namespace := range []string{"default", "kube-system"} {
			if _, last = client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{}); last != nil {
				return false
			}
		}
		return true
	})
	if !ready {
		return fmt.Errorf("kube-controller-manager makes no ServiceAccounts (%w): %w; log: %s/kube-controller-manager.log",
			context.Cause(ctx), last, p.cfg.LogDir)
	}
	return nil
}
