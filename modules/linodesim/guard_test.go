package linodesim_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// Requests that a page of another site, a name that resolves to this machine, or another
// machine try.
func TestAdminAndPageTakeOnlyTheirOwn(t *testing.T) {
	sim, err := linodesim.New(linodesim.Config{Tokens: map[string][]string{"mine": {"*"}, "narrow": {"lke:read_write"},
		linodesim.DefaultToken: {"*"}}})
	if err != nil {
		t.Fatal(err)
	}
	const rule = `{"status":503,"method":"GET"}`
	for _, c := range []struct {
		name, method, host, kind string
		header                   [2]string
		status                   int
	}{
		{"a program here", "POST", "127.0.0.1:8471", "application/json", [2]string{}, 200},
		{"with a character set", "POST", "localhost:8471", "application/json; charset=utf-8", [2]string{}, 200},
		{"IPv6", "POST", "[::1]:8471", "application/json", [2]string{}, 200},
		{"a form's text", "POST", "127.0.0.1:8471", "text/plain", [2]string{}, 415},
		{"a form", "POST", "127.0.0.1:8471", "application/x-www-form-urlencoded", [2]string{}, 415},
		{"no type", "POST", "127.0.0.1:8471", "", [2]string{}, 415},
		{"another site", "POST", "127.0.0.1:8471", "application/json", [2]string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"another origin", "POST", "127.0.0.1:8471", "application/json", [2]string{"Origin", "http://evil.example"}, 403},
		{"the same origin", "POST", "127.0.0.1:8471", "application/json", [2]string{"Sec-Fetch-Site", "same-origin"}, 200},
		{"a name that resolves here", "GET", "evil.example", "", [2]string{}, 403},
		{"a name that begins as an address", "GET", "127.0.0.1.evil.example:80", "", [2]string{}, 403},
		{"another machine", "POST", "192.0.2.1:8471", "application/json", [2]string{}, 403},
		{"with the known token", "POST", "192.0.2.1:8471", "application/json", [2]string{"Authorization", "Bearer " + linodesim.DefaultToken},
			403},
		{"with few scopes", "POST", "192.0.2.1:8471", "application/json", [2]string{"Authorization", "Bearer narrow"}, 403},
		{"with the owner's token", "POST", "192.0.2.1:8471", "application/json", [2]string{"Authorization", "Bearer mine"}, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := ""
			if c.method == http.MethodPost {
				body = rule
			}
			r := httptest.NewRequestWithContext(t.Context(), c.method, "/rules", strings.NewReader(body))
			if c.method == http.MethodGet {
				r.URL.Path = "/state"
			}
			r.Host = c.host
			if c.kind != "" {
				r.Header.Set("Content-Type", c.kind)
			}
			if c.header[0] != "" {
				r.Header.Set(c.header[0], c.header[1])
			}
			w := httptest.NewRecorder()
			sim.Admin().ServeHTTP(w, r)
			if w.Code != c.status {
				t.Errorf("%d %s, want %d", w.Code, w.Body, c.status)
			}
			if policy := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") {
				t.Errorf("policy %q", policy)
			}
		})
	}
	page := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
	r.Host = "evil.example"
	sim.Page().ServeHTTP(page, r)
	if page.Code != 403 || page.Header().Get("Content-Security-Policy") == "" {
		t.Errorf("the page for a foreign name: %d", page.Code)
	}
}
