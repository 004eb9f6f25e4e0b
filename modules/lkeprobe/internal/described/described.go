// Package described compares answers of the API with its description
// (openapi/linode.yaml): which properties they have that it lacks, and which
// they lack that it requires.
package described

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// Kinds of differences.
const (
	Undescribed = "undescribed"
	Missing     = "missing"
)

// Difference is one property in which an answer and the description differ.
type Difference struct {
	Method, Route, Path, Kind, Type string
}

// Checker compares any number of answers. It is not safe for concurrent use.
type Checker struct {
	spec  *openapi3.T
	found map[Difference]bool
}

// load reads the description once for the whole program.
var load = sync.OnceValues(func() (*openapi3.T, error) {
	text, err := linodesim.Description()
	if err != nil {
		return nil, err
	}
	return openapi3.NewLoader().LoadFromData(text)
})

// New makes a checker.
func New() (*Checker, error) {
	spec, err := load()
	if err != nil {
		return nil, err
	}
	return &Checker{spec: spec, found: map[Difference]bool{}}, nil
}

// Route finds the template of a path without version, or "" for one that the
// description does not have.
func (c *Checker) Route(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for _, template := range c.spec.Paths.InMatchingOrder() {
		if fits(strings.Split(strings.Trim(template, "/"), "/"), parts) {
			return template
		}
	}
	return ""
}

func fits(template, parts []string) bool {
	return slices.EqualFunc(template, parts, func(t, p string) bool { return t == p || strings.HasPrefix(t, "{") && p != "" })
}

// Note compares one answer.
func (c *Checker) Note(method, path string, status int, body []byte) {
	route := c.Route(path)
	if route == "" {
		return
	}
	described := c.spec.Paths.Value(route).GetOperation(method)
	if described == nil {
		return
	}
	answer := described.Responses.Value(strconv.Itoa(status))
	if answer == nil {
		answer = described.Responses.Default()
	}
	if answer == nil || answer.Value == nil {
		return
	}
	media := answer.Value.Content.Get("application/json")
	var value any
	if media == nil || media.Schema == nil || json.Unmarshal(body, &value) != nil {
		return
	}
	if status >= http.StatusBadRequest {
		method = fmt.Sprint(method, " ", status)
	}
	c.compare(Difference{Method: method, Route: route}, media.Schema.Value, value)
}

// Differences lists what was found, by route and path.
func (c *Checker) Differences() []Difference {
	return slices.SortedFunc(maps.Keys(c.found), func(a, b Difference) int {
		return cmp.Or(cmp.Compare(a.Route, b.Route), cmp.Compare(a.Method, b.Method), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Type, b.Type))
	})
}

func (c *Checker) compare(at Difference, schema *openapi3.Schema, value any) {
	switch v := value.(type) {
	case []any:
		if schema.Items != nil && schema.Items.Value != nil {
			below := at
			below.Path += "[]"
			for _, e := range v {
				c.compare(below, schema.Items.Value, e)
			}
		}
	case map[string]any:
		c.object(at, schema, v)
	}
}

func (c *Checker) object(at Difference, schema *openapi3.Schema, object map[string]any) {
	properties, required, open := merged(schema)
	for name, value := range object {
		below := at
		below.Path = strings.TrimPrefix(at.Path+"."+name, ".")
		property, known := properties[name]
		switch {
		case known:
			c.compare(below, property, value)
		case open != nil:
			below.Path = strings.TrimPrefix(at.Path+".*", ".")
			c.compare(below, open, value)
		default:
			below.Kind, below.Type = Undescribed, typeOf(value)
			c.found[below] = true
		}
	}
	for _, name := range required {
		if _, there := object[name]; !there {
			below := at
			below.Path, below.Kind = strings.TrimPrefix(at.Path+"."+name, "."), Missing
			c.found[below] = true
		}
	}
}

// merged puts a schema and the parts it is made of together. The last result is
// the schema of other properties, if those are allowed.
func merged(schema *openapi3.Schema) (properties map[string]*openapi3.Schema, required []string, open *openapi3.Schema) {
	properties = map[string]*openapi3.Schema{}
	for name, p := range schema.Properties {
		properties[name] = p.Value
	}
	required = slices.Clone(schema.Required)
	if p := schema.AdditionalProperties.Schema; p != nil {
		open = p.Value
	} else if has := schema.AdditionalProperties.Has; has != nil && *has {
		open = &openapi3.Schema{}
	}
	for _, parts := range []openapi3.SchemaRefs{schema.AllOf, schema.OneOf, schema.AnyOf} {
		for _, part := range parts {
			more, needed, other := merged(part.Value)
			maps.Copy(properties, more)
			if len(schema.AllOf) > 0 {
				required = append(required, needed...)
			}
			if open == nil {
				open = other
			}
		}
	}
	return properties, required, open
}

func typeOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case []any:
		return "array"
	}
	return "object"
}
