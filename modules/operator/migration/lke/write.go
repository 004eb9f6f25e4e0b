package lke

import (
	"bytes"
	"embed"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/template"
)

//go:embed manifests.tmpl steps.tmpl
var files embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"quote": func(text any) string { return fmt.Sprintf("%q", fmt.Sprint(text)) },
	"keys":  func(labels map[string]string) []string { return slices.Sorted(maps.Keys(labels)) },
	"step":  func(i int) string { return fmt.Sprintf("5.%d", i+1) },
	"nodes": func(n int) string {
		if n == 1 {
			return "1 node"
		}
		return fmt.Sprintf("%d nodes", n)
	},
	"dollars": func(usd float64) string {
		return strings.TrimSuffix(fmt.Sprintf("%.2f", usd), ".00")
	},
}).ParseFS(files, "*.tmpl"))

// Write writes the manifests in YAML, with the steps as comments before them.
func (im *Import) Write(w io.Writer) error {
	var steps bytes.Buffer
	if err := im.WriteSteps(&steps); err != nil {
		return err
	}
	for line := range strings.Lines(steps.String()) {
		if _, err := io.WriteString(w, strings.TrimRight("# "+line, " \n")+"\n"); err != nil {
			return err
		}
	}
	return templates.ExecuteTemplate(w, "manifests.tmpl", im)
}

// WriteSteps writes the steps of the hand-over in Markdown.
func (im *Import) WriteSteps(w io.Writer) error {
	return templates.ExecuteTemplate(w, "steps.tmpl", im)
}
