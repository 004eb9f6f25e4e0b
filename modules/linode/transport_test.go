package linode_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

const secret = "sec0ret1token2that3must4not5show"

// server is an API in memory: it answers the nth request, counted from 1, and remembers them.
type server struct {
	answer func(n int, r *http.Request) (*http.Response, error)

	mu       sync.Mutex
	requests []seen
}

type seen struct {
	at            time.Time
	method, path  string
	query, filter string
	auth, body    string
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	s.mu.Lock()
	s.requests = append(s.requests, seen{
		at: time.Now(), method: r.Method, path: r.URL.Path, query: r.URL.RawQuery,
		filter: r.Header.Get("X-Filter"), auth: r.Header.Get("Authorization"), body: string(body),
	})
	n := len(s.requests)
	s.mu.Unlock()
	return s.answer(n, r)
}

func (s *server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

// reply makes an answer; headers are pairs of name and value.
func reply(status int, body string, headers ...string) (*http.Response, error) {
	h := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i+1 < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}, nil
}

func always(status int, body string, headers ...string) func(int, *http.Request) (*http.Response, error) {
	return func(int, *http.Request) (*http.Response, error) { return reply(status, body, headers...) }
}

func refusal(reason string) string { return `{"errors":[{"reason":"` + reason + `"}]}` }

const (
	htmlPage  = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
	poolBody  = `{"id":7,"type":"g6-standard-2","label":"","count":1,"autoscaler":{"enabled":false,"min":1,"max":1},"nodes":[],"disks":[],"labels":{},"taints":[],"tags":[],"disk_encryption":"enabled","locks":[]}`
	emptyPage = `{"page":1,"pages":1,"results":0,"data":[]}`
)

func newClient(t *testing.T, s *server, change ...func(*linode.Config)) *linode.Client {
	t.Helper()
	cfg := linode.Config{Token: linode.StaticToken(secret), BaseURL: "https://api.test", Transport: s}
	for _, f := range change {
		f(&cfg)
	}
	client, err := linode.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// Calls that stand for the four methods.
var methods = map[string]func(context.Context, *linode.Client) error{
	http.MethodGet: func(ctx context.Context, c *linode.Client) error {
		_, err := c.GetPool(ctx, 1, 7)
		return err
	},
	http.MethodPut: func(ctx context.Context, c *linode.Client) error {
		_, err := c.UpdatePool(ctx, 1, 7, api.LKENodePoolUpdate{Count: new(3)})
		return err
	},
	http.MethodDelete: func(ctx context.Context, c *linode.Client) error { return c.DeletePool(ctx, 1, 7) },
	http.MethodPost: func(ctx context.Context, c *linode.Client) error {
		_, err := c.CreatePool(ctx, 1, api.LKENodePoolCreate{Type: "g6-standard-2", Count: 1})
		return err
	},
}

var errReset = errors.New("connection reset by peer")

// inBubble runs f in virtual time.
func inBubble(t *testing.T, f func(*testing.T)) { t.Helper(); synctest.Test(t, f) }
