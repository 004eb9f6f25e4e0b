package linode_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
)

type want struct {
	attempts int
	kind     linode.Kind
	// virtual time of the whole call
	least, most time.Duration
}

// breaksOff is a body that ends in an error.
type breaksOff struct{ io.Reader }

func (b breaksOff) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
func (breaksOff) Close() error { return nil }

// TestRetryTable goes through method x condition for an API that answers the same each time.
func TestRetryTable(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	var (
		get, put, del, post = http.MethodGet, http.MethodPut, http.MethodDelete, http.MethodPost
		repeatable          = []string{get, del}
		all                 = []string{get, put, del, post}
	)
	once := func(kind linode.Kind) want { return want{1, kind, 0, 0} }
	rows := []struct {
		name    string
		methods []string
		answer  func(int, *http.Request) (*http.Response, error)
		want    want
	}{
		{"429 without headers", all, always(429, refusal("Too many requests")), want{5, linode.KindRateLimited, 30 * s, 36 * s}},
		{"429 with Retry-After", all, always(429, refusal("Too many requests"), "Retry-After", "5"),
			want{5, linode.KindRateLimited, 20 * s, 29 * s}},
		{"429 with X-RateLimit-Reset", all, func(int, *http.Request) (*http.Response, error) {
			return reply(429, refusal("Too many requests"), "X-RateLimit-Reset", unix(time.Now().Add(7*s)))
		}, want{5, linode.KindRateLimited, 24 * s, 40 * s}},
		{"429 with a body of a proxy", all, always(429, htmlPage), want{5, linode.KindRateLimited, 30 * s, 36 * s}},
		{"429 that asks for an hour", all, always(429, refusal("Too many requests"), "Retry-After", "3600"), once(linode.KindRateLimited)},
		{"400 Linode busy.", all, always(400, refusal("Linode busy.")), want{5, linode.KindBusy, 12 * s, 15 * s}},
		{"no connection", all, func(int, *http.Request) (*http.Response, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
		}, want{5, linode.KindUnavailable, 7500 * ms, 9 * s}},
		{"unknown certificate", all, func(int, *http.Request) (*http.Response, error) {
			return nil, &tls.CertificateVerificationError{Err: errors.New("unknown authority")}
		}, once(linode.KindUnavailable)},
		{"no connection in time", all, func(_ int, r *http.Request) (*http.Response, error) {
			httptrace.ContextClientTrace(r.Context()).GetConn("api.test:443")
			return nil, errReset
		}, want{5, linode.KindUnavailable, 7500 * ms, 9 * s}},
		{"connection lost after it was there", []string{post}, func(_ int, r *http.Request) (*http.Response, error) {
			httptrace.ContextClientTrace(r.Context()).GetConn("api.test:443")
			httptrace.ContextClientTrace(r.Context()).GotConn(httptrace.GotConnInfo{})
			return nil, errReset
		}, once(linode.KindAmbiguous)},
		{"connection lost", repeatable, func(int, *http.Request) (*http.Response, error) { return nil, errReset },
			want{5, linode.KindUnavailable, 7500 * ms, 9 * s}},
		{"connection lost", []string{post}, func(int, *http.Request) (*http.Response, error) { return nil, errReset },
			once(linode.KindAmbiguous)},
		{"answer breaks off", repeatable, brokenBody, want{5, linode.KindUnavailable, 7500 * ms, 9 * s}},
		{"answer breaks off", []string{post}, brokenBody, once(linode.KindAmbiguous)},
		{"no answer in time", repeatable, hang, want{5, linode.KindUnavailable, 157*s + 500*ms, 159 * s}},
		{"no answer in time", []string{post}, hang, want{1, linode.KindAmbiguous, 30 * s, 30 * s}},
		{"408", repeatable, always(408, ""), want{5, linode.KindUnavailable, 7500 * ms, 9 * s}},
		{"408", []string{post}, always(408, ""), once(linode.KindAmbiguous)},
		{"500", repeatable, always(500, refusal("Internal")), want{5, linode.KindUnavailable, 7500 * ms, 9 * s}},
		{"500", []string{post}, always(500, refusal("Internal")), once(linode.KindAmbiguous)},
		{"503", repeatable, always(503, refusal("not yet available")), want{5, linode.KindUnavailable, 7500 * ms, 9 * s}},
		{"503", []string{post}, always(503, refusal("not yet available")), once(linode.KindAmbiguous)},
		{"503 with Retry-After", repeatable, always(503, refusal("later"), "Retry-After", "10"), want{5, linode.KindUnavailable, 40 * s, 48 * s}},
		{"503 in maintenance", all, always(503, refusal("maintenance"), "X-Maintenance-Mode", "all, all"), once(linode.KindUnavailable)},
		{"502 of a proxy", repeatable, always(502, htmlPage, "Content-Type", "text/html"), want{5, linode.KindUnavailable, 7500 * ms, 9 * s}},
		{"502 of a proxy", []string{post}, always(502, htmlPage, "Content-Type", "text/html"), once(linode.KindAmbiguous)},
		{"400 of a proxy", repeatable, always(400, htmlPage, "Content-Type", "text/html"), want{5, linode.KindUnavailable, 7500 * ms, 9 * s}},
		{"400 of a proxy", []string{post}, always(400, htmlPage, "Content-Type", "text/html"), once(linode.KindAmbiguous)},
		{"404 of a proxy is no proof", repeatable, always(404, "404 page not found", "Content-Type", "text/plain"),
			want{5, linode.KindUnavailable, 7500 * ms, 9 * s}},
		{"200 with HTML", repeatable, always(200, htmlPage), want{5, linode.KindMalformed, 7500 * ms, 9 * s}},
		{"200 with HTML", []string{post}, always(200, htmlPage), once(linode.KindAmbiguous)},
		{"connection lost", []string{put}, func(int, *http.Request) (*http.Response, error) { return nil, errReset },
			once(linode.KindUnavailable)},
		{"answer breaks off", []string{put}, brokenBody, once(linode.KindUnavailable)},
		{"no answer in time", []string{put}, hang, want{1, linode.KindUnavailable, 30 * s, 30 * s}},
		{"408", []string{put}, always(408, ""), once(linode.KindUnavailable)},
		{"500", []string{put}, always(500, refusal("Internal")), once(linode.KindUnavailable)},
		{"503", []string{put}, always(503, refusal("not yet available")), once(linode.KindUnavailable)},
		{"502 of a proxy", []string{put}, always(502, htmlPage, "Content-Type", "text/html"), once(linode.KindUnavailable)},
		{"200 with HTML", []string{put}, always(200, htmlPage), once(linode.KindMalformed)},
		{"200 of another shape", []string{get, put}, always(200, `{"id":"seven"}`), once(linode.KindMalformed)},
		{"200 of another shape", []string{post}, always(200, `{"id":"seven"}`), once(linode.KindAmbiguous)},
		{"302", repeatable, always(302, "", "Location", "http://elsewhere.test/"), want{5, linode.KindUnavailable, 7500 * ms, 9 * s}},
		{"400", all, always(400, `{"errors":[{"reason":"bad","field":"tags[0]"}]}`), once(linode.KindInvalid)},
		{"401", all, always(401, refusal("Invalid Token")), once(linode.KindUnauthorized)},
		{"403", all, always(403, refusal("Unauthorized")), once(linode.KindForbidden)},
		{"404", all, always(404, refusal("Not found")), once(linode.KindNotFound)},
		{"200", all, always(200, poolBody), once("")},
		{"202 with warnings", []string{del}, always(202, `{"warnings":[{"title":"a","details":"b"}]}`), once("")},
		{"204", []string{del}, always(204, ""), once("")},
		{"204 without the object", []string{get, put}, always(204, ""), once(linode.KindMalformed)},
		{"204 without the object", []string{post}, always(204, ""), once(linode.KindAmbiguous)},
	}
	for _, row := range rows {
		for _, method := range row.methods {
			t.Run(row.name+"/"+method, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					api := &server{answer: row.answer}
					start := time.Now()
					err := methods[method](t.Context(), newClient(t, api))
					took := time.Since(start)
					if kind := linode.KindOf(err); kind != row.want.kind {
						t.Errorf("kind %q, want %q: %v", kind, row.want.kind, err)
					}
					if api.count() != row.want.attempts {
						t.Errorf("%d attempts, want %d", api.count(), row.want.attempts)
					}
					// Waits have a random part, which varies in between.
					if took < row.want.least || took > row.want.most {
						t.Errorf("took %v, want %v to %v", took, row.want.least, row.want.most)
					}
				})
			})
		}
	}
}

func brokenBody(int, *http.Request) (*http.Response, error) {
	response, err := reply(200, "")
	response.Body = breaksOff{strings.NewReader(poolBody[:40])}
	return response, err
}

func hang(_ int, r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// sequence answers with the first of its functions first, and with the last from then on.
func sequence(answers ...func(int, *http.Request) (*http.Response, error)) func(int, *http.Request) (*http.Response, error) {
	return func(n int, r *http.Request) (*http.Response, error) {
		return answers[min(n, len(answers))-1](n, r)
	}
}

func lost(int, *http.Request) (*http.Response, error) { return nil, errReset }

func TestRepeatedRequests(t *testing.T) {
	rows := []struct {
		name, method string
		answer       func(int, *http.Request) (*http.Response, error)
		attempts     int
		kind         linode.Kind
	}{
		{"GET recovers", http.MethodGet, sequence(lost, always(500, refusal("x")), always(200, poolBody)), 3, ""},
		{"POST recovers from 429", http.MethodPost, sequence(always(429, refusal("x")), always(200, poolBody)), 2, ""},
		{"POST is ambiguous after a 429 and a loss", http.MethodPost, sequence(always(429, refusal("x")), lost), 2, linode.KindAmbiguous},
		{"DELETE is done when gone after a loss", http.MethodDelete, sequence(lost, always(404, refusal("Not found"))), 2, ""},
		{"DELETE is done when gone after a 502", http.MethodDelete, sequence(always(502, htmlPage), always(404, refusal("Not found"))), 2, ""},
		{"DELETE is not found after a 429", http.MethodDelete, sequence(always(429, refusal("x")), always(404, refusal("Not found"))), 2,
			linode.KindNotFound},
		{"DELETE is not found at once", http.MethodDelete, always(404, refusal("Not found")), 1, linode.KindNotFound},
		{"DELETE does not take a proxy's 404 for the end", http.MethodDelete, sequence(lost, always(404, htmlPage)), 5, linode.KindUnavailable},
		{"GET is not found after a loss", http.MethodGet, sequence(lost, always(404, refusal("Not found"))), 2, linode.KindNotFound},
		{"PUT sends its body again after a 429", http.MethodPut, sequence(always(429, refusal("x")), always(200, poolBody)), 2, ""},
		{"PUT is not repeated after a loss", http.MethodPut, sequence(lost, always(200, poolBody)), 1, linode.KindUnavailable},
		{"PUT is not repeated after a 504", http.MethodPut, sequence(always(504, htmlPage), always(200, poolBody)), 1, linode.KindUnavailable},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := &server{answer: row.answer}
				err := methods[row.method](t.Context(), newClient(t, api))
				if kind := linode.KindOf(err); kind != row.kind || api.count() != row.attempts {
					t.Fatalf("kind %q after %d attempts, want %q after %d: %v", kind, api.count(), row.kind, row.attempts, err)
				}
				for _, r := range api.requests {
					if r.body != api.requests[0].body {
						t.Errorf("bodies differ: %q and %q", api.requests[0].body, r.body)
					}
				}
			})
		})
	}
}

// The last attempt may prove that it had no effect itself, and an earlier one may have had its effect.
func TestADeleteRemembersThatAnEarlierAttemptMayHaveHadItsEffect(t *testing.T) {
	throttled := always(429, refusal("x"), "Retry-After", "600")
	for name, row := range map[string]struct {
		method string
		answer func(int, *http.Request) (*http.Response, error)
		kind   linode.Kind
		want   bool
	}{
		"throttled after a loss": {http.MethodDelete, sequence(lost, throttled), linode.KindRateLimited, true},
		"refused after a 502":    {http.MethodDelete, sequence(always(502, htmlPage), always(400, refusal("x"))), linode.KindInvalid, true},
		"throttled at once":      {http.MethodDelete, throttled, linode.KindRateLimited, false},
		"throttled twice":        {http.MethodDelete, sequence(always(429, refusal("x")), throttled), linode.KindRateLimited, false},
		"a GET":                  {http.MethodGet, sequence(lost, throttled), linode.KindRateLimited, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := methods[row.method](t.Context(), newClient(t, &server{answer: row.answer}))
				e, ok := errors.AsType[*linode.Error](err)
				if !ok || e.Kind != row.kind || e.MayHaveEffect != row.want {
					t.Errorf("%#v, want kind %q and %v", err, row.kind, row.want)
				}
			})
		})
	}
}

func TestContextWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &server{answer: always(503, refusal("down"))}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		start := time.Now()
		err := methods[http.MethodGet](ctx, newClient(t, api))
		if linode.KindOf(err) != linode.KindUnavailable || time.Since(start) != 0 {
			t.Errorf("a wait that outlasts the deadline: %v after %v, want the API's error at once", err, time.Since(start))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		api := &server{answer: always(429, refusal("x"), "Retry-After", "60")}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		err := methods[http.MethodPost](ctx, newClient(t, api))
		if linode.KindOf(err) != linode.KindCanceled || !errors.Is(err, context.Canceled) || time.Since(start) != time.Second {
			t.Errorf("canceled between attempts: %v after %v", err, time.Since(start))
		}
	})
	for method, kind := range map[string]linode.Kind{http.MethodPost: linode.KindAmbiguous, http.MethodPut: linode.KindCanceled} {
		synctest.Test(t, func(t *testing.T) {
			api := &server{answer: hang}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			err := methods[method](ctx, newClient(t, api))
			if linode.KindOf(err) != kind || !errors.Is(err, context.DeadlineExceeded) || api.count() != 1 {
				t.Errorf("%s under way: %v, want %s after one attempt, not %d", method, err, kind, api.count())
			}
		})
	}
}

func TestRotatedToken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	write := func(token string) {
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("first\n")
	accepted := "first"
	api := &server{answer: func(_ int, r *http.Request) (*http.Response, error) {
		if r.Header.Get("Authorization") != "Bearer "+accepted {
			write("third") // the Secret arrives while the old token is refused
			accepted = "third"
			return reply(401, refusal("Invalid Token"))
		}
		return reply(200, poolBody)
	}}
	client := newClient(t, api, func(c *linode.Config) { c.Token = linode.FileToken(file) })
	if err := methods[http.MethodPost](t.Context(), client); err != nil {
		t.Fatal(err)
	}
	write("second\n")
	accepted = "second"
	if err := methods[http.MethodPost](t.Context(), client); err != nil || api.count() != 2 {
		t.Fatalf("after the file changed: %v, %d attempts", err, api.count())
	}
	accepted = "none"
	if err := methods[http.MethodPost](t.Context(), client); err != nil || api.count() != 4 {
		t.Fatalf("after a 401 with a newer token: %v, %d attempts", err, api.count())
	}
	write("")
	if err := methods[http.MethodPost](t.Context(), client); err != nil {
		t.Fatalf("while the file is empty: %v", err)
	}
	missing := newClient(t, api, func(c *linode.Config) { c.Token = linode.FileToken(file + ".missing") })
	if err := methods[http.MethodGet](t.Context(), missing); linode.KindOf(err) != linode.KindUnauthorized || !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("without a file: %v", err)
	}
}

// A count that waited out a 429 may be too old by then.
func TestSendBeforeEndsACallThatWaited(t *testing.T) {
	for name, c := range map[string]struct {
		answer   func(int, *http.Request) (*http.Response, error)
		method   string
		attempts int
		kind     linode.Kind
	}{
		"in time": {always(200, poolBody), http.MethodPut, 1, ""},
		"after a 429": {sequence(always(429, refusal("x"), "Retry-After", "5"), always(200, poolBody)), http.MethodPut, 1,
			linode.KindNotSent},
		"a removal that may have run": {sequence(always(503, refusal("x"), "Retry-After", "5"), always(204, "")), http.MethodDelete, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := &server{answer: c.answer}
				err := methods[c.method](linode.SendBefore(t.Context(), time.Now().Add(2*time.Second)), newClient(t, api))
				if kind := linode.KindOf(err); kind != c.kind || api.count() != c.attempts {
					t.Errorf("kind %q after %d attempts, want %q after %d: %v", kind, api.count(), c.kind, c.attempts, err)
				}
			})
		})
	}
}
