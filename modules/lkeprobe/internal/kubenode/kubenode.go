// Package kubenode reads from a cluster's API server which Linodes are ready
// Nodes. It needs the right to list nodes, and no library of Kubernetes.
//
// Of a kubeconfig it takes the current context: server, certificate authority,
// and a token or a client certificate, inline or in files. A kubeconfig that
// needs a program or a plugin for its credentials is refused.
package kubenode

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/oasdiff/yaml"
)

const (
	timeout  = 15 * time.Second
	maxBody  = 32 << 20
	provider = "linode://"
)

// Reader lists nodes.
type Reader struct {
	server string
	token  string
	client *http.Client
}

type kubeconfig struct {
	Current  string `json:"current-context"`
	Contexts []struct {
		Name    string `json:"name"`
		Context struct {
			Cluster string `json:"cluster"`
			User    string `json:"user"`
		} `json:"context"`
	} `json:"contexts"`
	Clusters []struct {
		Name    string  `json:"name"`
		Cluster cluster `json:"cluster"`
	} `json:"clusters"`
	Users []struct {
		Name string `json:"name"`
		User user   `json:"user"`
	} `json:"users"`
}

type cluster struct {
	Server   string `json:"server"`
	CAFile   string `json:"certificate-authority"`
	CA       string `json:"certificate-authority-data"`
	Insecure bool   `json:"insecure-skip-tls-verify"`
}

type user struct {
	Token           string          `json:"token"`
	TokenFile       string          `json:"tokenFile"`
	CertificateFile string          `json:"client-certificate"`
	Certificate     string          `json:"client-certificate-data"`
	KeyFile         string          `json:"client-key"`
	Key             string          `json:"client-key-data"`
	Exec            json.RawMessage `json:"exec"`
	Plugin          json.RawMessage `json:"auth-provider"`
}

// FromFile reads a kubeconfig. Errors name the file and never its content.
func FromFile(path string) (*Reader, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	var k kubeconfig
	if _, err := yaml.Unmarshal(text, &k, yaml.DecodeOpts{}); err != nil {
		return nil, fmt.Errorf("--kubeconfig %s is not YAML of a kubeconfig", path)
	}
	c, u, err := k.choose()
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig %s: %w", path, err)
	}
	r, err := connect(c, u)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig %s: %w", path, err)
	}
	return r, nil
}

func (k kubeconfig) choose() (c cluster, u user, err error) {
	for _, x := range k.Contexts {
		if x.Name != k.Current {
			continue
		}
		for _, e := range k.Clusters {
			if e.Name == x.Context.Cluster {
				c = e.Cluster
			}
		}
		for _, e := range k.Users {
			if e.Name == x.Context.User {
				u = e.User
			}
		}
	}
	switch {
	case !strings.HasPrefix(c.Server, "https://"):
		return c, u, fmt.Errorf("the server of the current context %q must be an https:// address", k.Current)
	case c.Insecure:
		return c, u, errors.New("insecure-skip-tls-verify is set; the server's certificate must be checked")
	case len(u.Exec) > 0 || len(u.Plugin) > 0:
		return c, u, errors.New("its user runs a program for credentials; a token or a client certificate is needed")
	}
	return c, u, nil
}

func connect(c cluster, u user) (*Reader, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca, err := material(c.CA, c.CAFile); err != nil {
		return nil, fmt.Errorf("certificate-authority: %w", err)
	} else if ca != nil {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(ca) {
			return nil, errors.New("certificate-authority has no certificate")
		}
	}
	certificate, err := material(u.Certificate, u.CertificateFile)
	if err != nil {
		return nil, fmt.Errorf("client-certificate: %w", err)
	}
	key, err := material(u.Key, u.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("client-key: %w", err)
	}
	if certificate != nil {
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			return nil, errors.New("client-certificate and client-key do not fit together")
		}
		config.Certificates = []tls.Certificate{pair}
	}
	if u.Token == "" && u.TokenFile != "" {
		text, err := os.ReadFile(u.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("tokenFile: %w", err)
		}
		u.Token = strings.TrimSpace(string(text))
	}
	return &Reader{
		server: strings.TrimRight(c.Server, "/"), token: u.Token,
		client: &http.Client{Timeout: timeout, Transport: &http.Transport{TLSClientConfig: config, Proxy: http.ProxyFromEnvironment}},
	}, nil
}

// material returns data that a kubeconfig has inline or in a file; nil = neither.
func material(inline, file string) ([]byte, error) {
	if inline != "" {
		data, err := base64.StdEncoding.DecodeString(inline)
		if err != nil {
			return nil, errors.New("not base64")
		}
		return data, nil
	}
	if file == "" {
		return nil, nil
	}
	return os.ReadFile(file)
}

// Ready lists the Linodes whose Nodes have condition Ready.
func (r *Reader) Ready(ctx context.Context) (map[int]bool, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.server+"/api/v1/nodes", nil)
	if err != nil {
		return nil, err
	}
	if r.token != "" {
		request.Header.Set("Authorization", "Bearer "+r.token)
	}
	response, err := r.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("listing nodes: status %d", response.StatusCode)
	}
	var list struct {
		Items []struct {
			Spec struct {
				ProviderID string `json:"providerID"`
			} `json:"spec"`
			Status struct {
				Conditions []struct {
					Type   string `json:"type"`
					Status string `json:"status"`
				} `json:"conditions"`
			} `json:"status"`
		} `json:"items"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxBody)).Decode(&list); err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	ready := map[int]bool{}
	for _, n := range list.Items {
		id, err := strconv.Atoi(strings.TrimPrefix(n.Spec.ProviderID, provider))
		if err != nil {
			continue // not of Linode, or not initialized yet
		}
		for _, c := range n.Status.Conditions {
			if c.Type == "Ready" && c.Status == "True" {
				ready[id] = true
			}
		}
	}
	return ready, nil
}
