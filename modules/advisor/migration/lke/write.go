package lke

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/printable"
)

//go:embed manifests.tmpl steps.tmpl
var files embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"quote":  func(text any) string { return fmt.Sprintf("%q", fmt.Sprint(text)) },
	"scalar": scalar,
	"keys":   func(labels map[string]string) []string { return slices.Sorted(maps.Keys(labels)) },
	"step":   func(i int) string { return fmt.Sprintf("5.%d", i+1) },
	"nodes": func(n int) string {
		if n == 1 {
			return "1 node"
		}
		return fmt.Sprintf("%d nodes", n)
	},
	"shell": func(request api.LKENodePoolCreate) (string, error) {
		text, err := json.Marshal(request)
		return "'" + strings.ReplaceAll(string(text), "'", `'\''`) + "'", err
	},
	"scaling": func(url string, id int, a api.LKEAutoscaler, enabled bool) any {
		return struct {
			api.LKEAutoscaler

			URL     string
			ID      int
			Enabled bool
		}{a, url, id, enabled}
	},
	"text": printable.Text,
	"dollars": func(usd float64) string {
		return strings.TrimSuffix(fmt.Sprintf("%.2f", usd), ".00")
	},
}).ParseFS(files, "*.tmpl"))

var plainScalar = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]*$`)

// scalar quotes a text of the API that YAML would read as another value: a text with a character that plans and names do not have, or a
// word such as yes.
func scalar(text any) string {
	plain := fmt.Sprint(text)
	var read any
	if err := yaml.Unmarshal([]byte(plain), &read); plainScalar.MatchString(plain) && err == nil && read == plain {
		return plain
	}
	return fmt.Sprintf("%q", plain)
}

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
	return templates.ExecuteTemplate(printable.Lines(w), "manifests.tmpl", im)
}

// PoolsURL returns the URL of the cluster's pools in the API.
func (im *Import) PoolsURL() string {
	base := strings.TrimRight(im.API, "/")
	for _, version := range []string{"/v4", "/v4beta"} {
		base = strings.TrimSuffix(base, version)
	}
	return fmt.Sprintf("%s/v4beta/lke/clusters/%d/pools", base, im.Cluster.ID)
}

// Request returns the request that makes the pool again after its deletion, with LKE's autoscaler off and without the tags that LKE
// itself sets.
func (p Pool) Request() api.LKENodePoolCreate {
	r := api.LKENodePoolCreate{Type: p.Type, Count: p.Count, Label: p.Label, DiskEncryption: &p.DiskEncryption, K8SVersion: p.K8SVersion,
		UpdateStrategy: p.UpdateStrategy, Isolation: p.Isolation,
		Autoscaler: &api.LKEAutoscalerUpdate{Enabled: new(false), Min: &p.Autoscaler.Min, Max: &p.Autoscaler.Max}}
	if p.FirewallID.IsSpecified() && !p.FirewallID.IsNull() {
		r.FirewallID = new(p.FirewallID.MustGet())
	}
	if len(p.LKENodePool.Labels) > 0 {
		r.Labels = &p.LKENodePool.Labels
	}
	if len(p.Taints) > 0 {
		r.Taints = &p.Taints
	}
	if tags := userTags(p.Tags); len(tags) > 0 {
		r.Tags = &tags
	}
	return r
}

// WriteSteps writes the steps of the hand-over in Markdown.
func (im *Import) WriteSteps(w io.Writer) error {
	return templates.ExecuteTemplate(printable.Lines(w), "steps.tmpl", im)
}
