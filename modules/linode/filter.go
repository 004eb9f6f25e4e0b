package linode

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf16"
)

// Filter is a condition on the entries of a collection, sent as the header X-Filter. The zero value lets all entries pass. A
// Filter never changes: And, Or and OrderBy return new ones. A Filter loses no condition: it writes several conditions as a
// list ({"+and": [...]}), and never as keys of one object, where a second condition on a field would replace the first.
//
// The API refuses a field that is not filterable; the call's error has KindInvalid. Operation.Filterable of package api
// lists the filterable fields. lke_cluster_id, type and status of instances are not filterable.
type Filter struct {
	condition any // nil, or map[string]any with one key
	order     *order
	err       error
}

type order struct {
	field     string
	direction Direction
}

// Direction orders the results of OrderBy.
type Direction string

// The two directions.
const (
	Ascending  Direction = "asc"
	Descending Direction = "desc"
)

// Field is a field of the entries; its methods make conditions: Where("label").Equal("web"). A field of a nested object is
// named with a dot, such as placement_group.label.
type Field struct{ name string }

// Where starts a condition on a field.
func Where(field string) Field { return Field{name: field} }

// Equal selects entries whose field has this value. For the field tags, it selects entries that have this tag, with or
// without others.
func (f Field) Equal(value string) Filter { return f.condition(value) }

// EqualInt selects entries whose field is this number.
func (f Field) EqualInt(value int) Filter { return f.condition(value) }

// EqualBool selects entries whose field is this truth value.
func (f Field) EqualBool(value bool) Filter { return f.condition(value) }

// NotEqual selects entries whose field has another value.
func (f Field) NotEqual(value string) Filter { return f.operator("+neq", value) }

// Contains selects entries whose field contains this text. Mind that "lke1" is also part of "lke12".
func (f Field) Contains(part string) Filter { return f.operator("+contains", part) }

// Greater selects entries whose field is above this number.
func (f Field) Greater(value int) Filter { return f.operator("+gt", value) }

// GreaterOrEqual selects entries whose field is this number or above.
func (f Field) GreaterOrEqual(value int) Filter { return f.operator("+gte", value) }

// Less selects entries whose field is below this number.
func (f Field) Less(value int) Filter { return f.operator("+lt", value) }

// LessOrEqual selects entries whose field is this number or below.
func (f Field) LessOrEqual(value int) Filter { return f.operator("+lte", value) }

// Since selects entries whose time is this one or later, to the second.
func (f Field) Since(value time.Time) Filter {
	return f.operator("+gte", value.UTC().Format("2006-01-02T15:04:05"))
}

func (f Field) operator(name string, value any) Filter {
	return f.condition(map[string]any{name: value})
}

func (f Field) condition(value any) Filter {
	if f.name == "" || strings.HasPrefix(f.name, "+") {
		return Filter{err: fmt.Errorf("%q is not a field name", f.name)}
	}
	return Filter{condition: map[string]any{f.name: value}}
}

// And selects entries that pass all filters. Zero Filters among them change nothing; without filters, And returns the zero
// Filter.
func And(filters ...Filter) Filter {
	list, err := conditions(filters)
	if err != nil {
		return Filter{err: err}
	}
	return join("+and", list)
}

// Or selects entries that pass at least one of the filters. The result is an invalid Filter (see Err) if there are no
// filters, or if one of them lets every entry pass. A caller that makes its alternatives from an empty list would otherwise
// select every entry.
func Or(filters ...Filter) Filter {
	list, err := conditions(filters)
	switch {
	case err != nil:
		return Filter{err: err}
	case len(filters) == 0:
		return Filter{err: errors.New("Or needs at least one filter")}
	case len(list) < len(filters):
		return Filter{err: errors.New("a filter of Or is empty and would select every entry")}
	}
	return join("+or", list)
}

// conditions returns the conditions of filters, without the filters that have no condition.
func conditions(filters []Filter) (list []any, err error) {
	for _, filter := range filters {
		switch {
		case filter.err != nil:
			return nil, filter.err
		case filter.order != nil:
			return nil, errOrderInside
		case filter.condition != nil:
			list = append(list, filter.condition)
		}
	}
	return list, nil
}

var errOrderInside = errors.New("OrderBy belongs to the whole filter, not to a part of And or Or")

func join(operator string, list []any) Filter {
	switch len(list) {
	case 0:
		return Filter{}
	case 1:
		return Filter{condition: list[0]}
	}
	return Filter{condition: map[string]any{operator: list}}
}

// OrderBy returns the filter with an order of its results, by a filterable field. A second OrderBy replaces the first.
func (f Filter) OrderBy(field string, direction Direction) Filter {
	if f.err != nil {
		return f
	}
	if field == "" || (direction != Ascending && direction != Descending) {
		return Filter{err: fmt.Errorf("OrderBy needs a field and a direction, found %q and %q", field, direction)}
	}
	f.order = &order{field, direction}
	return f
}

// Err returns the error of the filter, or nil. A call with a wrong filter sends nothing and fails with
// KindInvalid.
func (f Filter) Err() error { return f.err }

// String returns the filter as it is sent, "" for the zero value.
func (f Filter) String() string {
	text, err := f.header()
	if err != nil {
		return "invalid filter: " + err.Error()
	}
	return text
}

// header returns the JSON of the filter in ASCII, because it travels in a header.
func (f Filter) header() (string, error) {
	if f.err != nil || (f.condition == nil && f.order == nil) {
		return "", f.err
	}
	object := map[string]any{}
	if condition, ok := f.condition.(map[string]any); ok {
		for key, value := range condition { // one key, see join and condition
			object[key] = value
		}
	}
	if f.order != nil {
		object["+order_by"], object["+order"] = f.order.field, string(f.order.direction)
	}
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(object); err != nil {
		return "", err
	}
	return ascii(strings.TrimSuffix(b.String(), "\n")), nil
}

// ascii writes characters outside ASCII as JSON escapes.
func ascii(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r < 0x7f {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}
