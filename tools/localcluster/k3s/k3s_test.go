package k3s_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/k3s"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/pki"
)

const password = "the-agents-password"

// files is a machine's disk.
type files map[string][]byte

func (f files) Read(path string) ([]byte, error) {
	if content, ok := f[path]; ok {
		return content, nil
	}
	return nil, fs.ErrNotExist
}

func (f files) Write(path string, content []byte) error {
	f[path] = slices.Clone(content)
	return nil
}

type cluster struct {
	authority *pki.Authority
	url       string
	kube      *fake.Clientset
}

func serve(t *testing.T) cluster {
	t.Helper()
	authority, err := pki.NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	kube := fake.NewClientset()
	server := &k3s.Server{Authority: authority.Cert, Signer: authority, Password: password, APIServerPort: 6443,
		Secrets: kube.CoreV1().Secrets("kube-system")}
	settings, err := server.TLS()
	if err != nil {
		t.Fatal(err)
	}
	listening := httptest.NewUnstartedServer(server.Handler())
	listening.TLS = settings
	listening.StartTLS()
	t.Cleanup(listening.Close)
	return cluster{authority, listening.URL, kube}
}

func (c cluster) join(ctx context.Context, program, token, node string, disk files) (k3s.Joined, error) {
	return k3s.Join(ctx, k3s.Agent{Program: program, Server: c.url, Token: token, NodeName: node, Files: disk})
}

func TestAgentGetsTheCertificatesOfItsNode(t *testing.T) {
	c := serve(t)
	for program, token := range map[string]string{"k3s": k3s.Token(c.authority.Cert, password), "rke2": password} {
		disk, dir := files{}, "/var/lib/rancher/"+program+"/agent/"
		joined, err := c.join(t.Context(), program, token, "node-"+program, disk)
		if err != nil {
			t.Fatal(err)
		}
		if pinned := program == "k3s"; joined.Pinned != pinned {
			t.Errorf("%s: the authority was compared with the token: %t", program, joined.Pinned)
		}
		config, err := clientcmd.Load(disk[dir+"kubelet.kubeconfig"])
		if err != nil || !strings.HasSuffix(config.Clusters["local"].Server, ":6443") {
			t.Fatalf("%s: the kubeconfig %+v, %v", program, config, err)
		}
		client := parsed(t, config.AuthInfos["user"].ClientCertificateData)
		if client.Subject.CommonName != "system:node:node-"+program || !slices.Equal(client.Subject.Organization, []string{"system:nodes"}) {
			t.Errorf("%s: the client is %s", program, client.Subject)
		}
		if serving := parsed(t, disk[dir+"serving-kubelet.crt"]); serving.VerifyHostname("node-"+program) != nil ||
			serving.VerifyHostname("127.0.0.1") != nil {
			t.Errorf("%s: the kubelet serves as %v %v", program, serving.DNSNames, serving.IPAddresses)
		}
		if _, err := tls.X509KeyPair(disk[dir+"serving-kubelet.crt"], disk[dir+"serving-kubelet.key"]); err != nil {
			t.Error(err)
		}
	}
}

func parsed(t *testing.T, text []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(text)
	if block == nil {
		t.Fatalf("%q is no certificate", text)
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

// An agent that is given another cluster's token sends its password to no server of this one.
func TestAgentWithTheHashOfAnotherAuthoritySendsNoPassword(t *testing.T) {
	c := serve(t)
	other, err := pki.NewAuthority("other")
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.join(t.Context(), "k3s", k3s.Token(other.Cert, password), "a", files{})
	if err == nil || !strings.Contains(err.Error(), "token CA hash does not match") {
		t.Errorf("error %v", err)
	}
	if secrets, err := c.kube.CoreV1().Secrets("kube-system").List(t.Context(), metav1.ListOptions{}); err != nil || len(secrets.Items) > 0 {
		t.Errorf("the node was registered: %v, %v", secrets, err)
	}
}

func TestRegistrationsAreRefused(t *testing.T) {
	c := serve(t)
	full := k3s.Token(c.authority.Cert, password)
	if _, err := c.join(t.Context(), "k3s", full, "taken", files{}); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ token, node, want string }{
		"another password":           {"wrong", "a", "401 Unauthorized"},
		"a hash that is cut":         {"K10abc::node:" + password, "a", "invalid token CA hash length"},
		"a token without a password": {"K10::node:", "a", "invalid token format"},
		"no token":                   {"", "a", "token is empty"},
		"the name of another node":   {full, "taken", "node password rejected"},
		"no name":                    {full, "", "400 Bad Request"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.join(t.Context(), "k3s", test.token, test.node, files{})
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), password) {
				t.Errorf("error %v, want %q and no password", err, test.want)
			}
		})
	}
}

// The node that has registered may do so again with the password that it kept.
func TestAgentRegistersAgainWithItsNodePassword(t *testing.T) {
	c, disk := serve(t), files{}
	for range 2 {
		if _, err := c.join(t.Context(), "rke2", password, "again", disk); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOnlyAgentsAreServed(t *testing.T) {
	c := serve(t)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.authority.Cert)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	for path, want := range map[string]int{"/cacerts": 200, "/v1-k3s/config": 401, "/v1-rke2/server-ca.crt": 401,
		"/v1-k3s/server-bootstrap": 404} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: status %d, want %d", path, answer.StatusCode, want)
		}
	}
}
