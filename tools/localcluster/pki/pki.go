// Package pki makes the keys, certificates and kubeconfig files of a local
// control plane with Go's own crypto.
//
// It is called by package plane when a cluster starts. All files are made anew for each
// cluster and are only in its state folder, readable by their owner alone. Keys are
// ECDSA P-256. Certificates are valid for a year, authorities for ten years. Their
// validity begins an hour before they are made, so that a clock that is set back a
// little does no harm.
//
// Nothing here is safe for concurrent use.
//
// An authority can sign the certificate of another authority (Cross). Clients that trust
// the first authority then trust servers of the second authority, as in a rotation. A file
// is written under another name and renamed, so a reader sees the old file or the new
// file, never a part of a file.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
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
	key  crypto.Signer
}

// NewAuthority makes a self-signed authority.
func NewAuthority(name string) (*Authority, error) {
	key, private, err := newKey()
	if err != nil {
		return nil, err
	}
	own, err := cert.NewSelfSignedCACert(cert.Config{CommonName: name, NotBefore: time.Now().Add(-backdate)}, key)
	if err != nil {
		return nil, err
	}
	return &Authority{Pair: Pair{Cert: encoded(own.Raw), Key: private}, cert: own, key: key}, nil
}

// Server issues a serving certificate for names and addresses. The certificate is valid
// for a client, too: etcd uses it when it calls itself.
func (a *Authority) Server(name string, hosts ...string) (Pair, error) {
	return issue(func(public any) ([]byte, error) { return a.SignServer(public, name, hosts...) })
}

// SignServer is Server for a public key whose private key another party has.
func (a *Authority) SignServer(public any, name string, hosts ...string) ([]byte, error) {
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
			continue
		}
		template.DNSNames = append(template.DNSNames, host)
	}
	return a.certify(template, public)
}

// Client issues a client's certificate: Kubernetes takes the common name as the
// user and the organisations as its groups.
func (a *Authority) Client(user string, groups ...string) (Pair, error) {
	return issue(func(public any) ([]byte, error) { return a.SignClient(public, user, groups...) })
}

// SignClient is Client for a public key whose private key another party has.
func (a *Authority) SignClient(public any, user string, groups ...string) ([]byte, error) {
	return a.certify(&x509.Certificate{
		Subject: pkix.Name{CommonName: user, Organization: groups}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, public)
}

// Cross returns the certificate of another authority, signed by this one. Clients that trust this authority then trust the other one, too.
func (a *Authority) Cross(other *Authority) ([]byte, error) {
	template := &x509.Certificate{
		Subject: other.cert.Subject, SerialNumber: other.cert.SerialNumber, NotBefore: other.cert.NotBefore, NotAfter: other.cert.NotAfter,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, IsCA: true, BasicConstraintsValid: true,
		SubjectKeyId: other.cert.SubjectKeyId,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, other.key.Public(), a.key)
	return encoded(der), err
}

func (a *Authority) certify(template *x509.Certificate, public any) ([]byte, error) {
	now := time.Now()
	template.NotBefore, template.NotAfter, template.KeyUsage = now.Add(-backdate), now.Add(validity), x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, public, a.key)
	return encoded(der), err
}

// issue makes a key, and calls certify for its public part.
func issue(certify func(public any) ([]byte, error)) (Pair, error) {
	key, private, err := newKey()
	if err != nil {
		return Pair{}, err
	}
	certificate, err := certify(key.Public())
	return Pair{Cert: certificate, Key: private}, err
}

func newKey() (key *ecdsa.PrivateKey, private []byte, err error) {
	if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, nil, err
	}
	private, err = keyutil.MarshalPrivateKeyToPEM(key)
	return key, private, err
}

func encoded(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: der})
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
