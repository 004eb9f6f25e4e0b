package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// start runs the program and gives the values it prints, and a way to stop it.
func start(t *testing.T, args ...string) (values map[string]string, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, args, writer, io.Discard)
		_ = writer.Close()
		ended <- err
	}()
	values = map[string]string{}
	lines := bufio.NewScanner(reader)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), "=")
		values[name] = value
		if name == "profile" {
			break
		}
	}
	go func() { _, _ = io.Copy(io.Discard, reader) }()
	return values, func() error { cancel(); return <-ended }
}

func get(t *testing.T, url, token string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

func TestProgram(t *testing.T) {
	values, stop := start(t, "--listen", ":0", "--tier", "enterprise", "--cluster", "mine", "--token", "secret", "--pools",
		"g6-standard-1:2,g6-dedicated-2:1", "--owner-token", "owner-secret")
	if status, _ := get(t, values["url"]+"/v4/lke/clusters", values["owner_token"]); status != 200 {
		t.Errorf("the owner's token: %d", status)
	}
	if values["token"] != "secret" || values["cluster"] != "mine" || values["tier"] != "enterprise" || values["cluster_id"] == "" {
		t.Errorf("printed %v", values)
	}
	if !strings.HasPrefix(values["url"], "http://127.0.0.1:") {
		t.Errorf("url %q is not on loopback", values["url"])
	}
	if status, body := get(t, values["url"]+"/v4beta/lke/clusters/"+values["cluster_id"]+"/pools", "secret"); status != 200 ||
		!strings.Contains(body, "g6-dedicated-2") {
		t.Errorf("pools: %d %s", status, body)
	}
	if status, _ := get(t, values["url"]+"/v4/lke/clusters", "other"); status != 401 {
		t.Errorf("another token: %d", status)
	}
	if status, body := get(t, values["url"]+"/", ""); status != 200 || !strings.Contains(body, "mine") || strings.Contains(body, "secret") {
		t.Errorf("page: %d %s", status, body)
	}
	if status, _ := get(t, values["url"]+"/state", ""); status != 404 {
		t.Errorf("the admin interface is reachable where the API is: %d", status)
	}
	if err := stop(); err != nil {
		t.Errorf("stopping: %v", err)
	}
	if _, err := net.Dial("tcp", strings.TrimPrefix(values["url"], "http://")); err == nil {
		t.Error("still listening after the end")
	}
}

func TestBadFlags(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	for _, c := range []struct {
		name, words string
		args        []string
	}{
		{"profile", "--profile: profile \"quick\" is unknown; use one of fast, realistic", []string{"--profile", "quick"}},
		{"report", "no such file", []string{"--profile", "none.json"}},
		{"scale", "--time-scale is 0", []string{"--time-scale", "0"}},
		{"tier", "[tier]", []string{"--tier", "gold"}},
		{"region", "[region]", []string{"--region", "xx"}},
		{"pools", "plan:count", []string{"--pools", "g6-standard-2"}},
		{"plan", "[node_pools[0].type]", []string{"--pools", "g6-nanode-1:1"}},
		{"remote without permission", "--allow-remote", []string{"--listen", "0.0.0.0:0"}},
		{"remote by name", "--allow-remote", []string{"--listen", "example.com:0"}},
		{"remote with the known token", "--token is the default", []string{"--listen", "0.0.0.0:0", "--allow-remote"}},
		{"remote admin", "--admin-listen", []string{"--listen", ":0", "--admin-listen", "[::]:0"}},
		{"argument", "unexpected argument", []string{"serve"}},
		{"token", "empty token", []string{"--token", ""}},
		{"port in use", "--listen " + taken.Addr().String(), []string{"--listen", taken.Addr().String()}},
		{"admin port in use", "--admin-listen", []string{"--listen", ":0", "--admin-listen", taken.Addr().String()}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			err := run(t.Context(), c.args, &out, io.Discard)
			if err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("error %v, want %q", err, c.words)
			}
			if strings.Contains(out.String(), "url=") {
				t.Errorf("printed %q", out.String())
			}
		})
	}
}

func TestVersionIsPrintedAndNothingServed(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{"--version"}, &out, io.Discard); err != nil || !strings.HasPrefix(out.String(), "linodesim "+version) {
		t.Errorf("printed %q, %v", out.String(), err)
	}
}
