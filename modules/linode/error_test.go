package linode_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
)

func TestErrorText(t *testing.T) {
	rows := []struct {
		name   string
		answer func(int, *http.Request) (*http.Response, error)
		want   linode.Error
		text   string
	}{
		{
			"several reasons", always(400, `{"errors":[{"reason":"is too short","field":"tags[0]"},{"reason":"Something else"}]}`),
			linode.Error{Kind: linode.KindInvalid, Status: 400,
				Reasons: []linode.Reason{{Field: "tags[0]", Reason: "is too short"}, {Reason: "Something else"}}},
			"linode: GET /lke/clusters/{clusterId}/pools/{poolId}: Invalid (status 400): [tags[0]] is too short; Something else",
		},
		{
			"not found", always(404, refusal("Not found")),
			linode.Error{Kind: linode.KindNotFound, Status: 404, Reasons: []linode.Reason{{Reason: "Not found"}}},
			"linode: GET /lke/clusters/{clusterId}/pools/{poolId}: NotFound (status 404): Not found",
		},
		{
			"rate limited", always(429, refusal("Too many requests"), "Retry-After", "600"),
			linode.Error{Kind: linode.KindRateLimited, Status: 429, RetryAfter: 10 * time.Minute,
				Reasons: []linode.Reason{{Reason: "Too many requests"}}},
			"linode: GET /lke/clusters/{clusterId}/pools/{poolId}: RateLimited (status 429): Too many requests",
		},
		{
			"a proxy's page", always(502, "<html>\r\n<h1>502  Bad\x00 Gateway</h1>\n"+strings.Repeat("x", 1000), "Content-Type", "text/html"),
			linode.Error{Kind: linode.KindUnavailable, Status: 502},
			`linode: GET /lke/clusters/{clusterId}/pools/{poolId}: Unavailable (status 502): the response does not come from the Linode API: text/html, "<html> <h1>502 Bad Gateway</h1> ` + strings.Repeat("x", 128) + `..."`,
		},
		{
			"an empty answer", always(500, "", "Content-Type", ""),
			linode.Error{Kind: linode.KindUnavailable, Status: 500},
			"linode: GET /lke/clusters/{clusterId}/pools/{poolId}: Unavailable (status 500): the response does not come from the Linode API: " +
				"no type, empty",
		},
		{
			"no answer", lost, linode.Error{Kind: linode.KindUnavailable},
			"linode: GET /lke/clusters/{clusterId}/pools/{poolId}: Unavailable: connection reset by peer",
		},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				err := methods[http.MethodGet](t.Context(), newClient(t, &server{answer: row.answer}))
				var e *linode.Error
				if !errors.As(err, &e) {
					t.Fatalf("%T is no *Error", err)
				}
				if e.Kind != row.want.Kind || e.Status != row.want.Status || e.RetryAfter != row.want.RetryAfter ||
					fmt.Sprint(e.Reasons) != fmt.Sprint(row.want.Reasons) || e.Method != http.MethodGet {
					t.Errorf("got %+v", *e)
				}
				if err.Error() != row.text {
					t.Errorf("got  %s\nwant %s", err, row.text)
				}
			})
		})
	}
}

func TestKindOf(t *testing.T) {
	rows := []struct {
		name string
		err  error
		want linode.Kind
	}{
		{"nil", nil, ""},
		{"ours", &linode.Error{Kind: linode.KindBusy}, linode.KindBusy},
		{"wrapped", fmt.Errorf("claim: %w", &linode.Error{Kind: linode.KindNotFound}), linode.KindNotFound},
		{"another", io.EOF, linode.KindUnknown},
	}
	for _, row := range rows {
		if got := linode.KindOf(row.err); got != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
}

// TestNothingIsSent goes through arguments that would lead to another object than meant, or to a 404 that proves nothing.
func TestNothingIsSent(t *testing.T) {
	rows := map[string]func(context.Context, *linode.Client) error{
		"cluster 0": func(ctx context.Context, c *linode.Client) error { _, err := c.GetCluster(ctx, 0); return err },
		"pool -1":   func(ctx context.Context, c *linode.Client) error { return c.DeletePool(ctx, 1, -1) },
		"pools of no cluster": func(ctx context.Context, c *linode.Client) error {
			_, err := linode.Collect(c.ListPools(ctx, 0, linode.Filter{}))
			return err
		},
		"instance 0":            func(ctx context.Context, c *linode.Client) error { _, err := c.GetInstance(ctx, 0); return err },
		"no node":               func(ctx context.Context, c *linode.Client) error { return c.DeleteNode(ctx, 1, "") },
		"the cluster as a node": func(ctx context.Context, c *linode.Client) error { return c.DeleteNode(ctx, 1, "..") },
		"the nodes as a node":   func(ctx context.Context, c *linode.Client) error { return c.DeleteNode(ctx, 1, ".") },
		"no type":               func(ctx context.Context, c *linode.Client) error { _, err := c.GetType(ctx, ""); return err },
		"no region":             func(ctx context.Context, c *linode.Client) error { _, err := c.RegionAvailability(ctx, ""); return err },
		"no version": func(ctx context.Context, c *linode.Client) error {
			_, err := c.GetTierVersion(ctx, "standard", "")
			return err
		},
		"no tier": func(ctx context.Context, c *linode.Client) error {
			_, err := linode.Collect(c.ListTierVersions(ctx, ""))
			return err
		},
		"no firewall": func(ctx context.Context, c *linode.Client) error { _, err := c.GetFirewall(ctx, 0); return err },
	}
	for name, call := range rows {
		t.Run(name, func(t *testing.T) {
			api := &server{answer: always(404, refusal("Not found"))}
			err := call(t.Context(), newClient(t, api))
			if linode.KindOf(err) != linode.KindInvalid || api.count() != 0 {
				t.Errorf("%v, %d requests", err, api.count())
			}
		})
	}
}

func TestPathsAreEscaped(t *testing.T) {
	rows := map[string]string{
		"a/b":          "/v4beta/lke/clusters/1/nodes/a%2Fb",
		"7-0a?x=1#y":   "/v4beta/lke/clusters/1/nodes/7-0a%3Fx=1%23y",
		"../pools/7":   "/v4beta/lke/clusters/1/nodes/..%2Fpools%2F7",
		"855-3f45fb40": "/v4beta/lke/clusters/1/nodes/855-3f45fb40",
	}
	for id, want := range rows {
		var got string
		api := &server{answer: func(_ int, r *http.Request) (*http.Response, error) {
			got = r.URL.EscapedPath()
			return reply(200, `{}`)
		}}
		if err := newClient(t, api).DeleteNode(t.Context(), 1, id); err != nil || got != want {
			t.Errorf("%q: %s (%v), want %s", id, got, err, want)
		}
	}
}

func TestLongAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		api := &server{answer: func(int, *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(endless{})}, nil
		}}
		if err := methods[http.MethodGet](t.Context(), newClient(t, api)); linode.KindOf(err) != linode.KindMalformed {
			t.Error(err)
		}
	})
}

// endless is a body without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func FuzzErrorBody(f *testing.F) {
	f.Add(400, []byte(`{"errors":[{"reason":"x","field":"y"}]}`), "application/json")
	f.Add(502, []byte(htmlPage), "text/html")
	f.Add(404, []byte(`{"errors":[]}`), "")
	f.Add(429, []byte(`{"errors":null}`), "application/json")
	f.Add(200, []byte("null"), "text/plain")
	f.Fuzz(func(t *testing.T, status int, body []byte, kind string) {
		if status < 200 || status > 599 {
			return
		}
		inBubble(t, func(t *testing.T) {
			s := &server{answer: func(int, *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {kind}},
					Body: io.NopCloser(strings.NewReader(string(body)))}, nil
			}}
			err := methods[http.MethodGet](t.Context(), newClient(t, s))
			if err == nil && status >= 300 {
				t.Errorf("status %d passed for success", status)
			}
			if err != nil && !utf8.ValidString(err.Error()) && utf8.Valid(body) && utf8.ValidString(kind) {
				t.Errorf("%q is no text", err)
			}
			if linode.KindOf(err) == linode.KindNotFound && !strings.Contains(string(body), "reason") {
				t.Errorf("%q passed for the API's own 404", body)
			}
		})
	})
}
