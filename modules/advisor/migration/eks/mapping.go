package eks

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/printable"
)

// mapping is a YAML mapping; the zero value is a missing mapping, which has no fields.
type mapping struct{ node *yaml.Node }

func (m mapping) exists() bool { return m.node != nil && m.node.Kind == yaml.MappingNode }

// index returns the index of a field's key, -1 if the field does not exist.
func (m mapping) index(field string) int {
	if !m.exists() {
		return -1
	}
	for i := 0; i+1 < len(m.node.Content); i += 2 {
		if m.node.Content[i].Value == field {
			return i
		}
	}
	return -1
}

func (m mapping) get(field string) *yaml.Node {
	if i := m.index(field); i >= 0 {
		return m.node.Content[i+1]
	}
	return nil
}

func (m mapping) keys() (keys []string) {
	if m.exists() {
		for i := 0; i+1 < len(m.node.Content); i += 2 {
			keys = append(keys, m.node.Content[i].Value)
		}
	}
	return keys
}

func (m mapping) child(field string) mapping { return mapping{m.get(field)} }

func (m mapping) text(field string) string {
	if node := m.get(field); node != nil && node.Kind == yaml.ScalarNode {
		return node.Value
	}
	return ""
}

// list returns the elements of a field that is a list.
func (m mapping) list(field string) []*yaml.Node {
	if node := m.get(field); node != nil && node.Kind == yaml.SequenceNode {
		return node.Content
	}
	return nil
}

func (m mapping) remove(field string) {
	if i := m.index(field); i >= 0 {
		m.node.Content = slices.Delete(m.node.Content, i, i+2)
	}
}

func (m mapping) removeEmpty(field string) {
	if node := m.get(field); node != nil && len(node.Content) == 0 && node.Value == "" {
		m.remove(field)
	}
}

// set gives a field a value, at the field's place, or at the end if it does not exist.
func (m mapping) set(field string, value *yaml.Node) {
	if i := m.index(field); i >= 0 {
		m.node.Content[i+1] = value
		return
	}
	m.node.Content = append(m.node.Content, scalar(field), value)
}

// comment adds lines above a field. A line feed in a line would end the comment, and the rest would count as YAML.
func (m mapping) comment(field string, lines ...string) {
	if i := m.index(field); i >= 0 {
		key := m.node.Content[i]
		var all []string
		if key.HeadComment != "" {
			all = append(all, key.HeadComment)
		}
		for _, line := range lines {
			all = append(all, printable.Text(line))
		}
		key.HeadComment = strings.Join(all, "\n")
	}
}

func scalar(text string) *yaml.Node {
	node := &yaml.Node{}
	node.SetString(text)
	return node
}

func texts(nodes []*yaml.Node) (values []string) {
	for _, node := range nodes {
		values = append(values, node.Value)
	}
	return values
}

func listOf(values ...string) *yaml.Node {
	list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, value := range values {
		list.Content = append(list.Content, scalar(value))
	}
	return list
}

// inline writes a value in one line, for a comment.
func inline(node *yaml.Node) string {
	clone := *node
	flow(&clone)
	data, err := yaml.Marshal(&clone)
	if err != nil {
		return "..."
	}
	const most = 100
	text := strings.Join(strings.Fields(string(data)), " ")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most-4]) + " ..."
	}
	return text
}

// flow formats a copy of a value as one line, without comments.
func flow(node *yaml.Node) {
	node.HeadComment, node.LineComment, node.FootComment = "", "", ""
	switch node.Kind {
	case yaml.MappingNode, yaml.SequenceNode:
		node.Style = yaml.FlowStyle
	case yaml.ScalarNode:
		if strings.Contains(node.Value, "\n") {
			node.Value, _, _ = strings.Cut(node.Value, "\n")
			node.Value += " ..."
		}
		node.Style = 0
	}
	content := make([]*yaml.Node, len(node.Content))
	for i, child := range node.Content {
		clone := *child
		flow(&clone)
		content[i] = &clone
	}
	node.Content = content
}
