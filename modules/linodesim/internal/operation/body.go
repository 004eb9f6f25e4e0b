package operation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// Defect is one thing that is wrong with a request's body.
type Defect struct {
	Field, Reason string
	Unknown       bool // the operation has no such field
}

// CheckBody finds errors in the body's form: not JSON, not an object,
// missing or unknown fields, wrong types, values outside an enumeration, beta
// fields on v4. Lengths, ranges and patterns are left to the model, which
// has the tier and answers in more useful words.
func (o *Operation) CheckBody(body []byte, beta bool) []Defect {
	if o.described.RequestBody == nil {
		return nil
	}
	if !o.described.RequestBody.Value.Required && len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	schema := o.described.RequestBody.Value.Content.Get("application/json").Schema.Value
	dec := json.NewDecoder(bytes.NewReader(body))
	var value any
	if err := dec.Decode(&value); err != nil {
		return []Defect{{Field: "", Reason: "JSON parse error"}}
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return []Defect{{Field: "", Reason: "JSON parse error"}}
	}
	object, ok := value.(map[string]any)
	if !ok {
		return []Defect{{Field: "", Reason: "The body must be a JSON object"}}
	}
	var out []Defect
	if !beta {
		for name := range object {
			if p := schema.Properties[name]; p != nil && p.Value.Extensions["x-linode-beta"] == true {
				out = append(out, Defect{Field: name, Reason: name + " is only available on v4beta"})
			}
		}
	}
	out = append(out, unknown(schema, object, "")...)
	return append(out, defects(schema.VisitJSON(value, openapi3.MultiErrors()))...)
}

// unknown finds fields that the description does not have. (The validator of
// the description finds them too, without their place.)
func unknown(schema *openapi3.Schema, value any, at string) []Defect {
	var out []Defect
	switch v := value.(type) {
	case []any:
		if schema.Items == nil {
			return nil
		}
		for i, item := range v {
			out = append(out, unknown(schema.Items.Value, item, fmt.Sprintf("%s[%d]", at, i))...)
		}
	case map[string]any:
		if open := schema.AdditionalProperties; open.Has == nil || *open.Has {
			return nil
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			where := strings.TrimPrefix(at+"."+name, ".")
			if p := schema.Properties[name]; p != nil {
				out = append(out, unknown(p.Value, v[name], where)...)
			} else {
				out = append(out, Defect{where, name + " is not a known field", true})
			}
		}
	}
	return out
}

func defects(err error) []Defect {
	var many openapi3.MultiError
	if errors.As(err, &many) {
		var out []Defect
		for _, e := range many {
			out = append(out, defects(e)...)
		}
		return out
	}
	var one *openapi3.SchemaError
	if !errors.As(err, &one) {
		return nil
	}
	field := path(one.JSONPointer())
	switch one.SchemaField {
	case "required":
		return []Defect{{Field: field, Reason: last(one.JSONPointer()) + " is required"}}
	case "enum":
		return []Defect{{Field: field, Reason: "Must be one of " + values(one.Schema.Enum)}}
	case "type", "nullable", "format":
		return []Defect{{Field: field, Reason: fmt.Sprintf("%s must be %s", last(one.JSONPointer()), kind(one.Schema))}}
	case "allOf", "anyOf", "oneOf":
		return defects(one.Origin)
	}
	return nil
}

func kind(s *openapi3.Schema) string {
	if s == nil || s.Type == nil {
		return "of another type"
	}
	names := map[string]string{
		"integer": "an integer", "number": "a number", "string": "a string", "boolean": "a boolean",
		"array": "a list", "object": "an object",
	}
	return names[s.Type.Slice()[0]]
}

func values(enum []any) string {
	parts := make([]string, len(enum))
	for i, v := range enum {
		parts[i] = fmt.Sprint(v)
	}
	return strings.Join(parts, ", ")
}

// path writes a position as the API does: taints[0].effect.
func path(pointer []string) string {
	var b strings.Builder
	for _, p := range pointer {
		if _, err := strconv.Atoi(p); err == nil {
			b.WriteString("[" + p + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(p)
	}
	return b.String()
}

func last(pointer []string) string {
	if len(pointer) == 0 {
		return "The body"
	}
	return pointer[len(pointer)-1]
}

// CheckAnswer returns an error that says where an answer differs from the description.
func (o *Operation) CheckAnswer(r *http.Request, status int, header http.Header, body []byte) error {
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: r,
			Route:   &routers.Route{Spec: o.spec, Path: o.Route, PathItem: o.item, Method: o.Method, Operation: o.described},
		},
		Status: status, Header: header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
	}
	input.SetBodyBytes(body)
	return openapi3filter.ValidateResponse(context.WithoutCancel(r.Context()), input)
}
