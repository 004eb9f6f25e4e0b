// Package operation checks the form of bodies and of answers. An Operation combines an entry of the client's table of operations with
// the API's description, which has the shape of bodies and of answers.
//
// The table and the description are generated from openapi/linode.yaml, so an operation that is added there needs no entry here. Values
// are read-only after Load, and safe for concurrent use.
//
// Package linodesim calls CheckBody before a handler runs, and CheckAnswer with Config.ValidateAnswers. A defect of a body is answered
// with a 400; a wrong answer is an error of the simulator.
package operation

import (
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/description"
)

// Operation is one method of one route.
type Operation struct {
	api.Operation
	RateHeaders bool // its answers carry X-RateLimit headers

	item      *openapi3.PathItem
	described *openapi3.Operation
	spec      *openapi3.T
}

// Description is the whole description, which must not be changed.
var Description = sync.OnceValues(description.GetSpec)

// Numbered reports whether a parameter of the path is a number.
func (o *Operation) Numbered(parameter string) bool {
	for _, all := range []openapi3.Parameters{o.described.Parameters, o.item.Parameters} {
		if p := all.GetByInAndName("path", parameter); p != nil {
			return p.Schema.Value.Type.Is("integer")
		}
	}
	return false
}

// Load returns all operations. It reads them once for the whole program: reading takes longer than many a simulation.
var Load = sync.OnceValues(func() ([]*Operation, error) {
	spec, err := Description()
	if err != nil {
		return nil, fmt.Errorf("reading the API's description: %w", err)
	}
	var all []*Operation
	for _, o := range api.Operations() {
		item := spec.Paths.Value(o.Route)
		if item == nil || item.GetOperation(o.Method) == nil {
			return nil, fmt.Errorf("the API's description lacks %s %s", o.Method, o.Route)
		}
		described := item.GetOperation(o.Method)
		all = append(all, &Operation{Operation: o, RateHeaders: described.Extensions["x-linode-rate-headers"] != false, item: item,
			described: described, spec: spec})
	}
	return all, nil
})

// MayFilter reports whether an X-Filter may name the field.
func (o *Operation) MayFilter(field string, beta bool) bool {
	return slices.Contains(o.Filterable, field) && (beta || !o.onlyBeta(field))
}

// onlyBeta reports whether the entries of a list have the field only below /v4beta.
func (o *Operation) onlyBeta(field string) bool {
	page := o.described.Responses.Status(http.StatusOK).Value.Content.Get("application/json").Schema.Value
	p := page.Properties["data"].Value.Items.Value.Properties[field]
	return p != nil && p.Value.Extensions["x-linode-beta"] == true
}
