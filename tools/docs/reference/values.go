package reference

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// value is one row of the table that helm-docs writes into the chart's README from the comments in values.yaml.
type value struct{ key, kind, def, meaning string }

var valueRow = regexp.MustCompile(`^\| (\S+) \| (\S+) \| (.*?) \| (.*) \|$`)

// readValues reads the table of values in the chart's README.
func readValues(chart string) ([]value, error) {
	readme, err := os.ReadFile(filepath.Join(chart, "README.md"))
	if err != nil {
		return nil, err
	}
	_, section, found := strings.Cut(string(readme), "\n## Values\n")
	if !found {
		return nil, errors.New(chart + "/README.md has no section Values")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var values []value
	for line := range strings.Lines(section) {
		line = strings.TrimSpace(line)
		if m := valueRow.FindStringSubmatch(line); m != nil && m[1] != "Key" {
			values = append(values, value{m[1], m[2], m[3], m[4]})
		}
	}
	if len(values) == 0 {
		return nil, errors.New(chart + "/README.md lists no values")
	}
	return values, nil
}

// valuesTable lists the chart's values. variables has the environment variables that each value sets.
func valuesTable(values []value, variables map[string][]string, schema *valueSchema) string {
	var rows [][]string
	for _, v := range values {
		rows = append(rows, []string{
			code(v.key), v.kind, short(v.def), codes(variables[v.key]), strings.TrimSpace(sentence(v.meaning) + " " + schema.at(v.key).allowed()),
		})
	}
	return table([]string{"Value", "Type", "Default", "Variable", "Meaning"}, rows)
}

// short replaces a long default by a link, to keep the table narrow.
func short(def string) string {
	if len(def) > 70 {
		return "see [values.yaml](../charts/karpenter/values.yaml)"
	}
	return def
}

// valueSchema is the part of a JSON schema that the reference shows.
type valueSchema struct {
	Properties map[string]*valueSchema `json:"properties"`
	Enum       []any                   `json:"enum"`
	Minimum    *float64                `json:"minimum"`
	Maximum    *float64                `json:"maximum"`
	Below      *float64                `json:"exclusiveMaximum"`
}

func readSchema(chart string) (*valueSchema, error) {
	text, err := os.ReadFile(filepath.Join(chart, "values.schema.json"))
	if err != nil {
		return nil, err
	}
	var schema valueSchema
	return &schema, json.Unmarshal(text, &schema)
}

// at returns the schema of a dotted key, or an empty schema if the key does not exist.
func (s *valueSchema) at(key string) *valueSchema {
	for name := range strings.SplitSeq(key, ".") {
		if s = s.Properties[name]; s == nil {
			return &valueSchema{}
		}
	}
	return s
}

func (s *valueSchema) allowed() string {
	var parts []string
	if len(s.Enum) > 0 {
		var values []string
		for _, v := range s.Enum {
			if v != "" && v != nil {
				values = append(values, code(fmt.Sprint(v)))
			}
		}
		parts = append(parts, sentence("one of "+strings.Join(values, ", ")))
	}
	if s.Minimum != nil || s.Maximum != nil {
		parts = append(parts, sentence(bounds(number(s.Minimum), number(s.Maximum), "")))
	}
	if s.Below != nil {
		parts = append(parts, sentence("below "+number(s.Below)))
	}
	return strings.Join(parts, " ")
}

// invert turns "value sets variables" into "variable is set by values".
func invert(variables map[string][]string) map[string][]string {
	values := map[string][]string{}
	for _, key := range slices.Sorted(maps.Keys(variables)) {
		for _, variable := range variables[key] {
			values[variable] = append(values[variable], key)
		}
	}
	return values
}
