package main

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// The program under test is this test binary, started anew: with this variable set it is the controller.
const underTest = "CONTROLLER_UNDER_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(underTest) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// controller prepares a process with nothing in its environment but the given variables.
func controller(ctx context.Context, t testing.TB, args []string, environment ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(ctx, self, args...)
	command.Env = append([]string{underTest + "=1", "HOME=" + t.TempDir()}, environment...)
	return command
}

const secret = "s3cret-token-of-the-test"

func simulator(t testing.TB, tokens map[string][]string, clusters ...linodesim.ClusterSpec) (*linodesim.Sim, string) {
	t.Helper()
	sim, err := linodesim.New(linodesim.Config{ValidateAnswers: true, Profile: linodesim.Fast(), Tokens: tokens})
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range clusters {
		if _, err := sim.AddCluster(spec); err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(sim)
	t.Cleanup(server.Close)
	return sim, server.URL
}

func cluster(label string) linodesim.ClusterSpec {
	return linodesim.ClusterSpec{Label: label, Region: "us-ord", Settled: true, Pools: []linodesim.PoolSpec{{Type: "g6-standard-1", Count: 1}}}
}

// unserved is an address on which no server listens.
func unserved(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return "http://" + listener.Addr().String()
}

// webServer is an address at which a server has nothing.
func webServer(t testing.TB) string {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	return server.URL
}

func TestBadInputEndsTheProcessWithOneLine(t *testing.T) {
	all := map[string][]string{secret: {"*"}}
	_, good := simulator(t, all, cluster("demo"))
	_, twins := simulator(t, all, cluster("demo"), cluster("demo"))
	_, others := simulator(t, map[string][]string{"another-token": {"*"}}, cluster("demo"))
	_, noScope := simulator(t, map[string][]string{secret: {"linodes:read_write"}}, cluster("demo"))
	_, readOnly := simulator(t, map[string][]string{secret: {"lke:read_only", "linodes:read_only"}}, cluster("demo"))
	token, demo := "LINODE_TOKEN="+secret, "CLUSTER_NAME=demo"
	tests := []struct {
		name    string
		args    []string
		env     []string
		setting string
		says    string
	}{
		{"nothing set", nil, nil, "LINODE_TOKEN", "not set"},
		{"debugging that prints the token", nil, []string{token, demo, "LINODE_URL=" + good, "GODEBUG=http2debug=2"}, "GODEBUG", "http2debug"},
		{"debugging among other settings", nil, []string{token, demo, "LINODE_URL=" + good, "GODEBUG=madvdontneed=1,http2debug=1"}, "GODEBUG",
			"http2debug"},
		{"a token file that is missing", nil, []string{"LINODE_TOKEN_FILE=/nonexistent/token", demo, "LINODE_URL=" + good}, "LINODE_TOKEN",
			"/nonexistent/token"},
		{"a refused token", nil, []string{token, demo, "LINODE_URL=" + others}, "LINODE_TOKEN", "401"},
		{"a token without scope", nil, []string{token, demo, "LINODE_URL=" + noScope}, "LINODE_TOKEN", "lke:read_write"},
		{"a token that may only read", nil, []string{token, demo, "LINODE_URL=" + readOnly}, "LINODE_TOKEN", "lke:read_write"},
		{"plans that there are not", nil, []string{token, demo, "LINODE_URL=" + good, "PLANS_ALLOW=g6-standrd-4"}, "PLANS_ALLOW",
			`no plan matches "g6-standrd-4"; similar: g6-standard-4`},
		{"a class that there is not", nil, []string{token, demo, "LINODE_URL=" + good, "PLANS_ALLOW=class=dedicatd"}, "PLANS_ALLOW",
			"similar: class=dedicated"},
		{"plans that are all denied", nil, []string{token, demo, "LINODE_URL=" + good, "PLANS_DENY=*"}, "PLANS_DENY", "no plan is left"},
		{"another server", nil, []string{token, demo, "LINODE_URL=" + webServer(t)}, "LINODE_URL", "is not the Linode API (status 404"},
		{"no cluster name", nil, []string{token}, "CLUSTER_NAME", "not set"},
		{"a name no cluster has", nil, []string{token, "CLUSTER_NAME=demon", "LINODE_URL=" + good}, "CLUSTER_NAME", `"demon"`},
		{"a name two clusters have", nil, []string{token, demo, "LINODE_URL=" + twins}, "CLUSTER_NAME", "2 LKE clusters"},
		{"a flag names the cluster", []string{"--cluster-name", "other"}, []string{token, demo, "LINODE_URL=" + good}, "CLUSTER_NAME", `"other"`},
		{"an unknown mode", nil, []string{token, demo, "KARPENTER_MODE=vm"}, "KARPENTER_MODE", `"vm"`},
		{"instance mode without region", nil, []string{token, demo, "KARPENTER_MODE=instance"}, "CLUSTER_REGION", "instance"},
		{"instance mode in a region that there is not", nil,
			[]string{token, demo, "KARPENTER_MODE=instance", "CLUSTER_REGION=mars", "LINODE_URL=" + good}, "CLUSTER_REGION", `"mars"`},
		{"a bad duration", nil, []string{token, demo, "LKE_CREATE_DEADLINE=soon"}, "LKE_CREATE_DEADLINE", `"soon"`},
		{"a CA file that is missing", nil, []string{token, demo, "LINODE_CA=/nonexistent/ca.pem", "LINODE_URL=" + good}, "LINODE_CA",
			"/nonexistent/ca.pem"},
		{"a log that cannot be written", nil, []string{token, demo, "LINODE_URL=" + good, "LOG_OUTPUT_PATHS=/nonexistent/log"},
			"LOG_OUTPUT_PATHS", "/nonexistent/log"},
		{"no Kubernetes", nil, []string{token, demo, "LINODE_URL=" + good}, "KUBECONFIG", "KUBECONFIG"},
		{"a Kubernetes that does not answer", nil,
			[]string{token, demo, "LINODE_URL=" + good, "DISABLE_LEADER_ELECTION=true", "KUBECONFIG=" + kubeconfigFor(t, unserved(t))}, "KUBECONFIG",
			"connect"},
		{"no namespace for the Lease", nil, []string{token, demo, "LINODE_URL=" + good, "KUBECONFIG=" + kubeconfigFor(t, unserved(t))},
			"LEADER_ELECTION_NAMESPACE", "not set"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			command := controller(ctx, t, tt.args, tt.env...)
			var stdout, stderr bytes.Buffer
			command.Stdout, command.Stderr = &stdout, &stderr
			err := command.Run()
			if ctx.Err() != nil {
				t.Fatal("the process did not end")
			}
			if code := command.ProcessState.ExitCode(); code != 1 {
				t.Errorf("exit code %d (%v), want 1", code, err)
			}
			text := stderr.String()
			if strings.Count(text, "\n") != 1 || !strings.HasPrefix(text, "karpenter-linode: "+tt.setting+": ") || !strings.Contains(text, tt.says) {
				t.Errorf("got %q\nwant one line that begins with %s and says %q", text, tt.setting, tt.says)
			}
			if strings.Contains(text+stdout.String(), secret) {
				t.Error("the token is in the output")
			}
		})
	}
}

// kubeconfigFor writes a kubeconfig for a server.
func kubeconfigFor(t testing.TB, server string) string {
	t.Helper()
	path := t.TempDir() + "/kubeconfig"
	text := "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n" +
		"clusters: [{name: c, cluster: {server: " + server + "}}]\nusers: [{name: u, user: {}}]\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestHelpNeedsNothing(t *testing.T) {
	output, err := controller(t.Context(), t, []string{"-h"}).Output()
	if err != nil || !strings.Contains(string(output), "CLUSTER_NAME (--cluster-name)") {
		t.Errorf("%v\n%s", err, output)
	}
}

func TestVersionNeedsNothing(t *testing.T) {
	for _, flag := range []string{"--version", "-version", "version"} {
		output, err := controller(t.Context(), t, []string{flag}).Output()
		if err != nil || !regexp.MustCompile(`^karpenter-linode \S+ \(commit \S+, Karpenter core v1\.\d+\.\d+, go\S+ \w+/\w+\)\n$`).Match(output) {
			t.Errorf("%s: %v\n%s", flag, err, output)
		}
	}
}
