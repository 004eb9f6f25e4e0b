// Package pki makes the keys, certificates and kubeconfig files of a local
// control plane with Go's own crypto.
//
// It is called by package plane when a cluster starts. Everything is made anew
// for each cluster and lives only in its state folder, files readable by their
// owner alone. Keys are ECDSA P-256; certificates are valid for a year, from an
// hour ago (a clock that is set back a little does no harm).
//
// Nothing here is safe for concurrent use.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	validity = 365 * 24 * time.Hour
	backdate = time.Hour
)

// Pair is a certificate with its key, in PEM.
type Pair struct {
	Cert, Key []byte
}

// Authority signs certificates.
type Authority struct {
	Pair
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority makes a self-signed authority.
func NewAuthority(name string) (*Authority, error) {
	template, err := template(pkix.Name{CommonName: name})
	if err != nil {
		return nil, err
	}
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	pair, der, err := sign(template, template, key, key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &Authority{Pair: pair, cert: cert, key: key}, nil
}

// Server issues a serving certificate for names and addresses. It may also be
// used as a client's, which etcd does when it calls itself.
func (a *Authority) Server(name string, hosts ...string) (Pair, error) {
	template, err := serving(name, hosts)
	if err != nil {
		return Pair{}, err
	}
	return a.issue(template)
}

// SignServer is Server for a public key of which another party has the private one.
func (a *Authority) SignServer(public any, name string, hosts ...string) ([]byte, error) {
	template, err := serving(name, hosts)
	if err != nil {
		return nil, err
	}
	return a.certify(template, public)
}

func serving(name string, hosts []string) (*x509.Certificate, error) {
	template, err := template(pkix.Name{CommonName: name})
	if err != nil {
		return nil, err
	}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
			continue
		}
		template.DNSNames = append(template.DNSNames, host)
	}
	return template, nil
}

// Client issues a client's certificate: Kubernetes takes the common name as the
// user and the organisations as its groups.
func (a *Authority) Client(user string, groups ...string) (Pair, error) {
	template, err := identity(user, groups)
	if err != nil {
		return Pair{}, err
	}
	return a.issue(template)
}

// SignClient is Client for a public key of which another party has the private one.
func (a *Authority) SignClient(public any, user string, groups ...string) ([]byte, error) {
	template, err := identity(user, groups)
	if err != nil {
		return nil, err
	}
	return a.certify(template, public)
}

func identity(user string, groups []string) (*x509.Certificate, error) {
	template, err := template(pkix.Name{CommonName: user, Organization: groups})
	if err != nil {
		return nil, err
	}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return template, nil
}

func (a *Authority) certify(template *x509.Certificate, public any) ([]byte, error) {
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, public, a.key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

func (a *Authority) issue(template *x509.Certificate) (Pair, error) {
	template.KeyUsage = x509.KeyUsageDigitalSignature
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, err
	}
	pair, _, err := sign(template, a.cert, key, a.key)
	return pair, err
}

// SigningKey makes the key pair that signs ServiceAccount tokens; Cert holds the
// public key.
func SigningKey() (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, err
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return Pair{}, err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return Pair{}, err
	}
	return Pair{
		Cert: pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}),
	}, nil
}

func template(subject pkix.Name) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	return &x509.Certificate{
		Subject: subject, SerialNumber: serial,
		NotBefore: now.Add(-backdate), NotAfter: now.Add(validity),
	}, nil
}

func sign(template, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) (Pair, []byte, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	if err != nil {
		return Pair{}, nil, err
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return Pair{}, nil, err
	}
	return Pair{
		Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}),
	}, der, nil
}

// Write stores the pair as <dir>/<name>.crt and .key.
func (p Pair) Write(dir, name string) error {
	for ext, content := range map[string][]byte{".crt": p.Cert, ".key": p.Key} {
		if err := WriteFile(filepath.Join(dir, name+ext), content); err != nil {
			return fmt.Errorf("certificates: %w", err)
		}
	}
	return nil
}

// WriteFile stores a secret file, readable by its owner alone. The file appears
// whole or not at all: a reader never gets half a token.
func WriteFile(file string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	temporary := file + ".new"
	if err := os.WriteFile(temporary, content, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, file)
}
