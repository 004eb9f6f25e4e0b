package clusterapi

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
)

func TestAKubeconfigThatRunsProgramsOrVerifiesNothingIsRefused(t *testing.T) {
	const good, token = `server: "https://management:6443"`, `token: abc`
	for name, c := range map[string]struct{ cluster, user, want string }{
		"a token":                {good, token, ""},
		"a token beside it":      {good, `tokenFile: token`, ""},
		"an authority beside it": {good + `, certificate-authority: ca.crt`, token, ""},
		"an exec plugin": {good, `exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/sh, interactiveMode: Never}`,
			"exec plugin"},
		"an auth provider":          {good, `auth-provider: {name: gcp}`, "auth-provider"},
		"http":                      {`server: "http://management:6443"`, token, "without https"},
		"no scheme":                 {`server: "management:6443"`, token, "without https"},
		"no verification":           {good + `, insecure-skip-tls-verify: true`, token, "insecure-skip-tls-verify"},
		"the operator's own token":  {good, `tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token`, "outside"},
		"a way out":                 {good, `tokenFile: ../../token`, "outside"},
		"another file as a key":     {good, `client-certificate-data: aGk=, client-key: /etc/key`, "outside"},
		"another file as authority": {good + `, certificate-authority: /etc/ca.crt`, token, "outside"},
	} {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			for _, file := range []string{"token", "ca.crt"} {
				if err := os.WriteFile(filepath.Join(directory, file), []byte("abc"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			path := filepath.Join(directory, "value")
			text := `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: m, user: u}}],
				clusters: [{name: m, cluster: {` + c.cluster + `}}], users: [{name: u, user: {` + c.user + `}}]}`
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			config, err := management(path)
			if c.want == "" {
				if err != nil || config.Host != "https://management:6443" {
					t.Errorf("%v, %v", config, err)
				}
				return
			}
			e, ok := errors.AsType[*options.Error](err)
			if !ok || e.Name != "CLUSTERAPI_KUBECONFIG" || !strings.Contains(e.Found, c.want) || e.Fix == "" {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
