package discovery

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/setting"
)

// Transport returns the transport for the Linode API, which trusts the certificates in caFile if that is not empty.
func Transport(caFile string) (http.RoundTripper, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 32 // claims are written concurrently to one host
	if caFile == "" {
		return transport, nil
	}
	const fix = "set it to a file with certificates in PEM form, or leave it out"
	certificates, err := os.ReadFile(caFile)
	if err != nil {
		return nil, &setting.Error{Name: "LINODE_CA", Found: "cannot be read", Err: err, Fix: fix}
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(certificates) {
		return nil, &setting.Error{Name: "LINODE_CA", Found: "no certificate in " + caFile, Fix: fix}
	}
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}
	return transport, nil
}
