package linode_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

const longToken = "0f1e2d3c4b5a69788796a5b4c3d2e1f00112233445566778899aabbccddeeff0"

// leaks reports a part of the token, 8 characters in a row, that a text has.
func leaks(text string) string {
	for i := 0; i+8 <= len(longToken); i++ {
		if part := longToken[i : i+8]; strings.Contains(text, part) {
			return part
		}
	}
	return ""
}

// TestTokenIsNotInErrors echoes the token at every offset in every place of an answer: a body that is cut before the
// token is removed keeps a part of it.
func TestTokenIsNotInErrors(t *testing.T) {
	object := func(field, value string) string { return fmt.Sprintf(`{"id":7,%q:%q}`, field, value) }
	places := map[string]func(pad string) (int, string, []string){
		"a proxy's page": func(pad string) (int, string, []string) { return 403, "<html>" + pad + longToken, nil },
		"reason":         func(pad string) (int, string, []string) { return 403, refusal(pad + longToken), nil },
		"field": func(pad string) (int, string, []string) {
			return 403, `{"errors":[{"reason":"x","field":"` + pad + longToken + `"}]}`, nil
		},
		"escaped reason":       func(pad string) (int, string, []string) { return 403, refusal(pad + `\u0030` + longToken[1:]), nil },
		"content type":         func(pad string) (int, string, []string) { return 403, "x", []string{"Content-Type", pad + longToken} },
		"success without JSON": func(pad string) (int, string, []string) { return 200, pad + longToken, nil },
		"a number":             func(pad string) (int, string, []string) { return 200, object("count", pad+longToken), nil },
		"a time": func(pad string) (int, string, []string) {
			return 200, `{"data":[` + object("created", pad+longToken) + `],"page":1,"pages":1,"results":1}`, nil
		},
	}
	for name, place := range places {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				for offset := range 200 {
					status, body, headers := place(strings.Repeat("-", offset))
					client := newClient(t, &server{answer: always(status, body, headers...)},
						func(c *linode.Config) { c.Token = linode.StaticToken(longToken) })
					_, err := client.GetPool(t.Context(), 1, 7)
					if name == "a time" {
						_, err = linode.Collect(client.ListVPCs(t.Context(), linode.Filter{}))
					}
					if err == nil {
						t.Fatalf("offset %d: no error", offset)
					}
					if part := leaks(fmt.Sprintf("%v %+v", err, err)); part != "" {
						t.Fatalf("offset %d: %q is in %v", offset, part, err)
					}
				}
			})
		})
	}
}

// TestCompressedAnswersAreNotUnpacked: an answer of 2 KB must not become one of 2 GB.
func TestCompressedAnswersAreNotUnpacked(t *testing.T) {
	var bomb bytes.Buffer
	packer, _ := gzip.NewWriterLevel(&bomb, gzip.BestCompression)
	_, _ = packer.Write(bytes.Repeat([]byte(" "), 64<<20))
	_ = packer.Close()
	var asked atomic.Value
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.Header.Get("Accept-Encoding"))
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(bomb.Bytes())
	}))
	defer service.Close()
	client, err := linode.New(linode.Config{Token: linode.StaticToken(secret), BaseURL: service.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CreatePool(t.Context(), 1, api.LKENodePoolCreate{}); linode.KindOf(err) != linode.KindAmbiguous {
		t.Errorf("got %v", err)
	}
	if asked.Load() != "identity" {
		t.Errorf("asked for encoding %q", asked.Load())
	}
}

func TestAnswersAreBounded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		many := func(n int) string { return strings.TrimSuffix(strings.Repeat("{},", n), ",") }
		for name, body := range map[string]string{
			"a body of more than 4 MiB": `{"id":7,"label":"` + strings.Repeat("x", 4<<20) + `"}`,
			"a page of 501 entries":     `{"page":1,"pages":1,"results":501,"data":[` + many(501) + `]}`,
			"a page of empty entries":   `{"page":1,"pages":1,"results":1,"data":[` + many(1<<20) + `]}`,
		} {
			client := newClient(t, &server{answer: always(200, body)})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := linode.Collect(client.ListInstances(t.Context(), linode.Filter{}))
			runtime.ReadMemStats(&after)
			if linode.KindOf(err) != linode.KindMalformed {
				t.Errorf("%s: %v", name, err)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 400<<20 {
				t.Errorf("%s: %d MB were allocated", name, used>>20)
			}
		}
		endless := &server{answer: func(n int, _ *http.Request) (*http.Response, error) {
			return reply(200, fmt.Sprintf(`{"page":%d,"pages":%d,"results":9,"data":[{"id":%d}]}`, n, n+1, n))
		}}
		if _, err := linode.Collect(newClient(t, endless).ListVPCs(t.Context(), linode.Filter{})); linode.KindOf(err) != linode.KindMalformed ||
			endless.count() != 100 {
			t.Errorf("an endless collection: %v after %d pages", err, endless.count())
		}
	})
}

// TestTextsOfAnswersAreBoundedAndPrintable: they reach conditions of Kubernetes objects.
func TestTextsOfAnswersAreBoundedAndPrintable(t *testing.T) {
	long := strings.Repeat(`x\u0000\u001b[31m\n\u202e `, 100_000)
	for name, s := range map[string]*server{
		"long reason": {answer: always(400, refusal(long))},
		"many reasons": {answer: always(400,
			`{"errors":[`+strings.TrimSuffix(strings.Repeat(`{"reason":"abc","field":"`+strings.Repeat("f", 500)+`"},`, 5000), ",")+`]}`)},
		"long content type": {answer: always(400, "x", "Content-Type", strings.Repeat("t\x1b", 5000))},
		"long page":         {answer: always(400, strings.Repeat("\x00page", 100_000))},
	} {
		_, err := newClient(t, s).CreatePool(t.Context(), 1, api.LKENodePoolCreate{})
		e, ok := err.(*linode.Error) //nolint:errorlint // it is returned as it is
		if !ok || len(e.Reasons) > 10 || len(e.Error()) > 10*(300+100+10)+500 {
			t.Errorf("%s: %d reasons, %d bytes", name, len(e.Reasons), len(e.Error()))
		}
		for _, r := range e.Error() {
			if !unicode.IsPrint(r) {
				t.Errorf("%s: %q is in the error", name, r)
				break
			}
		}
	}
}

func TestPlainHTTPNeedsPermission(t *testing.T) {
	for _, c := range []struct {
		url   string
		allow bool
		fine  bool
	}{
		{"https://api.example", false, true}, {"http://api.example", false, false}, {"http://api.example", true, true},
		{"http://127.0.0.1:8470", false, true}, {"http://[::1]:8470", false, true}, {"http://localhost:8470", false, true},
		{"http://127.0.0.1.example", false, false}, {"http://10.0.0.1", false, false}, {"http://localhost.example", false, false},
		{"HTTP://API.EXAMPLE", false, false},
	} {
		_, err := linode.New(linode.Config{Token: linode.StaticToken(secret), BaseURL: c.url, AllowHTTP: c.allow})
		if (err == nil) != c.fine {
			t.Errorf("%s, permitted %v: %v", c.url, c.allow, err)
		}
		if !c.fine && !strings.Contains(err.Error(), "LINODE_ALLOW_HTTP") {
			t.Errorf("%s: %v does not say what would be right", c.url, err)
		}
	}
}

func TestSecretsInAnAddressAreNotPrinted(t *testing.T) {
	for _, address := range []string{
		"https://user:hunter2@api.example", "ftp://hunter2@api.example", "https://api.example?token=hunter2", "https://api.example#hunter2",
		"http://u:hunter2@api.example",
		"https://hunter2%zz@api.example", "//hunter2@api.example",
	} {
		cfg := linode.Config{Token: linode.StaticToken(secret), BaseURL: address}
		_, err := linode.New(cfg)
		if text := fmt.Sprint(err, cfg); err == nil || strings.Contains(text, "hunter2") {
			t.Errorf("%s", text)
		}
	}
}

// TestFullLimitAfterOneCalmWindow: after a burst of 429s the class is silent, goes on at a part of its limit for one
// window, and has all of it again when that window had no 429.
func TestFullLimitAfterOneCalmWindow(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		storm := true
		service := &server{answer: func(int, *http.Request) (*http.Response, error) {
			if storm {
				return reply(429, refusal("Too many requests"), "Retry-After", "1")
			}
			return reply(200, emptyPage)
		}}
		client := newClient(t, service)
		for range 3 { // each call halves the limit some more
			_ = listOne(t.Context(), client)
		}
		storm = false
		if err := listOne(t.Context(), client); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute) // the first window without a 429, and the minute after it
		start := time.Now()
		flood(t, 200, func() error { return listOne(t.Context(), client) })
		if took := time.Since(start); took != 0 {
			t.Errorf("200 lists took %v, the limit is not whole again", took)
		}
	})
}

// FuzzAnswer gives any answer to a read, a list and a write: an error or a value, never a panic, never a text that is
// long or holds the token.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []struct {
		status int
		kind   string
		body   string
	}{
		{200, "application/json", poolBody}, {200, "application/json", emptyPage}, {200, "text/html", htmlPage}, {204, "", ""},
		{400, "application/json", refusal("Linode busy.")}, {404, "application/json", refusal("Not found")}, {429, "application/json", `{}`},
		{200, "application/json", `{"data":[{"id":1,"created":"2026-03-01T09:30:00"}],"page":1,"pages":1,"results":1}`},
		{200, "application/json", `{"data":[null,{"id":-1}],"page":1,"pages":2,"results":1}`}, {502, "text/html\x00", secret},
		{200, "application/json", `{"nodes":[{"id":"` + secret + `","instance_id":"` + secret + `"}]}`},
	} {
		f.Add(seed.status, seed.kind, seed.body)
	}
	f.Fuzz(func(t *testing.T, status int, kind, body string) {
		inBubble(t, func(t *testing.T) {
			client := newClient(t, &server{answer: always(100+abs(status)%500, body, "Content-Type", kind)})
			_, read := client.GetPool(t.Context(), 1, 7)
			_, list := linode.Collect(client.ListInstances(t.Context(), linode.Filter{}))
			_, write := client.CreatePool(t.Context(), 1, api.LKENodePoolCreate{})
			for _, err := range []error{read, list, write} {
				if err == nil {
					continue
				}
				if text := err.Error(); len(text) > 5000 || strings.Contains(text, secret) {
					t.Fatalf("%d bytes: %.300s", len(text), text)
				}
				if encoded, wrong := json.Marshal(err.Error()); wrong != nil || linode.KindOf(err) == "" {
					t.Fatalf("%s: %v", encoded, wrong)
				}
			}
		})
	})
}

func abs(n int) int {
	if n < 0 {
		return -(n + 1)
	}
	return n
}
