package main

import (
	"cmp"
	"fmt"
	"sort"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// method describes the client's method for an operation, from x-linode-client. Name is "" if the client has no such method.
type method struct {
	Name, Doc string
	body      string // name of the parameter that has the request's body; "" = body
}

func readMethod(op *openapi3.Operation) (method, error) {
	raw, given := op.Extensions["x-linode-client"]
	if !given {
		return method{}, nil
	}
	fields, ok := raw.(map[string]any)
	if !ok {
		return method{}, fmt.Errorf("x-linode-client is no object")
	}
	name, _ := fields["name"].(string)
	doc, _ := fields["doc"].(string)
	body, _ := fields["body"].(string)
	if name == "" || doc == "" {
		return method{}, fmt.Errorf("x-linode-client needs name and doc")
	}
	return method{Name: name, Doc: doc, body: body}, nil
}

// entry describes an element of a collection, and the fields that distinguish two elements.
type entry struct {
	Schema string
	key    []string
	number bool // the key is one number
}

func readEntry(data *openapi3.SchemaRef) entry {
	ref := data.Value.Items.Ref
	e := entry{Schema: ref[strings.LastIndex(ref, "/")+1:]}
	properties := data.Value.Items.Value.Properties
	if id := properties["id"]; id != nil {
		e.key, e.number = []string{"ID"}, id.Value.Type.Is("integer")
		return e
	}
	e.key = texts("", data.Value.Items.Value)
	sort.Strings(e.key)
	return e
}

// texts returns the names of an object's required strings, and of the required strings of the objects that it requires.
func texts(prefix string, object *openapi3.Schema) (names []string) {
	for _, name := range object.Required {
		switch property := object.Properties[name].Value; {
		case property.Type.Is("string"):
			names = append(names, prefix+exported(name))
		case property.Type.Is("object") && !property.Nullable:
			names = append(names, texts(prefix+exported(name)+".", property)...)
		}
	}
	return names
}

// Parameters are the parameters of the client's method.
func (o operation) Parameters() string {
	parameters := []string{"ctx context.Context"}
	for _, p := range o.Signature.Path {
		kind := "string"
		switch {
		case p.number:
			kind = "int"
		case p.name == "tier":
			kind = "api.LKETier"
		}
		parameters = append(parameters, p.variable+" "+kind)
	}
	if o.Signature.Body != "" {
		parameters = append(parameters, o.Body()+" api."+o.Signature.Body)
	}
	if len(o.Filterable) > 0 {
		parameters = append(parameters, "filter Filter")
	}
	return strings.Join(parameters, ", ")
}

// Arguments are the arguments of the call in the method.
func (o operation) Arguments(own ...string) string {
	arguments := append([]string{"ctx", "c", "api.Op" + exported(o.ID)}, own...)
	for _, p := range o.Signature.Path {
		arguments = append(arguments, p.variable)
	}
	return strings.Join(arguments, ", ")
}

// Body is the name of the method's parameter with the request's body, or nil if the request has no body.
func (o operation) Body() string {
	if o.Signature.Body == "" {
		return "nil"
	}
	return cmp.Or(o.Client.body, "body")
}

// Filter is the text of the method's argument that selects elements of a collection.
func (o operation) Filter() string {
	if len(o.Filterable) > 0 {
		return "filter"
	}
	return "Filter{}"
}

// KeyFunction is the text of a function that returns the key of an element.
func (e entry) KeyFunction() string {
	if len(e.key) == 1 {
		kind := "string"
		if e.number {
			kind = "int"
		}
		return fmt.Sprintf("func(e api.%s) %s { return e.%s }", e.Schema, kind, e.key[0])
	}
	return fmt.Sprintf("func(e api.%s) [%d]string { return [%d]string{e.%s} }", e.Schema, len(e.key), len(e.key), strings.Join(e.key, ", e."))
}

// comment is the documentation of a function, wrapped at 120 characters.
func comment(function, doc string) string {
	var b strings.Builder
	line := "//"
	for _, word := range strings.Fields(function + " " + doc) {
		if len(line)+1+len(word) > 120 {
			b.WriteString(line + "\n")
			line = "//"
		}
		line += " " + word
	}
	return b.String() + line
}
