// Command speclint validates the OpenAPI description with kin-openapi, its examples included, and checks the conventions
// of openapi/README.md.
//
// Usage: speclint <description>
package main

import (
	"context"
	"fmt"
	"os"
	"sort"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: speclint <description>")
		os.Exit(2)
	}
	doc, err := openapi3.NewLoader().LoadFromFile(os.Args[1])
	if err == nil {
		err = doc.Validate(context.Background(), openapi3.EnableExamplesValidation())
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
	findings := lint(doc)
	for _, finding := range findings {
		fmt.Fprintf(os.Stderr, "%s: %s\n", os.Args[1], finding)
	}
	if len(findings) > 0 {
		os.Exit(1)
	}
}

// lint returns a text for each break of a convention, in a fixed order.
func lint(doc *openapi3.T) []string {
	var findings []string
	for route, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			for _, finding := range lintOperation(doc, operation) {
				findings = append(findings, method+" "+route+": "+finding)
			}
		}
	}
	for name, schema := range doc.Components.Schemas {
		findings = append(findings, lintSchema(name, schema)...)
	}
	sort.Strings(findings)
	return findings
}

func lintOperation(doc *openapi3.T, operation *openapi3.Operation) []string {
	var findings []string
	add := func(wrong bool, finding string) {
		if wrong {
			findings = append(findings, finding)
		}
	}
	add(operation.OperationID == "", "no operationId")
	add(operation.Summary == "", "no summary")
	add(len(operation.Tags) != 1, "needs one tag")
	add(operation.Security == nil, "no security")
	for _, tag := range operation.Tags {
		add(doc.Tags.Get(tag) == nil, "the tag "+tag+" is not described")
	}
	add(operation.Responses.Default() == nil || operation.Responses.Default().Ref == "", "no default answer by reference")
	success := operation.Responses.Value("200")
	if success == nil {
		return append(findings, "no answer 200")
	}
	media := success.Value.Content.Get("application/json")
	add(media == nil || media.Example == nil, "the answer has no example")
	add(media == nil || media.Schema == nil || media.Schema.Ref == "", "the answer's schema is no reference")
	if operation.RequestBody != nil {
		media := operation.RequestBody.Value.Content.Get("application/json")
		add(media == nil || media.Example == nil, "the request has no example")
		add(media == nil || media.Schema == nil || media.Schema.Ref == "", "the request's schema is no reference")
	}
	names := map[string]bool{}
	for _, parameter := range operation.Parameters {
		names[parameter.Value.Name] = true
		add(parameter.Ref == "", "the parameter "+parameter.Value.Name+" is no reference")
	}
	paginated, _ := operation.Extensions["x-linode-paginated"].(bool)
	for _, name := range []string{"page", "page_size", "X-Filter"} {
		add(names[name] != paginated, "x-linode-paginated and the parameter "+name+" do not agree")
	}
	return findings
}

// lintSchema requires that every object has additionalProperties, and that every property has a description.
func lintSchema(name string, schema *openapi3.SchemaRef) []string {
	var findings []string
	value := schema.Value
	if value.Type.Is("object") && value.AdditionalProperties.Has == nil && value.AdditionalProperties.Schema == nil {
		findings = append(findings, name+": has no additionalProperties")
	}
	for property, inner := range value.Properties {
		described := inner.Ref != "" || inner.Value.Description != "" || len(inner.Value.AllOf) > 0 ||
			inner.Value.Type.Is("array") && (property == "data" || property == "errors" || property == "interfaces")
		if !described && !isInline(inner) {
			findings = append(findings, name+"."+property+": no description")
		}
		if isInline(inner) {
			findings = append(findings, lintSchema(name+"."+property, inner)...)
		}
	}
	for _, required := range value.Required {
		if value.Properties[required] == nil {
			findings = append(findings, name+": the required property "+required+" is missing")
		}
	}
	if strings.HasSuffix(name, "Page") {
		for _, required := range []string{"page", "pages", "results", "data"} {
			if value.Properties[required] == nil {
				findings = append(findings, name+": lacks "+required)
			}
		}
	}
	return findings
}

func isInline(schema *openapi3.SchemaRef) bool {
	return schema.Ref == "" && len(schema.Value.Properties) > 0
}
