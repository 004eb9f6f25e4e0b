// Package filter reads and evaluates the API's X-Filter header.
//
// A filter is a JSON object. {"field": value} is equality; several keys of one
// object are all required; +and and +or hold lists of filter objects; a field
// may hold an object of +gt +gte +lt +lte +neq +contains; +order_by and +order
// sort. A list field (tags, ipv4) matches when one of its elements does.
// Comparison of text is exact.
//
// Everything else is an error, never ignored. Values of this package are
// immutable.
package filter

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Error says why a header was refused, in the API's words where those are known.
type Error struct {
	Reason string
	Field  string // the field that is no filter, if that is the reason
}

func (e *Error) Error() string { return e.Reason }

func errorf(format string, args ...any) error { return &Error{Reason: fmt.Sprintf(format, args...)} }

// Get gives a field's value: string, int, float64, bool, []string or nil.
type Get func(field string) any

// Filter is a parsed header. The zero value matches everything.
type Filter struct {
	test    test
	orderBy string
	desc    bool
}

type test func(Get) bool

// Parse reads a header's value; an empty one is no filter. Fields for which
// filterable is false are refused.
func Parse(header string, filterable func(field string) bool) (Filter, error) {
	if header == "" {
		return Filter{}, nil
	}
	dec := json.NewDecoder(strings.NewReader(header))
	var object map[string]any
	if err := dec.Decode(&object); err != nil || object == nil {
		return Filter{}, errorf("X-Filter must be a JSON object")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Filter{}, errorf("X-Filter must be one JSON object")
	}
	p := parser{filterable: filterable}
	f, err := p.order(object)
	if err != nil {
		return Filter{}, err
	}
	f.test, err = p.object(object)
	return f, err
}

// Match reports whether the object behind get passes.
func (f Filter) Match(get Get) bool { return f.test == nil || f.test(get) }

// Apply gives the items that match, in the wanted order; without one the
// order stays.
func Apply[T any](f Filter, items []T, fields func(T) Get) []T {
	if f.test == nil && f.orderBy == "" {
		return items
	}
	type found struct {
		item T
		get  Get
	}
	var matching []found
	for _, item := range items {
		if get := fields(item); f.Match(get) {
			matching = append(matching, found{item, get})
		}
	}
	if f.orderBy != "" {
		slices.SortStableFunc(matching, func(a, b found) int {
			c := compare(a.get(f.orderBy), b.get(f.orderBy))
			if f.desc {
				return -c
			}
			return c
		})
	}
	out := make([]T, len(matching))
	for i, m := range matching {
		out[i] = m.item
	}
	return out
}

type parser struct {
	filterable func(string) bool
}

func (p parser) order(object map[string]any) (Filter, error) {
	var f Filter
	by, ordered := object["+order_by"]
	direction, directed := object["+order"]
	if !ordered {
		if directed {
			return f, errorf("+order needs +order_by")
		}
		return f, nil
	}
	name, ok := by.(string)
	if !ok {
		return f, errorf("+order_by must be a string")
	}
	if !p.filterable(name) {
		return f, errorf("Cannot order by %s", name)
	}
	f.orderBy = name
	switch direction {
	case nil, "asc":
	case "desc":
		f.desc = true
	default:
		return f, errorf("+order must be asc or desc")
	}
	return f, nil
}

// object reads one filter object: all its keys must hold.
func (p parser) object(object map[string]any) (test, error) {
	var all []test
	for _, key := range slices.Sorted(maps.Keys(object)) {
		value := object[key]
		var t test
		var err error
		switch {
		case key == "+order_by" || key == "+order":
			continue
		case key == "+and" || key == "+or":
			t, err = p.list(key, value)
		case strings.HasPrefix(key, "+"):
			err = errorf("Unknown operator %s", key)
		case !p.filterable(key):
			// The API's words.
			err = &Error{Reason: "Cannot filter on " + key, Field: key}
		default:
			t, err = condition(key, value)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return every(all), nil
}

func (p parser) list(op string, value any) (test, error) {
	items, ok := value.([]any)
	if !ok {
		return nil, errorf("%s must be a list of filters", op)
	}
	var tests []test
	for _, item := range items {
		object, ok := item.(map[string]any)
		if !ok {
			return nil, errorf("%s must be a list of filters", op)
		}
		t, err := p.object(object)
		if err != nil {
			return nil, err
		}
		tests = append(tests, t)
	}
	if op == "+and" {
		return every(tests), nil
	}
	return some(tests), nil
}

func every(tests []test) test {
	return func(get Get) bool {
		for _, t := range tests {
			if !t(get) {
				return false
			}
		}
		return true
	}
}

func some(tests []test) test {
	return func(get Get) bool {
		return slices.ContainsFunc(tests, func(t test) bool { return t(get) })
	}
}

func condition(field string, value any) (test, error) {
	switch v := value.(type) {
	case []any:
		return nil, errorf("%s must be a string, a number, a boolean or an operator object, not a list", field)
	case map[string]any:
		var all []test
		for _, op := range slices.Sorted(maps.Keys(v)) {
			t, err := operator(field, op, v[op])
			if err != nil {
				return nil, err
			}
			all = append(all, t)
		}
		return every(all), nil
	default:
		return func(get Get) bool { return anyOf(get(field), func(have any) bool { return equal(have, value) }) }, nil
	}
}

func operator(field, op string, value any) (test, error) {
	switch op {
	case "+neq":
		return func(get Get) bool { return !anyOf(get(field), func(have any) bool { return equal(have, value) }) }, nil
	case "+contains":
		part, ok := value.(string)
		if !ok {
			return nil, errorf("+contains needs a string")
		}
		return func(get Get) bool {
			return anyOf(get(field), func(have any) bool {
				s, ok := have.(string)
				return ok && strings.Contains(s, part)
			})
		}, nil
	case "+gt", "+gte", "+lt", "+lte":
		if !comparable(value) {
			return nil, errorf("%s needs a number or a date", op)
		}
		return func(get Get) bool {
			return anyOf(get(field), func(have any) bool { return holds(op, have, value) })
		}, nil
	default:
		return nil, errorf("Unknown operator %s", op)
	}
}

func comparable(value any) bool {
	switch value.(type) {
	case float64, string:
		return true
	}
	return false
}

func holds(op string, have, want any) bool {
	if have == nil || (number(have) == nil) != (number(want) == nil) {
		return false
	}
	c := compare(have, want)
	switch op {
	case "+gt":
		return c > 0
	case "+gte":
		return c >= 0
	case "+lt":
		return c < 0
	default:
		return c <= 0
	}
}

// anyOf tries a value, or each element of a list.
func anyOf(value any, is func(any) bool) bool {
	list, ok := value.([]string)
	if !ok {
		return is(value)
	}
	return slices.ContainsFunc(list, func(s string) bool { return is(s) })
}

func equal(have, want any) bool {
	if a, b := number(have), number(want); a != nil && b != nil {
		return *a == *b
	}
	return have == want
}

func number(v any) *float64 {
	var f float64
	switch n := v.(type) {
	case int:
		f = float64(n)
	case float64:
		f = n
	default:
		return nil
	}
	return &f
}

func compare(a, b any) int {
	if x, y := number(a), number(b); x != nil && y != nil {
		return cmp.Compare(*x, *y)
	}
	return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))
}
