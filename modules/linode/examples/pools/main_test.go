package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
)

type canned map[string]string

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body := 200, c[r.URL.Path]
	if body == "" {
		status, body = 404, `{"errors":[{"reason":"Not found"}]}`
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

func TestList(t *testing.T) {
	const (
		clusters = `{"page":1,"pages":1,"results":1,"data":[{"id":1,"label":"demo"}]}`
		pools    = `{"page":1,"pages":1,"results":1,"data":[{"id":2,"count":3,"type":"g6-standard-2"}]}`
	)
	for _, c := range []struct {
		name    string
		answers canned
		want    string
		kind    linode.Kind
	}{
		{"pools", canned{"/v4beta/lke/clusters": clusters, "/v4beta/lke/clusters/1/pools": pools}, "demo: pool 2, 3 x g6-standard-2\n", ""},
		{"a cluster that goes away meanwhile", canned{"/v4beta/lke/clusters": clusters}, "", linode.KindNotFound},
		{"no answer", canned{}, "", linode.KindNotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, err := linode.New(linode.Config{Token: linode.StaticToken("x"), Transport: c.answers})
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			if err := list(t.Context(), client, []string{"demo"}, &out); linode.KindOf(err) != c.kind || out.String() != c.want {
				t.Errorf("%q, %v; want %q, kind %q", out.String(), err, c.want, c.kind)
			}
		})
	}
}
