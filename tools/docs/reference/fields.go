package reference

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/crds"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// schema returns the schema of a LinodeNodeClass.
func schema() (*apiextensionsv1.JSONSchemaProps, error) {
	for _, crd := range crds.All() {
		if crd.Spec.Names.Kind == v1alpha1.Kind {
			return crd.Spec.Versions[0].Schema.OpenAPIV3Schema, nil
		}
	}
	return nil, fmt.Errorf("there is no CRD of %s", v1alpha1.Kind)
}

// specTable lists the fields of the spec with their effects.
func specTable(root *apiextensionsv1.JSONSchemaProps) (string, error) {
	var rows [][]string
	spec := root.Properties["spec"]
	names, effects, err := byMode(spec.Properties)
	if err != nil {
		return "", err
	}
	for _, name := range names {
		effect := effects[name]
		field := spec.Properties[name]
		walk("spec."+name, &field, func(path string, p *apiextensionsv1.JSONSchemaProps) {
			modes := effect.modes
			if setting, ok := strings.CutPrefix(path, "spec.kubelet."); ok {
				modes = kubeletModes(setting)
			}
			rows = append(rows, []string{code(path), typeOf(p), defaultOf(p), modes, effect.change, meaningOf(path, p)})
		})
	}
	return table([]string{"Field", "Type", "Default", "Mode", "A change", "Meaning"}, rows), nil
}

// byMode returns the fields in the order in which they matter to most users: fields with an effect in lke mode first.
func byMode(fields map[string]apiextensionsv1.JSONSchemaProps) (names []string, effects map[string]effect, err error) {
	effects = map[string]effect{}
	for name := range fields {
		if effects[name], err = effectOf(name); err != nil {
			return nil, nil, err
		}
	}
	return slices.SortedFunc(maps.Keys(fields), func(a, b string) int {
		if onlyA, onlyB := notOnLKE(effects[a]), notOnLKE(effects[b]); onlyA != onlyB {
			if onlyA {
				return 1
			}
			return -1
		}
		return strings.Compare(a, b)
	}), effects, nil
}

func notOnLKE(e effect) bool { return e.modes == modeInstance || e.modes == modeClusterAPI }

func statusTable(root *apiextensionsv1.JSONSchemaProps) string {
	var rows [][]string
	status := root.Properties["status"]
	for _, name := range slices.Sorted(maps.Keys(status.Properties)) {
		field := status.Properties[name]
		rows = append(rows, []string{code("status." + name), typeOf(&field), meaningOf("status."+name, &field)})
	}
	return table([]string{"Field", "Type", "Meaning"}, rows)
}

// walk visits a field and the fields in it. If these fields are all alike, as the devices of dataDisks are, it visits one of them for all.
func walk(path string, p *apiextensionsv1.JSONSchemaProps, visit func(string, *apiextensionsv1.JSONSchemaProps)) {
	visit(path, p)
	names := slices.Sorted(maps.Keys(p.Properties))
	if len(names) > 1 && allAlike(p.Properties) {
		one := p.Properties[names[0]]
		one.Description = fmt.Sprintf("%d fields of the same form", len(names))
		walk(fmt.Sprintf("%s.%s ... %s", path, names[0], names[len(names)-1]), &one, visit)
		return
	}
	for _, name := range names {
		field := p.Properties[name]
		walk(path+"."+name, &field, visit)
	}
}

// allAlike reports whether all properties are objects of one form. Their descriptions may differ. Numbers and strings are never alike:
// two numbers have one form, but two meanings.
func allAlike(properties map[string]apiextensionsv1.JSONSchemaProps) bool {
	var first string
	for _, p := range properties {
		p.Description = ""
		text, err := json.Marshal(p)
		if err != nil || p.Type != "object" || len(p.Properties) == 0 {
			return false
		}
		if first == "" {
			first = string(text)
		}
		if first != string(text) {
			return false
		}
	}
	return true
}

func typeOf(p *apiextensionsv1.JSONSchemaProps) string {
	switch {
	case p.XIntOrString:
		return "quantity"
	case p.Type == "array" && p.Items != nil && p.Items.Schema != nil:
		kind := "list of "
		if p.XListType != nil && *p.XListType == "set" {
			kind = "set of "
		}
		return kind + typeOf(p.Items.Schema)
	case p.Type == "object" && p.AdditionalProperties != nil && p.AdditionalProperties.Schema != nil:
		return "map of " + typeOf(p.AdditionalProperties.Schema)
	}
	return cmp.Or(p.Type, "any value")
}

func defaultOf(p *apiextensionsv1.JSONSchemaProps) string {
	if p.Default == nil {
		return ""
	}
	return code(strings.Trim(string(p.Default.Raw), `"`))
}

// meaningOf is the field's description, followed by the checks of the API server. In a description that starts with the
// field's name in Go, the name that users write replaces that name.
func meaningOf(path string, p *apiextensionsv1.JSONSchemaProps) string {
	name := path[strings.LastIndex(path, ".")+1:]
	description, ineffective := strings.CutPrefix(p.Description, withoutEffect)
	text := sentence(description)
	if first, rest, _ := strings.Cut(text, " "); strings.HasPrefix(strings.ToLower(first),
		strings.ToLower(strings.ReplaceAll(name, "_", ""))) {
		text = code(name) + " " + rest
	}
	if ineffective {
		text = withoutEffect + text
	}
	parts := []string{text}
	parts = append(parts, limits("", p)...)
	if p.Items != nil && p.Items.Schema != nil {
		parts = append(parts, limits("each ", p.Items.Schema)...)
	}
	if p.AdditionalProperties != nil && p.AdditionalProperties.Schema != nil {
		parts = append(parts, limits("each ", p.AdditionalProperties.Schema)...)
	}
	for _, rule := range p.XValidations {
		if rule.Message == "" {
			continue // the rule has an expression for its message, which needs a value
		}
		parts = append(parts, "Rule: "+strings.TrimSuffix(rule.Message, ".")+".")
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
}

// withoutEffect begins the description of a field without effect on LKE.
const withoutEffect = "(no effect in lke mode) "

func limits(prefix string, p *apiextensionsv1.JSONSchemaProps) []string {
	var found []string
	add := func(format string, args ...any) { found = append(found, sentence(prefix+fmt.Sprintf(format, args...))) }
	if len(p.Enum) > 0 {
		values := make([]string, 0, len(p.Enum))
		for _, v := range p.Enum {
			values = append(values, code(strings.Trim(string(v.Raw), `"`)))
		}
		add("one of %s", strings.Join(values, ", "))
	}
	if p.Minimum != nil || p.Maximum != nil {
		add("%s", bounds(number(p.Minimum), number(p.Maximum), ""))
	}
	if p.MinLength != nil || p.MaxLength != nil {
		add("%s", bounds(count(p.MinLength), count(p.MaxLength), " characters"))
	}
	if p.MaxItems != nil {
		add("at most %d entries", *p.MaxItems)
	}
	if p.Pattern != "" && !p.XIntOrString { // a quantity's form is Kubernetes' own
		add("has the form %s", code(p.Pattern))
	}
	return found
}

func bounds(low, high, unit string) string {
	switch {
	case low == "":
		return "at most " + high + unit
	case high == "":
		return "at least " + low + unit
	}
	return low + " to " + high + unit
}

func number(f *float64) string {
	if f == nil {
		return ""
	}
	return strconv.FormatFloat(*f, 'f', -1, 64)
}

func count(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}
