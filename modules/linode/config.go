package linode

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"time"
)

const (
	defaultBaseURL    = "https://api.linode.com"
	defaultAPIVersion = "v4beta"
	defaultTimeout    = 30 * time.Second
	defaultUserAgent  = "karpenter-linode (https://github.com/karpenter-linode/karpenter-linode)"
)

// Config configures a Client. Only Token is required. Printing a Config in any form shows no token.
type Config struct {
	Token TokenSource
	// BaseURL is the address of the API; "" is https://api.linode.com. Its path may end with a version (/v4, /v4beta),
	// which New uses if APIVersion is "".
	BaseURL string
	// AllowHTTP permits addresses of other hosts without TLS, to which the token is sent unencrypted. Loopback addresses
	// need no permission.
	AllowHTTP bool
	// APIVersion is v4 or v4beta; "" is v4beta. v4 has no tiers of clusters and lacks the fields that only LKE
	// Enterprise has.
	APIVersion string
	// Timeout bounds one HTTP attempt with the body of its answer. The context bounds the waits between attempts and
	// for the rate limit. 0 is 30 s.
	Timeout time.Duration
	// CAFile names a PEM file with the certificates to trust instead of the system's. Not together with Transport.
	CAFile string
	// UserAgent is sent with every request; "" is this project's.
	UserAgent string
	// Transport sends the requests; nil is one like http.DefaultTransport. Tests pass a handler in memory. A round
	// tripper that traces can get the route template from OperationFromContext.
	Transport http.RoundTripper
	// Observer is called for every call when it has ended, from the goroutine of the call; it must not block.
	Observer func(Call)
}

// Call describes a call that ended, for metrics. It never contains the token, a body or an ID.
type Call struct {
	Operation   string        // operationId of the description
	Method      string        // HTTP method
	Route       string        // path template without the version: a value with few variants
	RateClass   string        // the rate limit that counts it
	Status      int           // last HTTP status; 0 without an answer
	Kind        Kind          // "" for success
	Duration    time.Duration // of the whole call, waits included
	LimiterWait time.Duration // part of Duration spent waiting for the rate limit
	Retries     int           // attempts after the first
}

// New returns a client. It sends nothing: if the API refuses the token or the address does not answer, the first call
// fails.
func New(cfg Config) (*Client, error) {
	if cfg.Token == nil {
		return nil, errors.New("linode: Config.Token is required")
	}
	server, err := serverURL(cfg)
	if err != nil {
		return nil, err
	}
	if cfg.Timeout < 0 {
		return nil, fmt.Errorf("linode: Config.Timeout is negative: %v", cfg.Timeout)
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultTimeout
	}
	if cfg.UserAgent == "" {
		cfg.UserAgent = defaultUserAgent
	}
	transport := cfg.Transport
	if transport == nil {
		transport, err = NewTransport(cfg.CAFile)
	} else if cfg.CAFile != "" {
		err = errors.New("linode: set either Config.CAFile or Config.Transport, not both")
	}
	if err != nil {
		return nil, err
	}
	return &Client{
		server:    server,
		token:     cfg.Token,
		timeout:   cfg.Timeout,
		userAgent: cfg.UserAgent,
		transport: transport,
		observer:  cfg.Observer,
		limiters:  newLimiters(),
	}, nil
}

// serverURL joins base and version: https://api.linode.com/v4beta.
func serverURL(cfg Config) (string, error) {
	base, version := cmp.Or(cfg.BaseURL, defaultBaseURL), cfg.APIVersion
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return "", fmt.Errorf("linode: Config.BaseURL must look like %s, found %q", defaultBaseURL, redactUserinfo(base))
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("linode: Config.BaseURL must have no user, query or fragment: %q", redactUserinfo(base))
	}
	if u.Scheme == "http" && !cfg.AllowHTTP && !loopback(u.Hostname()) {
		return "", fmt.Errorf("linode: Config.BaseURL %q would send the token in clear; use https, or permit it with Config.AllowHTTP "+
			"(LINODE_ALLOW_HTTP=true)", redactUserinfo(base))
	}
	u.Path = strings.TrimRight(u.Path, "/")
	if last := path.Base(u.Path); last == "v4" || last == "v4beta" {
		u.Path = strings.TrimSuffix(u.Path, "/"+last)
		if version == "" {
			version = last
		}
	}
	switch version {
	case "":
		version = defaultAPIVersion
	case "v4", "v4beta":
	default:
		return "", fmt.Errorf("linode: Config.APIVersion must be v4 or v4beta, found %q", version)
	}
	return u.String() + "/" + version + "/", nil
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	address := net.ParseIP(host)
	return host == "localhost" || address != nil && address.IsLoopback()
}

// redactUserinfo removes the parts that may be secret: the text before an @, and a query.
func redactUserinfo(address string) string {
	if i := strings.LastIndex(address, "@"); i >= 0 {
		address = "..." + address[i:]
	}
	if i := strings.IndexAny(address, "?#"); i >= 0 {
		address = address[:i] + "?..."
	}
	return address
}

// NewTransport returns the transport of a client without Config.Transport, for a program that wraps it. caFile is as Config.CAFile.
func NewTransport(caFile string) (http.RoundTripper, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	// Engines write claims concurrently to one host. With the default of 2 idle connections, net/http would keep closing
	// and opening them.
	transport.MaxIdleConnsPerHost = 32
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if caFile == "" {
		return transport, nil
	}
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return nil, fmt.Errorf("linode: Config.CAFile: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("linode: Config.CAFile: no certificate in PEM form in %s", caFile)
	}
	transport.TLSClientConfig.RootCAs = pool
	return transport, nil
}

// String describes the configuration without the token.
func (c Config) String() string {
	return fmt.Sprintf("linode.Config{BaseURL: %q, APIVersion: %q, Timeout: %v, CAFile: %q, UserAgent: %q, Token: (redacted)}",
		redactUserinfo(c.BaseURL), c.APIVersion, c.Timeout, c.CAFile, c.UserAgent)
}

// GoString is String, so %#v does not print the token, either.
func (c Config) GoString() string { return c.String() }

// Format is String for every verb.
func (c Config) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(c.String())) }

// operationKey is the key of the operation in a request's context.
type operationKey struct{}

// OperationFromContext returns the operationId and the route template of the call that a request belongs to, for round
// trippers that name spans or metrics. ok is false for a request that this package did not make.
func OperationFromContext(ctx context.Context) (operation, route string, ok bool) {
	op, ok := ctx.Value(operationKey{}).(operationInfo)
	return op.id, op.route, ok
}
