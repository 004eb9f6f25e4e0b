package bootstrap

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The command that fetches an installer follows redirects, and none of them to plain http, where another machine could answer.
func TestInstallersAreNotFetchedOverPlainHTTP(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed, and this test runs the command of an image, which has curl")
	}
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("evil")) }))
	defer plain.Close()
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/redirected":
			http.Redirect(w, r, plain.URL, http.StatusFound)
		case "/moved":
			http.Redirect(w, r, "/script", http.StatusFound)
		default:
			_, _ = w.Write([]byte("good"))
		}
	}))
	defer secure.Close()
	dir := t.TempDir()
	authority := filepath.Join(dir, "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	if err := os.WriteFile(authority, block, 0o600); err != nil {
		t.Fatal(err)
	}
	at := strings.Index(k3s.script(""), "curl ")
	command, _, _ := strings.Cut(k3s.script("")[at:], "\n")
	for path, want := range map[string]string{"/script": "good", "/moved": "good", "/redirected": ""} {
		output := filepath.Join(dir, "installer.sh")
		_ = os.Remove(output)
		run := exec.CommandContext(t.Context(), "sh", "-c", "installer=$1; "+command, "sh", secure.URL+path)
		run.Dir, run.Env = dir, append(os.Environ(), "CURL_CA_BUNDLE="+authority, "NO_PROXY=*")
		text, err := run.CombinedOutput()
		got, _ := os.ReadFile(output)
		if string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%s: fetched %q, %v: %s", path, got, err, text)
		}
	}
}
