package bootstrap

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Variables of Custom, written ${NAME}. There are no others.
const (
	VarNodeName      = "KARPENTER_NODE_NAME"
	VarNodeLabels    = "KARPENTER_NODE_LABELS"    // key=value,key=value: labels that a kubelet may set
	VarNodeTaints    = "KARPENTER_NODE_TAINTS"    // key=value:Effect,key=value:Effect
	VarKubeletArgs   = "KARPENTER_KUBELET_ARGS"   // all flags, labels and taints among them: --a=b --c=d
	VarEndpoint      = "KARPENTER_ENDPOINT"       // host:port
	VarCACertHashes  = "KARPENTER_CA_CERT_HASHES" // sha256:<hex>,sha256:<hex>
	VarKubeVersion   = "KARPENTER_KUBERNETES_VERSION"
	VarNodeNetworks  = "KARPENTER_NODE_NETWORKS" // 192.168.128.0/17,...: the networks of the address for --node-ip, empty for any
	VarToken         = "KARPENTER_TOKEN"
	variablePrefix   = "KARPENTER_"
	cloudConfigStart = "#cloud-config"
)

var (
	// variable matches ${KARPENTER_X}. With another $ before it, it stands for itself.
	variable = regexp.MustCompile(`\$?\$\{(` + variablePrefix + `[A-Za-z0-9_]*)\}`)
	// inert lists the characters allowed in a value. No such character has a
	// meaning in a string of YAML or JSON, or in a quoted word of a shell.
	inert = regexp.MustCompile(`^[A-Za-z0-9 ._:/=,<%+\[\]-]*$`)
	// shells are the interpreters whose scripts can have variables.
	shells = regexp.MustCompile(`^#!\s*(/usr)?/bin/(env\s+)?(ba|da|a)?sh(\s|$)`)
)

// Variables returns the names of all variables of Custom, in the order of their names.
func Variables() []string {
	return []string{VarCACertHashes, VarEndpoint, VarKubeletArgs, VarKubeVersion, VarNodeLabels, VarNodeName, VarNodeNetworks, VarNodeTaints,
		VarToken}
}

var _ = row(Type{
	Name: "custom", Token: SharedToken, JoinsEndpoint: true, UserData: true, Missing: Unregistered, Verbatim: isIgnition,
	render: func(in Inputs) ([]byte, error) { return Custom(in.UserData, in.Config, in.Token) },
})

// isIgnition reports whether a text is the JSON of an Ignition config.
func isIgnition(text []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) }

// Custom returns a user's own user data with its variables filled in: a cloud-config, a
// shell script, or an Ignition config. Other texts that look like variables are left
// alone, so that scripts keep their own variables.
//
// Values are escaped for their place. In a shell script, in a file with a shell script,
// and in commands that are a string, the variables become variables of the shell, which
// expands them like its own. In a command that is a list, and in any other text of a
// document, they become a part of that text after the document was parsed, so that they
// cannot change its structure. In a data: URL they are percent-encoded. A document inside
// a document, such as a YAML file in write_files, has to quote them.
// Variables in a script that is not for a POSIX shell are errors.
//
// The token is passed on without a change; its format depends on the user's way to join.
func Custom(text []byte, c Config, token string) ([]byte, error) {
	values, err := c.variables(token)
	if err != nil {
		return nil, err
	}
	if len(c.Node.Kubelet.Extra) > 0 {
		return nil, wrong("Node.Kubelet.Extra", "no variable of custom user data has these fields: write them into the user data")
	}
	switch {
	case bytes.HasPrefix(text, []byte(cloudConfigStart)):
		return values.cloudConfig(text)
	case bytes.HasPrefix(text, []byte("#!")):
		script, err := values.script("userData", string(text))
		return []byte(script), err
	case isIgnition(text):
		return values.ignition(text)
	}
	return nil, wrong("userData", "must begin with #cloud-config, with #! and a shell, or be the JSON of an Ignition config")
}

// Unregistered returns variables that a text lacks, and without which nodes do not
// have the labels, taints and kubelet settings that Karpenter planned with. It
// returns none if the text has VarKubeletArgs, which contains labels and taints.
func Unregistered(text []byte) []string {
	used := map[string]bool{}
	for _, match := range variable.FindAllSubmatch(text, -1) {
		used[string(match[1])] = true
	}
	if used[VarKubeletArgs] {
		return nil
	}
	return slices.DeleteFunc([]string{VarKubeletArgs, VarNodeLabels, VarNodeTaints}, func(name string) bool { return used[name] })
}

// values has the value of each variable, by its name.
type values map[string]string

func (c *Config) variables(token string) (values, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	labels, taints := strings.Join(c.Node.labelArgs(), ","), strings.Join(c.Node.taintArgs(), ",")
	args := c.Node.Kubelet.args()
	if labels != "" {
		args = append(args, "node-labels="+labels)
	}
	if taints != "" {
		args = append(args, "register-with-taints="+taints)
	}
	all := values{
		VarNodeName: c.Node.Name, VarNodeLabels: labels, VarNodeTaints: taints, VarKubeletArgs: "--" + strings.Join(args, " --"),
		VarEndpoint: c.Cluster.Endpoint, VarCACertHashes: strings.Join(c.Cluster.CACertHashes, ","), VarKubeVersion: c.Cluster.Version,
		VarToken: token, VarNodeNetworks: strings.Join(c.Node.Network.Networks(), ","),
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !inert.MatchString(all[name]) { // not with the value: it may be the token
			return nil, wrong(name, "has a character that is not one of letters, digits, spaces and ._:/=,<%%+[]-")
		}
	}
	return all, nil
}

// fill replaces the variables of a text by their values.
func (v values) fill(field, text string, escape func(string) string) (string, error) {
	var unknown error
	filled := variable.ReplaceAllStringFunc(text, func(match string) string {
		if strings.HasPrefix(match, "$$") {
			return match[1:]
		}
		name := match[2 : len(match)-1]
		value, known := v[name]
		if !known && unknown == nil {
			unknown = wrong(field, "${%s} is not a variable; the variables are %s", name, strings.Join(slices.Sorted(maps.Keys(v)), ", "))
		}
		return escape(value)
	})
	return filled, unknown
}

func asIs(value string) string { return value }

// used returns the assignments of the variables that a shell text names.
func (v values) used(field, text string) (string, error) {
	names := map[string]bool{}
	for _, match := range variable.FindAllStringSubmatch(text, -1) {
		if _, known := v[match[1]]; !known {
			_, err := v.fill(field, "${"+match[1]+"}", asIs)
			return "", err
		}
		names[match[1]] = true
	}
	var assignments strings.Builder
	for _, name := range slices.Sorted(maps.Keys(names)) {
		fmt.Fprintf(&assignments, "%s='%s'\n", name, v[name]) // inert: no quote among them
	}
	return assignments.String(), nil
}

// script puts assignments behind the first line.
func (v values) script(field, text string) (string, error) {
	assignments, err := v.used(field, text)
	if err != nil || assignments == "" {
		return text, err
	}
	first, rest, _ := strings.Cut(text, "\n")
	if !shells.MatchString(first) {
		return "", wrong(field, "the script begins with %q and has variables; only scripts for a POSIX shell may have variables", first)
	}
	return first + "\n" + assignments + rest, nil
}

// ignition fills the strings of a JSON document.
func (v values) ignition(text []byte) ([]byte, error) {
	const field = "userData"
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var document any
	err := decoder.Decode(&document)
	if _, more := decoder.Token(); err != nil || !errors.Is(more, io.EOF) {
		return nil, wrong(field, "is not one JSON document")
	}
	filled, err := v.walk(field, document)
	if err != nil {
		return nil, err
	}
	return json.Marshal(filled)
}

func (v values) walk(field string, node any) (any, error) {
	switch node := node.(type) {
	case string:
		escape := asIs
		if strings.HasPrefix(node, "data:") {
			escape = url.PathEscape
		}
		return v.fill(field, node, escape)
	case []any:
		for i := range node {
			var err error
			if node[i], err = v.walk(fmt.Sprintf("%s[%d]", field, i), node[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(node)) {
			if variable.MatchString(key) {
				return nil, wrong(field, "the key %q has a variable", key)
			}
			var err error
			if node[key], err = v.walk(field+"."+key, node[key]); err != nil {
				return nil, err
			}
		}
	}
	return node, nil
}

// cloudConfig fills the scalars of a YAML document.
func (v values) cloudConfig(text []byte) ([]byte, error) {
	const field = "userData"
	var document, more yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&document); err != nil || len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return nil, wrong(field, "is no YAML document of keys and values")
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, wrong(field, "has more than one YAML document")
	}
	if err := v.visit(field, document.Content[0], false); err != nil {
		return nil, err
	}
	filled, err := encode(&document)
	if err != nil {
		return nil, wrong(field, "cannot be written again: %w", err)
	}
	if !bytes.HasPrefix(filled, []byte(cloudConfigStart)) { // a comment, which the library keeps
		filled = append([]byte(cloudConfigStart+"\n"), filled...)
	}
	return filled, nil
}

// visit fills the scalars below a node. command: they are commands for a shell.
func (v values) visit(field string, node *yaml.Node, command bool) error {
	switch node.Kind {
	case yaml.ScalarNode:
		return v.scalar(field, node, command)
	case yaml.SequenceNode:
		for i, item := range node.Content {
			inside := command && item.Kind == yaml.ScalarNode // a list is one command with its arguments
			if err := v.visit(fmt.Sprintf("%s[%d]", field, i), item, inside); err != nil {
				return err
			}
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := node.Content[i]
			if tag := key.ShortTag(); variable.MatchString(key.Value) || key.Kind != yaml.ScalarNode || tag != "!!str" && tag != "!!merge" {
				return wrong(field, "the key %q must be a text without a variable", key.Value)
			}
			commands := field == "userData" && (key.Value == "runcmd" || key.Value == "bootcmd")
			if err := v.visit(field+"."+key.Value, node.Content[i+1], commands); err != nil {
				return err
			}
		}
	}
	return nil
}

func (v values) scalar(field string, node *yaml.Node, command bool) (err error) {
	before := node.Value
	switch {
	case !variable.MatchString(before):
		return nil
	case command:
		var assignments string
		assignments, err = v.used(field, before)
		node.Value = assignments + before
	case strings.HasPrefix(before, "#!"):
		node.Value, err = v.script(field, before)
	default:
		node.Value, err = v.fill(field, before, asIs)
	}
	node.Tag = "!!str"
	if !strings.Contains(node.Value, "\n") {
		node.Style = yaml.DoubleQuotedStyle
	} else {
		node.Style = yaml.LiteralStyle
	}
	return err
}
