package described_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/described"
)

func TestDifferencesBetweenAnswersAndDescription(t *testing.T) {
	const pool = `"autoscaler":{"enabled":false,"min":1,"max":1},"count":1,"disk_encryption":"enabled","disks":[],"id":1,"labels":{"a":"b"},"tags":[],"taints":[],"type":"g6-standard-1"`
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		want                     []string
	}{
		{name: "as described", method: "GET", path: "/lke/clusters/1/pools/2", status: 200, body: `{` + pool + `,"nodes":[]}`},
		{name: "new fields", method: "GET", path: "/lke/clusters/1/pools/2", status: 200,
			body: `{` + pool + `,"shiny":1,"nodes":[{"id":"1-a","instance_id":null,"status":"ready","zone":{"a":1}}]}`,
			want: []string{"GET /lke/clusters/{clusterId}/pools/{poolId} nodes[].zone undescribed object",
				"GET /lke/clusters/{clusterId}/pools/{poolId} shiny undescribed number"}},
		{name: "missing field", method: "GET", path: "/lke/clusters/1/pools", status: 200,
			body: `{"data":[{` + pool + `}],"page":1,"pages":1,"results":1}`,
			want: []string{"GET /lke/clusters/{clusterId}/pools data[].nodes missing "}},
		{name: "error body", method: "DELETE", path: "/lke/clusters/1/pools/2", status: 400, body: `{"errors":[{"reason":"no","code":"E1"}]}`,
			want: []string{"DELETE 400 /lke/clusters/{clusterId}/pools/{poolId} errors[].code undescribed string"}},
		{name: "unknown route", method: "GET", path: "/nothing/here", status: 200, body: `{"a":1}`},
		{name: "not JSON", method: "GET", path: "/regions", status: 200, body: `<html>`},
	} {
		t.Run(c.name, func(t *testing.T) {
			checker, err := described.New()
			if err != nil {
				t.Fatal(err)
			}
			checker.Note(c.method, c.path, c.status, []byte(c.body))
			var got []string
			for _, d := range checker.Differences() {
				got = append(got, fmt.Sprint(d.Method, " ", d.Route, " ", d.Path, " ", d.Kind, " ", d.Type))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}
