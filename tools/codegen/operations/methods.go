package main

import (
	"bytes"
	"fmt"
	"sort"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// method is how the client offers an operation, from x-linode-client; without a name it does not.
type method struct {
	name, doc string
	arguments map[string]string // names and types of arguments where they differ from the path's
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
	return method{name: name, doc: doc, arguments: map[string]string{"body": body}}, nil
}

// entry is what one element of a collection is, and by which fields two are distinguished.
type entry struct {
	schema string
	key    []string
	number bool // the key is one number
}

func readEntry(data *openapi3.SchemaRef) entry {
	ref := data.Value.Items.Ref
	e := entry{schema: ref[strings.LastIndex(ref, "/")+1:]}
	properties := data.Value.Items.Value.Properties
	if id := properties["id"]; id != nil {
		e.key, e.number = []string{"ID"}, id.Value.Type.Is("integer")
		return e
	}
	e.key = texts("", data.Value.Items.Value)
	sort.Strings(e.key)
	return e
}

// texts are the required texts of an object, and of the objects that it requires.
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

// renderMethods writes the client's methods.
func renderMethods(operations []operation) []byte {
	var b bytes.Buffer
	b.WriteString(generated + "package linode\n\nimport (\n\t\"context\"\n\t\"iter\"\n\n\t\"github.com/karpenter-linode/karpenter-linode/modules/linode/api\"\n)\n")
	for _, o := range operations {
		if o.client.name != "" {
			o.renderMethod(&b)
		}
	}
	return b.Bytes()
}

func (o operation) renderMethod(b *bytes.Buffer) {
	parameters, arguments := []string{"ctx context.Context"}, []string{}
	for _, p := range o.signature.path {
		kind := "string"
		if p.number {
			kind = "int"
		}
		if p.name == "tier" {
			kind = "api.LKETier"
		}
		parameters, arguments = append(parameters, p.variable+" "+kind), append(arguments, p.variable)
	}
	body := "nil"
	if o.signature.body != "" {
		body = o.client.arguments["body"]
		if body == "" {
			body = "body"
		}
		parameters = append(parameters, body+" api."+o.signature.body)
	}
	operation := "api.Op" + exported(o.id)
	b.WriteString("\n" + comment(o.client.name+" "+o.client.doc))
	switch {
	case o.paginated:
		filter := "Filter{}"
		if len(o.filterable) > 0 {
			parameters, filter = append(parameters, "filter Filter"), "filter"
		}
		fmt.Fprintf(b, "func (c *Client) %s(%s) iter.Seq2[api.%s, error] {\n\treturn iterate(%s)\n}\n",
			o.client.name, strings.Join(parameters, ", "), o.entry.schema,
			strings.Join(append([]string{"ctx", "c", operation, filter, o.entry.keyFunction()}, arguments...), ", "))
	case o.signature.rows != "":
		fmt.Fprintf(b, "func (c *Client) %s(%s) ([]api.%s, error) {\n\treturn rows(fetch[api.%s](%s))\n}\n",
			o.client.name, strings.Join(parameters, ", "), o.signature.rows, o.signature.answer,
			strings.Join(append([]string{"ctx", "c", operation, body}, arguments...), ", "))
	case o.signature.answer == "Empty":
		fmt.Fprintf(b, "func (c *Client) %s(%s) error {\n\treturn send(%s)\n}\n",
			o.client.name, strings.Join(parameters, ", "), strings.Join(append([]string{"ctx", "c", operation, body}, arguments...), ", "))
	default:
		fmt.Fprintf(b, "func (c *Client) %s(%s) (*api.%s, error) {\n\treturn fetch[api.%s](%s)\n}\n",
			o.client.name, strings.Join(parameters, ", "), o.signature.answer, o.signature.answer,
			strings.Join(append([]string{"ctx", "c", operation, body}, arguments...), ", "))
	}
}

func (e entry) keyFunction() string {
	if len(e.key) == 1 {
		kind := "string"
		if e.number {
			kind = "int"
		}
		return fmt.Sprintf("func(e api.%s) %s { return e.%s }", e.schema, kind, e.key[0])
	}
	return fmt.Sprintf("func(e api.%s) [%d]string { return [%d]string{e.%s} }", e.schema, len(e.key), len(e.key), strings.Join(e.key, ", e."))
}

// comment wraps a text at 120 characters.
func comment(text string) string {
	var b strings.Builder
	line := "//"
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > 120 {
			b.WriteString(line + "\n")
			line = "//"
		}
		line += " " + word
	}
	b.WriteString(line + "\n")
	return b.String()
}
