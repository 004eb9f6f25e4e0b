package linode_test

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
)

func TestServerURL(t *testing.T) {
	rows := []struct{ base, version, want string }{
		{"", "", "https://api.linode.com/v4beta/profile"},
		{"", "v4", "https://api.linode.com/v4/profile"},
		{"https://api.linode.com/", "v4beta", "https://api.linode.com/v4beta/profile"},
		{"https://api.linode.com/v4", "", "https://api.linode.com/v4/profile"},
		{"https://api.linode.com/v4/", "v4beta", "https://api.linode.com/v4beta/profile"},
		{"http://127.0.0.1:8080/sim", "", "http://127.0.0.1:8080/sim/v4beta/profile"},
	}
	for _, row := range rows {
		var got string
		api := &server{answer: func(_ int, r *http.Request) (*http.Response, error) {
			got = r.URL.String()
			return reply(200, `{"username":"a","email":"b","restricted":true}`)
		}}
		client := newClient(t, api, func(c *linode.Config) { c.BaseURL, c.APIVersion = row.base, row.version })
		if _, err := client.GetProfile(t.Context()); err != nil || got != row.want {
			t.Errorf("%q %q: %s (%v), want %s", row.base, row.version, got, err, row.want)
		}
	}
}

func TestConfigRefused(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	rows := []struct {
		name  string
		cfg   linode.Config
		names string // the setting that the error names
	}{
		{"no token", linode.Config{}, "Config.Token"},
		{"no URL", linode.Config{Token: linode.StaticToken("x"), BaseURL: "api.linode.com"}, "Config.BaseURL"},
		{"another scheme", linode.Config{Token: linode.StaticToken("x"), BaseURL: "ftp://api.linode.com"}, "Config.BaseURL"},
		{"a query", linode.Config{Token: linode.StaticToken("x"), BaseURL: "https://api.linode.com?a=b"}, "Config.BaseURL"},
		{"a password", linode.Config{Token: linode.StaticToken("x"), BaseURL: "https://me:" + secret + "@api.linode.com"}, "Config.BaseURL"},
		{"another version", linode.Config{Token: linode.StaticToken("x"), APIVersion: "v5"}, "Config.APIVersion"},
		{"negative timeout", linode.Config{Token: linode.StaticToken("x"), Timeout: -1}, "Config.Timeout"},
		{"no CA file", linode.Config{Token: linode.StaticToken("x"), CAFile: empty + ".missing"}, "Config.CAFile"},
		{"CA file without certificate", linode.Config{Token: linode.StaticToken("x"), CAFile: empty}, "Config.CAFile"},
		{"CA file and transport", linode.Config{Token: linode.StaticToken("x"), CAFile: empty, Transport: &server{}}, "Config.CAFile"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			_, err := linode.New(row.cfg)
			if err == nil || !strings.Contains(err.Error(), row.names) || strings.Contains(err.Error(), secret) {
				t.Errorf("%v does not name %s", err, row.names)
			}
		})
	}
}

func TestCAFile(t *testing.T) {
	api := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(poolBody))
	}))
	api.Config.ErrorLog = log.New(&bytes.Buffer{}, "", 0) // the refused handshake
	api.StartTLS()
	defer api.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: api.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	trusting, err := linode.New(linode.Config{Token: linode.StaticToken(secret), BaseURL: api.URL, CAFile: file})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trusting.GetPool(t.Context(), 1, 7); err != nil {
		t.Error(err)
	}
	doubting, err := linode.New(linode.Config{Token: linode.StaticToken(secret), BaseURL: api.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := doubting.GetPool(t.Context(), 1, 7); linode.KindOf(err) != linode.KindUnavailable {
		t.Errorf("an unknown certificate: %v", err)
	}
}

func TestHeaders(t *testing.T) {
	var got http.Header
	api := &server{answer: func(_ int, r *http.Request) (*http.Response, error) {
		got = r.Header
		return reply(200, poolBody)
	}}
	client := newClient(t, api, func(c *linode.Config) { c.UserAgent = "karpenter/1.2" })
	if err := methods[http.MethodPut](t.Context(), client); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"Authorization": "Bearer " + secret, "Accept": "application/json",
		"Content-Type": "application/json", "User-Agent": "karpenter/1.2",
	} {
		if got.Get(name) != want {
			t.Errorf("%s is %q", name, got.Get(name))
		}
	}
}

// TestTokenIsNowhere looks for the token in everything that a debugging program could print: configurations, clients,
// errors in all forms and calls, also when something in front of the API echoes the request.
func TestTokenIsNowhere(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var printed bytes.Buffer
		show := func(values ...any) {
			for _, value := range values {
				fmt.Fprintf(&printed, "%v %+v %#v %s %q\n", value, value, value, value, value)
			}
		}
		echo := "Authorization: Bearer " + secret
		answers := []func(int, *http.Request) (*http.Response, error){
			always(200, poolBody), always(400, refusal(echo)), always(400, `{"errors":[{"reason":"x","field":"`+echo+`"}]}`),
			always(502, "<pre>"+echo+"</pre>"), always(200, "<pre>"+echo+"</pre>"), always(401, refusal(echo)), always(404, echo),
			func(int, *http.Request) (*http.Response, error) { return nil, errors.New("sending " + echo) },
		}
		for _, answer := range answers {
			cfg := linode.Config{
				Token: linode.StaticToken(secret), Transport: &server{answer: answer}, BaseURL: "https://api.test",
				Observer: func(call linode.Call) { show(call) },
			}
			client, err := linode.New(cfg)
			show(cfg, &cfg, client, err)
			for _, call := range methods {
				err := call(t.Context(), client)
				show(err)
				for ; err != nil; err = errors.Unwrap(err) {
					show(err)
				}
			}
		}
		for _, bad := range []string{secret + " " + secret, secret + "\n" + secret, secret + "\x00", "ü" + secret} {
			client := newClient(t, &server{answer: always(200, poolBody)}, func(c *linode.Config) { c.Token = linode.StaticToken(bad) })
			err := methods[http.MethodGet](t.Context(), client)
			show(err)
			if linode.KindOf(err) != linode.KindUnauthorized {
				t.Errorf("token %q: %v", bad, err)
			}
		}
		if strings.Contains(printed.String(), secret) {
			at := strings.Index(printed.String(), secret)
			t.Errorf("the token shows in ...%s...", printed.String()[max(0, at-200):at+len(secret)])
		}
		if printed.Len() < 1000 {
			t.Error("hardly anything was printed")
		}
	})
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the request came here with %q", r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	api := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer api.Close()
	client, err := linode.New(linode.Config{Token: linode.StaticToken(secret), BaseURL: api.URL})
	if err != nil {
		t.Fatal(err)
	}
	if err := methods[http.MethodPost](t.Context(), client); linode.KindOf(err) != linode.KindAmbiguous {
		t.Errorf("got %v", err)
	}
}

func TestObserver(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var calls []linode.Call
		api := &server{answer: sequence(always(429, refusal("x"), "Retry-After", "3"), always(404, refusal("Not found")))}
		client := newClient(t, api, func(c *linode.Config) { c.Observer = func(call linode.Call) { calls = append(calls, call) } })
		err := client.DeleteNode(t.Context(), 1, "7-a")
		if linode.KindOf(err) != linode.KindNotFound || len(calls) != 1 {
			t.Fatalf("%v, %d calls", err, len(calls))
		}
		call := calls[0]
		if call.Duration < 3*time.Second || call.LimiterWait > call.Duration {
			t.Errorf("durations of %+v", call)
		}
		call.Duration, call.LimiterWait = 0, 0
		want := linode.Call{
			Operation: "deleteLKENode", Method: "DELETE", Route: "/lke/clusters/{clusterId}/nodes/{nodeId}",
			RateClass: "general", Status: 404, Kind: linode.KindNotFound, Retries: 1,
		}
		if call != want {
			t.Errorf("got %+v, want %+v", call, want)
		}
	})
}

// TestTracing shows what a round tripper that names spans learns.
func TestTracing(t *testing.T) {
	var operation, route string
	api := &server{answer: func(_ int, r *http.Request) (*http.Response, error) {
		operation, route, _ = linode.OperationFromContext(r.Context())
		return reply(200, poolBody)
	}}
	if err := methods[http.MethodGet](t.Context(), newClient(t, api)); err != nil {
		t.Fatal(err)
	}
	if operation != "getLKENodePool" || route != "/lke/clusters/{clusterId}/pools/{poolId}" {
		t.Errorf("got %q and %q", operation, route)
	}
	if _, _, ok := linode.OperationFromContext(context.Background()); ok {
		t.Error("an operation out of nowhere")
	}
}
