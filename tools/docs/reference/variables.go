package reference

import (
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

// credentials are the ways to configure the token. Each way renders other variables, so variablesOf tries every value with each way.
var credentials = []map[string]any{
	{"apiToken": "a-token"},
	{"credentialsSecretRef": "a-secret"},
	{"apiTokenFile": "/a/file"},
}

// variablesOf finds the environment variables that each value of the chart sets. For each value it renders the chart with
// the default and with another value, and compares the variables.
func variablesOf(folder string) (map[string][]string, error) {
	c, err := loader.LoadDir(folder)
	if err != nil {
		return nil, err
	}
	schema, err := readSchema(folder)
	if err != nil {
		return nil, err
	}
	// The chart is rendered hundreds of times, and only the Deployment is read. So all templates go that the Deployment does not include.
	c.Templates = slices.DeleteFunc(c.Templates, func(f *common.File) bool {
		name := path.Base(f.Name)
		return name != "deployment.yaml" && !strings.HasPrefix(name, "_")
	})
	found := map[string][]string{"apiToken": {"LINODE_TOKEN"}} // through a Secret, whose name does not change
	for _, credential := range credentials {
		base := loader.MergeMaps(credential, map[string]any{"settings": map[string]any{"clusterName": "a-cluster"}})
		before, err := environmentOf(c, base)
		if err != nil {
			return nil, fmt.Errorf("rendering %s: %w", folder, err)
		}
		for key, was := range leaves("", c.Values) {
			if strings.HasSuffix(key, "Override") {
				continue // the value is the name of an object; variables that refer to the object would change with it
			}
			for _, other := range others(was, schema.at(key)) {
				after, err := environmentOf(c, loader.MergeMaps(base, nested(key, other)))
				if err != nil {
					continue // the chart refuses the value
				}
				found[key] = append(found[key], changed(before, after)...)
				if len(schema.at(key).Enum) == 0 {
					break // any other accepted value would change the same variables
				}
			}
		}
	}
	for key := range found {
		slices.Sort(found[key])
		found[key] = slices.Compact(found[key])
	}
	return found, nil
}

// leaves returns the values that are not objects, and empty objects, by dotted key.
func leaves(prefix string, values map[string]any) map[string]any {
	result := map[string]any{}
	for name, v := range values {
		if object, ok := v.(map[string]any); ok && len(object) > 0 {
			maps.Copy(result, leaves(prefix+name+".", object))
			continue
		}
		result[prefix+name] = v
	}
	return result
}

// forms are example texts. For each value that is a text, the chart accepts at least one of them.
var forms = []any{"something-else", "7m", "https://example.com", "/a/path", "us-east"}

// others returns values to try in place of the default.
func others(was any, schema *valueSchema) []any {
	switch v := was.(type) {
	case bool:
		return []any{!v}
	case string, nil:
		return slices.Concat(schema.Enum, forms)
	case float64:
		return []any{v + 1}
	case []any:
		return []any{[]any{"something-else"}}
	}
	return nil
}

func nested(key string, v any) map[string]any {
	names := strings.Split(key, ".")
	for i := len(names) - 1; i > 0; i-- {
		v = map[string]any{names[i]: v}
	}
	return map[string]any{names[0]: v}
}

// environmentOf renders the chart and returns the operator's variables. A value that the chart's schema or a template
// refuses is an error.
func environmentOf(c *chart.Chart, values map[string]any) (environment map[string]any, err error) {
	release := common.ReleaseOptions{Name: "karpenter", Namespace: "kube-system", Revision: 1, IsInstall: true}
	all, err := util.ToRenderValuesWithSchemaValidation(c, values, release, common.DefaultCapabilities, true)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return nil, err
	}
	for name, content := range files {
		if !strings.HasSuffix(name, "/deployment.yaml") {
			continue
		}
		deployment := &appsv1.Deployment{}
		if err := yaml.Unmarshal([]byte(content), deployment); err != nil {
			return nil, err
		}
		environment = map[string]any{}
		for _, variable := range deployment.Spec.Template.Spec.Containers[0].Env {
			environment[variable.Name] = variable
		}
		return environment, nil
	}
	return nil, fmt.Errorf("chart %s has no Deployment", c.Name())
}

func changed(before, after map[string]any) []string {
	var names []string
	for name := range after {
		if !reflect.DeepEqual(before[name], after[name]) {
			names = append(names, name)
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			names = append(names, name)
		}
	}
	return names
}
