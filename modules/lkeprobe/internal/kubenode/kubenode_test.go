package kubenode_test

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/kubenode"
)

const nodes = `{"kind":"NodeList","items":[
 {"spec":{"providerID":"linode://11"},"status":{"conditions":[{"type":"MemoryPressure","status":"False"},{"type":"Ready","status":"True"}]}},
 {"spec":{"providerID":"linode://12"},"status":{"conditions":[{"type":"Ready","status":"False"}]}},
 {"spec":{},"status":{"conditions":[{"type":"Ready","status":"True"}]}},
 {"spec":{"providerID":"aws://13"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}]}`

func apiServer(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer secret":
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path != "/api/v1/nodes":
			w.WriteHeader(http.StatusNotFound)
		default:
			_, _ = w.Write([]byte(nodes))
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func kubeconfig(t *testing.T, server, ca, user string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: here
contexts:
- name: there
  context: {cluster: none, user: none}
- name: here
  context: {cluster: c, user: u}
clusters:
- name: c
  cluster:
    server: %s
    certificate-authority-data: %s
users:
- name: u
  user: %s
`, server, ca, user)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadyNodes(t *testing.T) {
	s := apiServer(t)
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
	r, err := kubenode.FromFile(kubeconfig(t, s.URL, ca, "{token: secret}"))
	if err != nil {
		t.Fatal(err)
	}
	ready, err := r.Ready(t.Context())
	if err != nil || !reflect.DeepEqual(ready, map[int]bool{11: true}) {
		t.Errorf("ready %v, %v", ready, err)
	}
	r, err = kubenode.FromFile(kubeconfig(t, s.URL, ca, "{token: other-secret}"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "status 401") || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v", err)
	}
}

func TestKubeconfigsThatCannotBeUsed(t *testing.T) {
	s := apiServer(t)
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
	for _, c := range []struct{ name, server, ca, user, words string }{
		{"plain HTTP", "http://127.0.0.1", ca, "{token: secret}", "must be an https:// address"},
		{"a program", s.URL, ca, "{exec: {command: /bin/true}}", "runs a program for credentials"},
		{"no CA", s.URL, "aGVsbG8=", "{token: secret}", "certificate-authority has no certificate"},
		{"no base64", s.URL, "'%'", "{token: secret}", "certificate-authority: not base64"},
		{"half a certificate", s.URL, ca, "{client-certificate-data: c2VjcmV0}", "do not fit together"},
		{"not trusted", s.URL, "''", "{token: secret}", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := kubenode.FromFile(kubeconfig(t, c.server, c.ca, c.user))
			if c.words == "" {
				if err != nil {
					t.Fatal(err)
				}
				if _, err := r.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
					t.Errorf("error %v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.words) || strings.Contains(err.Error(), "secret") {
				t.Errorf("error %v, want %q", err, c.words)
			}
		})
	}
}
