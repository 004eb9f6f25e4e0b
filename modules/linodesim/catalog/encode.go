package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Encode returns the catalog as facts.json has it: one line for each plan, region and image, so that a diff shows each
// changed entry.
func (c *Catalog) Encode() ([]byte, error) {
	var out bytes.Buffer
	fields := reflect.VisibleFields(reflect.TypeFor[Catalog]())
	for i, field := range fields {
		out.WriteString(separator(i, "{\n  "))
		fmt.Fprintf(&out, "%q: ", field.Tag.Get("json"))
		if err := encode(&out, reflect.ValueOf(c).Elem().FieldByIndex(field.Index)); err != nil {
			return nil, fmt.Errorf("encoding %s: %w", field.Name, err)
		}
	}
	out.WriteString("\n}\n")
	return out.Bytes(), nil
}

func encode(out *bytes.Buffer, value reflect.Value) error {
	if value.Kind() == reflect.Map {
		entries := value.Interface().(map[string][]string) //nolint:forcetypeassert // all maps of a Catalog
		for i, key := range slices.Sorted(maps.Keys(entries)) {
			out.WriteString(separator(i, "{\n    "))
			fmt.Fprintf(out, "%q: ", key)
			if err := write(out, entries[key]); err != nil {
				return err
			}
		}
		out.WriteString(closing(len(entries), "{", "}"))
		return nil
	}
	if value.Kind() != reflect.Slice || value.Type().Elem().Kind() == reflect.String {
		return write(out, value.Interface())
	}
	for i := range value.Len() {
		out.WriteString(separator(i, "[\n    "))
		if err := write(out, value.Index(i).Interface()); err != nil {
			return err
		}
	}
	out.WriteString(closing(value.Len(), "[", "]"))
	return nil
}

// separator returns the text before entry i of a list: the opening, or a comma and the line break of the opening.
func separator(i int, opening string) string {
	if i == 0 {
		return opening
	}
	return "," + opening[1:]
}

func closing(entries int, opening, end string) string {
	if entries == 0 {
		return opening + end
	}
	return "\n  " + end
}

// write appends the JSON of a value without a newline, and does not escape characters of HTML.
func write(out *bytes.Buffer, value any) error {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	out.Write(bytes.TrimRight(line.Bytes(), "\n"))
	return nil
}
