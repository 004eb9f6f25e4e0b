package reference

import (
	"embed"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
)

// Configuration returns the page docs/configuration.md of the repository at root.
func Configuration(root string) (string, error) {
	charts := filepath.Join(root, "charts", "karpenter")
	values, err := readValues(charts)
	if err != nil {
		return "", err
	}
	valueSchema, err := readSchema(charts)
	if err != nil {
		return "", err
	}
	variables, err := variablesOf(charts)
	if err != nil {
		return "", err
	}
	byVariable := invert(variables)
	own, err := settingsTable(options.Describe(), byVariable)
	if err != nil {
		return "", err
	}
	core, err := settingsTable(options.DescribeCore(), byVariable)
	if err != nil {
		return "", err
	}
	fields, err := schema()
	if err != nil {
		return "", err
	}
	spec, err := specTable(fields)
	if err != nil {
		return "", err
	}
	return page("configuration", map[string]string{
		"Own": own, "Core": core, "Spec": spec, "Status": statusTable(fields), "Values": valuesTable(values, variables, valueSchema),
	})
}

//go:embed *.md.tmpl
var layouts embed.FS

// page fills the layout of a page with its tables.
func page(name string, tables map[string]string) (string, error) {
	layout, err := template.ParseFS(layouts, name+".md.tmpl")
	if err != nil {
		return "", err
	}
	var text strings.Builder
	err = layout.Option("missingkey=error").Execute(&text, tables)
	return text.String(), err
}
