package supervisor_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/supervisor"
)

// served is a server that answers a status.
func served(t *testing.T, status int) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	t.Cleanup(server.Close)
	return server.URL
}

func kubeconfig(t *testing.T, server string) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: server}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
	config.CurrentContext = "c"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// The operator is ready even while an API does not answer.
func TestStatusNamesWhatTheOperatorCannotWorkWith(t *testing.T) {
	const gone = "http://127.0.0.1:1"
	refused := "dial tcp 127.0.0.1:1: connect: connection refused"
	ready, notReady := served(t, http.StatusOK), served(t, http.StatusInternalServerError)
	for name, tt := range map[string]struct {
		operator, kubernetes string
		rule                 *linodesim.Rule
		want                 string
	}{
		"all answer": {ready, ready, nil, "ready"},
		"the Linode API drops connections": {ready, ready, &linodesim.Rule{Drop: true},
			"not ready: the simulated Linode API does not answer (EOF)"},
		"the Linode API refuses the token": {notReady, ready,
			&linodesim.Rule{Answer: linodesim.Answer{Status: http.StatusUnauthorized, Reason: "Invalid Token"}},
			"not ready: the simulated Linode API refuses the token (401); its /readyz answers 500 Internal Server Error"},
		"the Linode API fails": {ready, ready, &linodesim.Rule{Answer: linodesim.Answer{Status: http.StatusServiceUnavailable}},
			"not ready: the simulated Linode API answers 503"},
		"no API server": {ready, gone, nil, "not ready: the Kubernetes API server does not answer (" + refused + ")"},
		"no operator":   {gone, ready, nil, "not ready: its /readyz answers " + refused},
	} {
		t.Run(name, func(t *testing.T) {
			sim, err := linodesim.New(linodesim.Config{Profile: linodesim.Instant()})
			if err != nil {
				t.Fatal(err)
			}
			if tt.rule != nil {
				sim.Fail(*tt.rule)
			}
			server := httptest.NewServer(sim)
			t.Cleanup(server.Close)
			info := supervisor.Info{Kubeconfig: kubeconfig(t, tt.kubernetes), SimURL: server.URL, Token: linodesim.DefaultToken,
				HealthURL: tt.operator}
			if got := info.Working(t.Context()); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
	info := supervisor.Info{Kubeconfig: filepath.Join(os.TempDir(), "none"), SimURL: gone, HealthURL: gone}
	if got := info.Working(t.Context()); got == "ready" {
		t.Error(got)
	}
}
