package controllertest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// Approval lets a fake client write the subresource approval, which the fake does not have. A write of another subresource is an error.
var Approval = interceptor.Funcs{SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object,
	opts ...client.SubResourceUpdateOption) error {
	if sub != "approval" {
		return fmt.Errorf("the subresource %s is written", sub)
	}
	return c.Status().Update(ctx, o, opts...)
}}

// CertificateRequest returns a request in PEM, signed by a new key.
func CertificateRequest(t testing.TB, template *x509.CertificateRequest) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}
