// Package operation reads the API's description for what the simulator does
// with every request alike: routes, scopes, rate classes, filterable fields,
// the shape of bodies and of answers.
//
// The description is the only source, so an operation that is added to it
// needs no entry anywhere here. Read-only after Load, safe for concurrent use.
package operation

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/description"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/ratelimit"
)

// Operation is one method of one route.
type Operation struct {
	ID        string
	Method    string
	Route     string // template without version, e.g. /lke/clusters/{clusterId}
	Class     string // rate class
	Scopes    []string
	Public    bool // needs no token
	Beta      bool // only below /v4beta
	Paginated bool

	RateHeaders bool // its answers carry X-RateLimit headers

	filterable map[string]bool // field -> only on beta
	item       *openapi3.PathItem
	described  *openapi3.Operation
	api        *API
}

// API is the whole description.
type API struct {
	Operations []*Operation
	Limits     map[string]ratelimit.Limit
	spec       *openapi3.T
}

// Load gives the description that the server was generated from. It is read
// once for the whole program: that takes longer than many a simulation.
var Load = sync.OnceValues(load)

func load() (*API, error) {
	spec, err := description.GetSpec()
	if err != nil {
		return nil, fmt.Errorf("reading the API's description: %w", err)
	}
	api := &API{spec: spec}
	if api.Limits, err = limits(spec.Extensions["x-linode-rate-classes"]); err != nil {
		return nil, err
	}
	for _, route := range spec.Paths.InMatchingOrder() {
		item := spec.Paths.Value(route)
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
			if described := item.GetOperation(method); described != nil {
				api.Operations = append(api.Operations, api.build(method, route, item, described))
			}
		}
	}
	return api, nil
}

func (a *API) build(method, route string, item *openapi3.PathItem, described *openapi3.Operation) *Operation {
	op := &Operation{
		ID: described.OperationID, Method: method, Route: route,
		Class: text(described.Extensions["x-linode-rate-class"]), Beta: truth(described.Extensions["x-linode-beta"]),
		Paginated:   truth(described.Extensions["x-linode-paginated"]),
		RateHeaders: described.Extensions["x-linode-rate-headers"] != false,
		item:        item, described: described, api: a,
	}
	security := &a.spec.Security
	if described.Security != nil {
		security = described.Security
	}
	op.Public = len(*security) == 0
	for _, requirement := range *security {
		if len(requirement) == 0 {
			op.Public = true
		}
		op.Scopes = append(op.Scopes, requirement["oauth"]...)
	}
	if op.Paginated {
		op.filterable = filterable(answer(described))
	}
	return op
}

// Filterable reports whether an X-Filter may name the field.
func (o *Operation) Filterable(field string, beta bool) bool {
	betaOnly, ok := o.filterable[field]
	return ok && (beta || !betaOnly)
}

// FilterableFields lists them, sorted.
func (o *Operation) FilterableFields() []string {
	var out []string
	for f := range o.filterable {
		out = append(out, f)
	}
	slices.Sort(out)
	return out
}

// answer is the schema of a list's entries.
func answer(described *openapi3.Operation) *openapi3.Schema {
	body := described.Responses.Status(http.StatusOK).Value.Content.Get("application/json")
	return body.Schema.Value.Properties["data"].Value.Items.Value
}

func filterable(entry *openapi3.Schema) map[string]bool {
	out := map[string]bool{}
	for name, p := range entry.Properties {
		if truth(p.Value.Extensions["x-linode-filterable"]) {
			out[name] = truth(p.Value.Extensions["x-linode-beta"])
		}
		for inner, q := range p.Value.Properties {
			if truth(q.Value.Extensions["x-linode-filterable"]) {
				out[name+"."+inner] = false
			}
		}
	}
	return out
}

func limits(extension any) (map[string]ratelimit.Limit, error) {
	classes, ok := extension.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the API's description has no x-linode-rate-classes")
	}
	out := map[string]ratelimit.Limit{}
	for name, c := range classes {
		fields, _ := c.(map[string]any)
		requests, seconds := figure(fields["requests"]), figure(fields["seconds"])
		if requests <= 0 || seconds <= 0 {
			return nil, fmt.Errorf("rate class %s of the API's description has no requests or seconds", name)
		}
		out[name] = ratelimit.Limit{Requests: requests, Window: time.Duration(seconds) * time.Second}
	}
	return out, nil
}

func figure(v any) int {
	switch n := v.(type) {
	case float64:
		return int(n)
	case int:
		return n
	}
	return 0
}

func truth(v any) bool  { b, _ := v.(bool); return b }
func text(v any) string { s, _ := v.(string); return s }
