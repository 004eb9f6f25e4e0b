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
