// Command operations writes the client's table of operations from the OpenAPI description. The table has the route, the
// rate class, the scopes, the paging and the filterable fields of each operation. They come from extensions, which the
// description itself explains.
//
// It also writes the client's methods, the simulator's table of handlers, and the examples of the description, as data
// for a test.
//
// Usage: operations <description> <modules>
package main

import (
	"bytes"
	"embed"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"text/template"

	"github.com/getkin/kin-openapi/openapi3"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: operations <description> <modules>")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "operations:", err)
		os.Exit(1)
	}
}

//go:embed *.go.tmpl
var layouts embed.FS

// outputs are the files below the folder of modules, by their templates.
var outputs = map[string]string{
	"api.go.tmpl":      "linode/api/operations.gen.go",
	"examples.go.tmpl": "linode/api/examples_gen_test.go",
	"client.go.tmpl":   "linode/operations.gen.go",
	"handlers.go.tmpl": "linodesim/internal/handlers/operations.gen.go",
}

func run(description, modules string) error {
	doc, err := openapi3.NewLoader().LoadFromFile(description)
	if err != nil {
		return err
	}
	var content struct {
		Classes    []class
		Operations []operation
		Examples   []example
	}
	if content.Classes, err = readClasses(doc); err != nil {
		return err
	}
	if content.Operations, err = readOperations(doc, content.Classes); err != nil {
		return err
	}
	if content.Examples, err = readExamples(doc); err != nil {
		return err
	}
	all, err := template.New("").Funcs(template.FuncMap{"exported": exported, "comment": comment}).ParseFS(layouts, "*.go.tmpl")
	if err != nil {
		return err
	}
	for layout, output := range outputs {
		var source bytes.Buffer
		if err := all.ExecuteTemplate(&source, layout, content); err != nil {
			return err
		}
		formatted, err := format.Source(source.Bytes())
		if err != nil {
			return fmt.Errorf("%s: %w", output, err)
		}
		if err := os.WriteFile(filepath.Join(modules, output), formatted, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// class is an entry of x-linode-rate-classes.
type class struct {
	Name              string
	Requests, Seconds int
	Counts            string
}

// operation has the template's input for one operation.
type operation struct {
	ID, Method, Route, Class string
	Paginated, Beta, Public  bool
	Scopes, Filterable       []string
	Signature                signature
	Entry                    entry
	Client                   method
}

func readClasses(doc *openapi3.T) ([]class, error) {
	raw, ok := doc.Extensions["x-linode-rate-classes"].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("x-linode-rate-classes is missing or no object")
	}
	var classes []class
	for name, value := range raw {
		fields, ok := value.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("x-linode-rate-classes: %s is no object", name)
		}
		requests, seconds := number(fields["requests"]), number(fields["seconds"])
		if requests < 1 || seconds < 1 {
			return nil, fmt.Errorf("x-linode-rate-classes: %s needs requests and seconds", name)
		}
		counts, _ := fields["counts"].(string)
		classes = append(classes, class{name, requests, seconds, counts})
	}
	sort.Slice(classes, func(i, j int) bool { return classes[i].Name < classes[j].Name })
	return classes, nil
}

func number(value any) int {
	switch n := value.(type) {
	case int:
		return n
	case int64:
		return int(n)
	case uint64:
		return int(n)
	case float64:
		return int(n)
	}
	return 0
}

func readOperations(doc *openapi3.T, classes []class) ([]operation, error) {
	var operations []operation
	for route, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			read, err := readOperation(doc, route, method, op)
			if err == nil {
				err = known(classes, read.Class)
			}
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", method, route, err)
			}
			operations = append(operations, read)
		}
	}
	sort.Slice(operations, func(i, j int) bool { return operations[i].ID < operations[j].ID })
	return operations, nil
}

func known(classes []class, name string) error {
	for _, c := range classes {
		if c.Name == name {
			return nil
		}
	}
	return fmt.Errorf("x-linode-rate-class %q is not one of x-linode-rate-classes", name)
}

func readOperation(doc *openapi3.T, route, method string, op *openapi3.Operation) (operation, error) {
	o := operation{ID: op.OperationID, Method: method, Route: route, Signature: readSignature(op)}
	o.Class, _ = op.Extensions["x-linode-rate-class"].(string)
	o.Paginated, _ = op.Extensions["x-linode-paginated"].(bool)
	o.Beta, _ = op.Extensions["x-linode-beta"].(bool)
	var err error
	if o.Client, err = readMethod(op); err != nil {
		return o, err
	}
	security := doc.Security
	if op.Security != nil {
		security = *op.Security
	}
	for _, requirement := range security {
		if len(requirement) == 0 {
			o.Public = true
		}
		o.Scopes = append(o.Scopes, requirement["oauth"]...)
	}
	sort.Strings(o.Scopes)
	if o.Paginated {
		schema := op.Responses.Value("200").Value.Content["application/json"].Schema.Value
		data := schema.Properties["data"]
		if data == nil || data.Value.Items == nil {
			return o, fmt.Errorf("x-linode-paginated, but the answer has no array data")
		}
		o.Entry = readEntry(data)
		o.Filterable = filterable(data.Value.Items.Value, "", 0)
		sort.Strings(o.Filterable)
	}
	return o, nil
}

// filterable lists the properties of a schema that have x-linode-filterable. The properties of nested objects have dotted
// names. The API nests filters by one level at most.
func filterable(schema *openapi3.Schema, prefix string, depth int) []string {
	var names []string
	for name, property := range schema.Properties {
		if marked(property) {
			names = append(names, prefix+name)
		}
		if depth == 0 && property.Value.Type.Is("object") {
			names = append(names, filterable(property.Value, prefix+name+".", depth+1)...)
		}
	}
	return names
}

func marked(property *openapi3.SchemaRef) bool {
	for _, extensions := range []map[string]any{property.Extensions, property.Value.Extensions} {
		if on, _ := extensions["x-linode-filterable"].(bool); on {
			return true
		}
	}
	return false
}

// exported turns create-instance into CreateInstance, listTypes into ListTypes and url into URL.
func exported(name string) string {
	if name == "url" {
		return "URL"
	}
	var b strings.Builder
	for _, part := range strings.Split(name, "-") {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}
