package k3s

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/pki"
)

const requestLimit = 64 << 10

// Signer is a cluster's certificate authority; *pki.Authority is one.
type Signer interface {
	Server(name string, hosts ...string) (pki.Pair, error)
	SignClient(public any, user string, groups ...string) ([]byte, error)
	SignServer(public any, name string, hosts ...string) ([]byte, error)
}

// Server is the part of a k3s or RKE2 server with which agents register.
type Server struct {
	Authority     []byte // PEM
	Signer        Signer
	Password      string // of agents
	APIServerPort int
	Secrets       corev1client.SecretInterface // of kube-system, for the nodes' passwords
}

// TLS is the configuration to serve with on loopback.
func (s *Server) TLS() (*tls.Config, error) {
	pair, err := s.Signer.Server("k3s", "127.0.0.1", "localhost")
	if err != nil {
		return nil, err
	}
	certificate, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		return nil, err
	}
	return &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}, nil
}

// Handler serves agents of both programs.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /cacerts", func(w http.ResponseWriter, r *http.Request) { _ = s.sendAuthority(w, r) }) // the agent may be gone
	for _, program := range []string{"k3s", "rke2"} {
		prefix := "/v1-" + program + "/"
		mux.HandleFunc("GET "+prefix+"config", s.agents(func(w http.ResponseWriter, r *http.Request) error {
			_, port, _ := net.SplitHostPort(r.Host)
			return json.NewEncoder(w).Encode(map[string]any{
				"SupervisorPort": json.Number(port), "HTTPSPort": s.APIServerPort, "ClusterDomain": "cluster.local",
			})
		}))
		for _, file := range []string{"client-ca.crt", "server-ca.crt"} {
			mux.HandleFunc("GET "+prefix+file, s.agents(s.sendAuthority))
		}
		mux.HandleFunc("POST "+prefix+"client-kubelet.crt", s.agents(s.signed(program, s.client)))
		mux.HandleFunc("POST "+prefix+"serving-kubelet.crt", s.agents(s.signed(program, s.serving)))
	}
	return mux
}

func (s *Server) sendAuthority(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "text/plain")
	_, err := w.Write(s.Authority)
	return err
}

// refusal is an error with its HTTP status.
type refusal struct {
	status int
	err    error
}

func (r *refusal) Error() string { return r.err.Error() }

func (s *Server) agents(serve func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		user, password, ok := r.BasicAuth()
		if !ok || user != agentUser || subtle.ConstantTimeCompare([]byte(password), []byte(s.Password)) != 1 {
			http.Error(w, "not authorized", http.StatusUnauthorized)
			return
		}
		err := serve(w, r)
		if err == nil {
			return
		}
		status := http.StatusInternalServerError
		var refused *refusal
		if errors.As(err, &refused) {
			status = refused.status
		}
		http.Error(w, err.Error(), status)
	}
}

// signed answers a certificate request of a node that proves its name by its password.
func (s *Server) signed(program string, sign func(public any, node string) ([]byte, error)) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		node, password := r.Header.Get(program+"-Node-Name"), r.Header.Get(program+"-Node-Password")
		if node == "" || password == "" {
			return &refusal{http.StatusBadRequest, errors.New("node name or node password not set")}
		}
		if err := s.verify(r.Context(), strings.ToLower(node), password); err != nil {
			return err
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, requestLimit))
		if err != nil {
			return &refusal{http.StatusBadRequest, err}
		}
		request, err := x509.ParseCertificateRequest(body)
		if err != nil {
			return &refusal{http.StatusBadRequest, fmt.Errorf("the body is no certificate request: %w", err)}
		}
		certificate, err := sign(request.PublicKey, node)
		if err != nil {
			return err
		}
		_, err = w.Write(append(certificate, s.Authority...))
		return err
	}
}

func (s *Server) client(public any, node string) ([]byte, error) {
	return s.Signer.SignClient(public, "system:node:"+node, "system:nodes")
}

func (s *Server) serving(public any, node string) ([]byte, error) {
	return s.Signer.SignServer(public, node, node, "localhost", "127.0.0.1")
}

// verify stores a hash of a node's first password, and refuses any other password of the node.
func (s *Server) verify(ctx context.Context, node, password string) error {
	name := node + ".node-password.k3s"
	hash := fmt.Appendf(nil, "%x", sha256.Sum256([]byte(password)))
	_, err := s.Secrets.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Immutable: new(true), Data: map[string][]byte{"hash": hash},
	}, metav1.CreateOptions{})
	if err == nil || !apierrors.IsAlreadyExists(err) {
		return err
	}
	kept, err := s.Secrets.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if subtle.ConstantTimeCompare(kept.Data["hash"], hash) != 1 {
		return &refusal{http.StatusForbidden, fmt.Errorf("node password of %s does not match the one of its first registration", node)}
	}
	return nil
}
