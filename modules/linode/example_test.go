package linode_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// canned stands in for the API in the examples: it answers by method and path.
type canned map[string]string

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body := 200, c[r.Method+" "+r.URL.Path]
	if body == "" {
		status, body = 404, `{"errors":[{"reason":"Not found"}]}`
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

func exampleClient(answers canned) *linode.Client {
	client, err := linode.New(linode.Config{Token: linode.StaticToken("..."), Transport: answers})
	if err != nil {
		panic(err)
	}
	return client
}

// List the pools of a cluster.
func Example() {
	client := exampleClient(canned{
		"GET /v4beta/lke/clusters":              `{"page":1,"pages":1,"results":1,"data":[{"id":584692,"label":"demo","region":"au-mel"}]}`,
		"GET /v4beta/lke/clusters/584692/pools": `{"page":1,"pages":1,"results":1,"data":[{"id":855507,"type":"g6-standard-2","count":2}]}`,
	})
	ctx := context.Background()
	for cluster, err := range client.ListClusters(ctx, linode.Where("label").Equal("demo")) {
		if err != nil {
			fmt.Println(err)
			return
		}
		for pool, err := range client.ListPools(ctx, cluster.ID, linode.Filter{}) {
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Printf("%s: pool %d has %d x %s\n", cluster.Label, pool.ID, pool.Count, pool.Type)
		}
	}
	// Output: demo: pool 855507 has 2 x g6-standard-2
}

// A token that a Secret mounts as a file is read anew for every request, so a rotated one needs no restart.
func ExampleNew() {
	client, err := linode.New(linode.Config{
		Token:    linode.FileToken("/var/run/secrets/linode/token"),
		Observer: func(call linode.Call) { fmt.Println(call.Method, call.Route, call.Status, call.Retries) },
	})
	fmt.Println(client, err)
	// Output: linode.Client(https://api.linode.com/v4beta/) <nil>
}

// Conditions on the same field stay apart.
func ExampleAnd() {
	filter := linode.And(
		linode.Where("tags").Equal("lke584692"),
		linode.Where("tags").Equal("nodepool=855507"),
		linode.Or(linode.Where("region").Equal("au-mel"), linode.Where("region").Equal("us-lax")),
	)
	fmt.Println(filter)
	// Output: {"+and":[{"tags":"lke584692"},{"tags":"nodepool=855507"},{"+or":[{"region":"au-mel"},{"region":"us-lax"}]}]}
}

// Callers branch on the kind of an error.
func ExampleKindOf() {
	client := exampleClient(canned{})
	err := client.DeleteNode(context.Background(), 584692, "855507-3f45fb400000")
	switch linode.KindOf(err) {
	case "":
		fmt.Println("removed")
	case linode.KindNotFound:
		fmt.Println("proven to be gone:", err)
	case linode.KindAmbiguous:
		fmt.Println("look before trying again")
	default:
		fmt.Println("later:", err)
	}
	// Output: proven to be gone: linode: DELETE /lke/clusters/{clusterId}/nodes/{nodeId}: NotFound (status 404): Not found
}

// A nil field is not sent; an empty field clears the value.
func ExampleClient_UpdatePool() {
	client := exampleClient(canned{
		"PUT /v4beta/lke/clusters/584692/pools/855507": `{"id":855507,"count":3,"labels":{},"taints":[]}`,
	})
	pool, err := client.UpdatePool(context.Background(), 584692, 855507, api.LKENodePoolUpdate{
		Count:  new(3),
		Taints: &[]api.LKETaint{},
	})
	fmt.Println(pool.Count, len(pool.Taints), err)
	// Output: 3 0 <nil>
}

// Collect returns all entries or an error, never a part of them.
func ExampleCollect() {
	client := exampleClient(canned{
		"GET /v4beta/linode/instances": `{"page":1,"pages":1,"results":2,"data":[{"id":1,"lke_cluster_id":584692},{"id":2,"lke_cluster_id":null}]}`,
	})
	instances, err := linode.Collect(client.ListInstances(context.Background(), linode.Where("label").Contains("lke584692-")))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, instance := range instances {
		fmt.Println(instance.ID, instance.LKEClusterID != nil) // lke_cluster_id is no filter: compare it here
	}
	// Output:
	// 1 true
	// 2 false
}

// A POST whose effect is unknown is never repeated. Its error reports that, and the caller searches for the effect: here by a tag
// that only this attempt has.
func ExampleClient_CreatePool() {
	client := exampleClient(canned{
		"POST /v4beta/lke/clusters/584692/pools": "the connection was lost",
		"GET /v4beta/lke/clusters/584692/pools":  `{"page":1,"pages":1,"results":1,"data":[{"id":855507,"type":"g6-standard-2","count":1,"tags":["request=7f3a"]}]}`,
	})
	ctx := context.Background()
	_, err := client.CreatePool(ctx, 584692, api.LKENodePoolCreate{Type: "g6-standard-2", Count: 1, Tags: &[]api.Tag{"request=7f3a"}})
	if linode.KindOf(err) != linode.KindAmbiguous {
		fmt.Println("made, or certainly not made:", err)
		return
	}
	for pool, err := range client.ListPools(ctx, 584692, linode.Filter{}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if slices.Contains(pool.Tags, "request=7f3a") {
			fmt.Println("it was made: pool", pool.ID)
		}
	}
	// Output: it was made: pool 855507
}

// An Observer is all that metrics need: every value of a label is from a small, closed set.
func ExampleConfig_observer() {
	type series struct{ operation, status string }
	counts := map[series]int{}
	client, err := linode.New(linode.Config{
		Token:     linode.StaticToken("..."),
		Transport: canned{"GET /v4beta/profile": `{"username":"demo","email":"demo@example.com","restricted":false}`},
		Observer: func(call linode.Call) {
			counts[series{call.Operation, fmt.Sprintf("%dxx", call.Status/100)}]++
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _ = client.GetProfile(context.Background())
	_, _ = client.GetPool(context.Background(), 1, 2)
	fmt.Println(counts)
	// Output: map[{getLKENodePool 4xx}:1 {getProfile 2xx}:1]
}

// spans is an example of a tracing round tripper: each attempt is a span named after the route template. With
// OpenTelemetry it is otelhttp.NewTransport(next, otelhttp.WithSpanNameFormatter(...)), whose formatter calls
// OperationFromContext in the same way.
type spans struct{ next http.RoundTripper }

func (s spans) RoundTrip(r *http.Request) (*http.Response, error) {
	operation, route, _ := linode.OperationFromContext(r.Context())
	answer, err := s.next.RoundTrip(r)
	fmt.Printf("span %s: %s %s\n", operation, r.Method, route)
	return answer, err
}

// A transport sees every attempt with its context, and names it without an ID in the name.
func ExampleOperationFromContext() {
	client, err := linode.New(linode.Config{
		Token:     linode.StaticToken("..."),
		Transport: spans{canned{"GET /v4beta/linode/instances/94907006": `{"id":94907006}`}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	instance, err := client.GetInstance(context.Background(), 94907006)
	fmt.Println(instance.ID, err)
	// Output:
	// span getInstance: GET /linode/instances/{linodeId}
	// 94907006 <nil>
}
