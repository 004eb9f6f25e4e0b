// Command operations writes the client's table of operations from the OpenAPI description: route, rate class, scopes,
// paging and filterable fields of each, from the extensions that the description explains in its own words.
//
// It also writes the client's methods, the simulator's table of handlers, and the examples of the description, as data
// for a test.
//
// Usage: operations <description> <modules>
package main

import (
	"bytes"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"sort"
	"strings"

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

func run(description, modules string) error {
	doc, err := openapi3.NewLoader().LoadFromFile(description)
	if err != nil {
		return err
	}
	classes, err := readClasses(doc)
	if err != nil {
		return err
	}
	operations, err := readOperations(doc, classes)
	if err != nil {
		return err
	}
	examples, err := readExamples(doc)
	if err != nil {
		return err
	}
	exampleSource, err := renderExamples(examples)
	if err != nil {
		return err
	}
	for output, source := range map[string][]byte{
		"linode/api/operations.gen.go":                  render(classes, operations),
		"linode/operations.gen.go":                      renderMethods(operations),
		"linodesim/internal/handlers/operations.gen.go": renderRoutes(operations),
		"linode/api/examples_gen_test.go":               exampleSource,
	} {
		formatted, err := format.Source(source)
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
	name              string
	requests, seconds int
	counts            string
}

// operation is what the table has of one operation.
type operation struct {
	id, method, route, class string
	paginated, beta, public  bool
	scopes, filterable       []string
	signature                signature
	entry                    entry
	client                   method
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
	sort.Slice(classes, func(i, j int) bool { return classes[i].name < classes[j].name })
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
				err = known(classes, read.class)
			}
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", method, route, err)
			}
			operations = append(operations, read)
		}
	}
	sort.Slice(operations, func(i, j int) bool { return operations[i].id < operations[j].id })
	return operations, nil
}

func known(classes []class, name string) error {
	for _, c := range classes {
		if c.name == name {
			return nil
		}
	}
	return fmt.Errorf("x-linode-rate-class %q is none of x-linode-rate-classes", name)
}

func readOperation(doc *openapi3.T, route, method string, op *openapi3.Operation) (operation, error) {
	o := operation{id: op.OperationID, method: method, route: route, signature: readSignature(op)}
	o.class, _ = op.Extensions["x-linode-rate-class"].(string)
	o.paginated, _ = op.Extensions["x-linode-paginated"].(bool)
	o.beta, _ = op.Extensions["x-linode-beta"].(bool)
	var err error
	if o.client, err = readMethod(op); err != nil {
		return o, err
	}
	security := doc.Security
	if op.Security != nil {
		security = *op.Security
	}
	for _, requirement := range security {
		if len(requirement) == 0 {
			o.public = true
		}
		o.scopes = append(o.scopes, requirement["oauth"]...)
	}
	sort.Strings(o.scopes)
	if o.paginated {
		schema := op.Responses.Value("200").Value.Content["application/json"].Schema.Value
		data := schema.Properties["data"]
		if data == nil || data.Value.Items == nil {
			return o, fmt.Errorf("x-linode-paginated, but the answer has no array data")
		}
		o.entry = readEntry(data)
		o.filterable = filterable(data.Value.Items.Value, "", 0)
		sort.Strings(o.filterable)
	}
	return o, nil
}

// filterable lists the properties of a schema that are marked so, those of nested objects with a dotted name. The API
// nests filters by one level at most.
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

func render(classes []class, operations []operation) []byte {
	var b bytes.Buffer
	b.WriteString("// Code generated by tools/codegen/operations from openapi/linode.yaml. DO NOT EDIT.\n\npackage api\n\nimport \"time\"\n\n")
	b.WriteString("// Rate classes: what one limit of the API counts.\nconst (\n")
	for _, c := range classes {
		fmt.Fprintf(&b, "\t// RateClass%s counts %s.\n\tRateClass%s RateClass = %q\n", exported(c.name), c.counts, exported(c.name), c.name)
	}
	b.WriteString(")\n\n// rateLimits are the documented limits, per token.\nvar rateLimits = map[RateClass]RateLimit{\n")
	for _, c := range classes {
		fmt.Fprintf(&b, "\tRateClass%s: {Requests: %d, Per: %d * time.Second},\n", exported(c.name), c.requests, c.seconds)
	}
	b.WriteString("}\n\n// Operations of the description.\nconst (\n")
	for _, o := range operations {
		fmt.Fprintf(&b, "\t// Op%s is %s %s.\n\tOp%s OperationID = %q\n", exported(o.id), o.method, o.route, exported(o.id), o.id)
	}
	b.WriteString(")\n\nvar operations = []Operation{\n")
	for _, o := range operations {
		fmt.Fprintf(&b, "\t{ID: Op%s, Method: %q, Route: %q, Class: RateClass%s", exported(o.id), o.method, o.route, exported(o.class))
		for _, flag := range []struct {
			name string
			on   bool
		}{{"Paginated", o.paginated}, {"Beta", o.beta}, {"Public", o.public}} {
			if flag.on {
				fmt.Fprintf(&b, ", %s: true", flag.name)
			}
		}
		list(&b, "Scopes", o.scopes)
		list(&b, "Filterable", o.filterable)
		b.WriteString("},\n")
	}
	b.WriteString("}\n")
	return b.Bytes()
}

func list(b *bytes.Buffer, field string, values []string) {
	if len(values) == 0 {
		return
	}
	fmt.Fprintf(b, ", %s: %#v", field, values)
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
