package k3s

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/util/keyutil"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/pki"
)

const (
	requestTime  = 10 * time.Second
	passwordFile = "/etc/rancher/node/password"
)

// Agent configures one start of an agent.
type Agent struct {
	Program  string // k3s or rke2
	Server   string // https://host:port
	Token    string
	NodeName string
	Files    Files
}

// Files are the files of the agent's machine.
type Files interface {
	Read(path string) ([]byte, error)
	Write(path string, content []byte) error
}

// Joined has the kubelet's settings after a registration.
type Joined struct {
	// Args are flags of the kubelet, without the settings of the agent's configuration.
	Args []string
	// Pinned is true if the token has a hash, with which the agent compared the server's authority.
	Pinned bool
}

// Join registers the agent: it verifies the server, gets the kubelet's certificates and writes its kubeconfig.
func Join(ctx context.Context, a Agent) (Joined, error) {
	parsed, err := parseToken(a.Token)
	if err != nil {
		return Joined{}, err
	}
	server, err := url.Parse(a.Server)
	if err != nil || server.Scheme != "https" || server.Host == "" {
		return Joined{}, fmt.Errorf("server %q must be an https address", a.Server)
	}
	s := &session{Agent: a, base: server, token: parsed}
	if err := s.trust(ctx); err != nil {
		return Joined{}, err
	}
	apiServer, err := s.apiServer(ctx)
	if err != nil {
		return Joined{}, fmt.Errorf("failed to retrieve configuration from server: %w", err)
	}
	if err := s.files(ctx, apiServer); err != nil {
		return Joined{}, err
	}
	return Joined{Args: s.kubeletArgs(), Pinned: parsed.caHash != ""}, nil
}

// session is an agent that talks to its server.
type session struct {
	Agent
	base   *url.URL
	token  token
	client *http.Client
}

// trust gets the server's authority and compares it with the token's hash, if the token has a hash. The agent sends no secret before this.
func (s *session) trust(ctx context.Context) error {
	unverified := &http.Client{Timeout: requestTime, Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the answer is compared with the token's hash
	}}
	authority, err := s.do(ctx, unverified, http.MethodGet, "/cacerts", nil, nil)
	if err != nil {
		return fmt.Errorf("failed to get CA certs: %w", err)
	}
	if found := caHash(authority); s.token.caHash != "" && found != s.token.caHash {
		return fmt.Errorf("token CA hash does not match the Cluster CA certificate hash: %s != %s", s.token.caHash, found)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		return errors.New("CA cert validation failed: /cacerts contains no certificate")
	}
	s.client = &http.Client{Timeout: requestTime, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
	}}
	if _, err := s.do(ctx, s.client, http.MethodGet, "/cacerts", nil, nil); err != nil {
		return fmt.Errorf("CA cert validation failed: %w", err)
	}
	return s.Files.Write(s.path("server-ca.crt"), authority)
}

// apiServer reads the URL of the API server. With k3s its port is the server's own port, with RKE2 it is another port.
func (s *session) apiServer(ctx context.Context) (string, error) {
	answer, err := s.authenticated(ctx, http.MethodGet, "config", nil, nil)
	if err != nil {
		return "", err
	}
	var config struct{ HTTPSPort int }
	if err := json.Unmarshal(answer, &config); err != nil || config.HTTPSPort == 0 {
		return "", fmt.Errorf("the server's configuration has no HTTPSPort: %w", err)
	}
	return "https://" + net.JoinHostPort(s.base.Hostname(), strconv.Itoa(config.HTTPSPort)), nil
}

func (s *session) files(ctx context.Context, apiServer string) error {
	clients, err := s.authenticated(ctx, http.MethodGet, "client-ca.crt", nil, nil)
	if err != nil {
		return err
	}
	if err := s.Files.Write(s.path("client-ca.crt"), clients); err != nil {
		return err
	}
	if _, err := s.certificate(ctx, "serving-kubelet"); err != nil {
		return err
	}
	pair, err := s.certificate(ctx, "client-kubelet")
	if err != nil {
		return err
	}
	authority, err := s.Files.Read(s.path("server-ca.crt"))
	if err != nil {
		return err
	}
	kubeconfig, err := pki.Kubeconfig("local", apiServer, authority, pki.User{Name: "user", Pair: pair})
	if err != nil {
		return err
	}
	return s.Files.Write(s.path("kubelet.kubeconfig"), kubeconfig)
}

// certificate gets a certificate of the kubelet for a key that the agent makes.
func (s *session) certificate(ctx context.Context, name string) (pki.Pair, error) {
	password, err := s.password()
	if err != nil {
		return pki.Pair{}, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pki.Pair{}, err
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		return pki.Pair{}, err
	}
	answer, err := s.authenticated(ctx, http.MethodPost, name+".crt", request, map[string]string{"Name": s.NodeName, "Password": password})
	if err != nil {
		return pki.Pair{}, err
	}
	private, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return pki.Pair{}, err
	}
	pair := pki.Pair{Cert: answer, Key: private}
	if err := s.Files.Write(s.path(name+".crt"), pair.Cert); err != nil {
		return pki.Pair{}, err
	}
	return pair, s.Files.Write(s.path(name+".key"), pair.Key)
}

// password is the node's password, which the agent makes at its first start.
func (s *session) password() (string, error) {
	if kept, err := s.Files.Read(passwordFile); err == nil {
		return strings.TrimSpace(string(kept)), nil
	}
	password := rand.Text()
	return password, s.Files.Write(passwordFile, []byte(password+"\n"))
}

func (s *session) authenticated(ctx context.Context, method, name string, body []byte, node map[string]string) ([]byte, error) {
	return s.do(ctx, s.client, method, "/v1-"+s.Program+"/"+name, body, func(r *http.Request) {
		r.SetBasicAuth(agentUser, s.token.password)
		for key, value := range node {
			r.Header.Set(s.Program+"-Node-"+key, value)
		}
	})
}

func (s *session) do(ctx context.Context, client *http.Client, method, at string, body []byte, prepare func(*http.Request)) ([]byte,
	error) {
	target := s.base.JoinPath(at).String()
	request, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if prepare != nil {
		prepare(request)
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, requestLimit))
	switch {
	case answer.StatusCode == http.StatusForbidden:
		return nil, fmt.Errorf("node password rejected, duplicate hostname or contents of %s may not match the server's: %s", passwordFile,
			bytes.TrimSpace(text))
	case answer.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s: %s", target, answer.Status)
	}
	return text, err
}

func (s *session) path(file string) string {
	return path.Join("/var/lib/rancher", s.Program, "agent", file)
}

// kubeletArgs are the flags that do not depend on the agent's configuration.
func (s *session) kubeletArgs() []string {
	return []string{
		"--kubeconfig=" + s.path("kubelet.kubeconfig"), "--hostname-override=" + s.NodeName,
		"--client-ca-file=" + s.path("client-ca.crt"), "--anonymous-auth=false", "--authentication-token-webhook", "--authorization-mode=Webhook",
		"--tls-cert-file=" + s.path("serving-kubelet.crt"), "--tls-private-key-file=" + s.path("serving-kubelet.key"),
	}
}
