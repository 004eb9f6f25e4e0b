package pki_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/pki"
)

// A server that trusts the authority sees user and groups of the client's
// certificate, through a kubeconfig that was written and read again.
func TestKubeconfigIdentifiesItsUser(t *testing.T) {
	authority, err := pki.NewAuthority("test-ca")
	if err != nil {
		t.Fatal(err)
	}
	serving, err := authority.Server("server", "127.0.0.1", "localhost")
	if err != nil {
		t.Fatal(err)
	}
	var user string
	var groups []string
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		subject := r.TLS.PeerCertificates[0].Subject
		user, groups = subject.CommonName, subject.Organization
	}))
	certificate, err := tls.X509KeyPair(serving.Cert, serving.Key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority.Cert)
	server.TLS = &tls.Config{
		Certificates: []tls.Certificate{certificate}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
	}
	server.StartTLS()
	defer server.Close()

	pair, err := authority.Client("system:kube-scheduler", "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "sub", "kubeconfig")
	content, err := pki.Kubeconfig("local", server.URL, authority.Cert, pki.User{Name: "scheduler", Pair: pair})
	if err != nil {
		t.Fatal(err)
	}
	if err := pki.WriteFile(file, content); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v: want 0600", info.Mode(), err)
	}
	get(t, file)
	if user != "system:kube-scheduler" || !slices.Equal(groups, []string{"a", "b"}) {
		t.Errorf("the server saw %q %q", user, groups)
	}
}

func get(t *testing.T, kubeconfig string) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	tlsConfig := &tls.Config{RootCAs: x509.NewCertPool()}
	tlsConfig.RootCAs.AppendCertsFromPEM(config.CAData)
	certificate, err := tls.X509KeyPair(config.CertData, config.KeyData)
	if err != nil {
		t.Fatal(err)
	}
	tlsConfig.Certificates = []tls.Certificate{certificate}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: tlsConfig}}
	defer client.CloseIdleConnections()
	answer, err := client.Get(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
}

// A client that knows the old authority alone accepts a server of the new one, which sends the new authority's certificate along. A client
// that knows the new authority alone accepts it, too.
func TestACrossedAuthorityIsTrustedByClientsOfEither(t *testing.T) {
	old, err := pki.NewAuthority("old")
	if err != nil {
		t.Fatal(err)
	}
	next, err := pki.NewAuthority("next")
	if err != nil {
		t.Fatal(err)
	}
	crossed, err := old.Cross(next)
	if err != nil {
		t.Fatal(err)
	}
	serving, err := next.Server("server", "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		chain, trusted []byte
		accepted       bool
	}{
		"the old one":                   {slices.Concat(serving.Cert, crossed), old.Cert, true},
		"the new one":                   {slices.Concat(serving.Cert, crossed), next.Cert, true},
		"the old one, without crossing": {serving.Cert, old.Cert, false},
	} {
		certificate, err := tls.X509KeyPair(c.chain, serving.Key)
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}}
		server.StartTLS()
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(c.trusted)
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}}}
		answer, err := client.Get(server.URL) //nolint:noctx // a test's own server
		if err == nil {
			_ = answer.Body.Close()
		}
		if (err == nil) != c.accepted {
			t.Errorf("a client that trusts %s: %v", name, err)
		}
		client.CloseIdleConnections()
		server.Close()
	}
}
