package main

import (
	"crypto/x509"
	"testing"
)

// Fallback roots can be set once: a second call panics.
func TestRootCertificatesComeWithTheProgram(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no fallback roots are set: an image without certificates cannot reach the Linode API")
		}
	}()
	x509.SetFallbackRoots(x509.NewCertPool())
}
