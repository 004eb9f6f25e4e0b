// Package filter reads and evaluates the API's X-Filter header.
//
// A filter is a JSON object. {"field": value} is equality; several keys of one
// object are all required; +and and +or hold lists of filter objects; a field
// may hold an object of +gt +gte +lt +lte +neq +contains.
//
// Equality and every operator but +neq match a list field (tags, ipv4) if at least one element
// matches. +neq matches if no element is equal. Example, for an object with the tags a and b:
//
//	{"tags": "a"}             matches
//	{"tags": {"+neq": "c"}}   matches
//	{"tags": {"+neq": "a"}}   does not match, although b is not a
//
// Text is compared exactly, with upper and lower case. In equality, a text of the filter may name
// several values of a number field: {"subnet_id": "1,2"} matches 1 and 2. +gt, +gte, +lt and +lte
// compare a number with a number, and a text with a text; text is compared by its bytes, so the
// dates of the API are in order.
//
// +order_by names a field, and sorts. +order is "asc" (also the default, and null) or "desc"; any
// other value is an error, and so is +order without +order_by. Both count only in the outermost
// object: inside +and and +or they are ignored.
//
// Every other key or value is an error. Package linodesim answers an error with a 400, and
// keeps Error.Field in Sim.Unknown. Values of this package are immutable.
package filter

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Error is the reason why a header was refused, in the API's words where the words are known.
type Error struct {
	Reason string
	Field  string // the field of a condition that may not be filtered; "" for every other error, also for a field of +order_by
}

func (e *Error) Error() string { return e.Reason }

func errorf(format string, args ...any) error { return &Error{Reason: fmt.Sprintf(format, args...)} }

// Get gives a field's value as encoding/json decodes it: string, float64, bool,
// []any or nil. A number must be a float64: an int equals no number of a filter.
type Get func(field string) any

// Filter is a parsed header. The zero value matches everything.
type Filter struct {
	test    test
	orderBy string
	desc    bool
}

type test func(Get) bool

// Parse reads a header's value; an empty value is the zero Filter. Every error is an *Error: no
// JSON object, an unknown operator, a value of a wrong type, or a field, also of +order_by, for
// which filterable is false.
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

// Apply returns the items that match, in the filter's order. A filter without +order_by keeps the
// order of the items. With +order_by, items with equal values keep their order, also if +order is
// desc. The zero Filter returns items itself, not a copy.
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
	var tests []test
	for _, item := range items {
		var object map[string]any
		if object, ok = item.(map[string]any); !ok {
			break
		}
		t, err := p.object(object)
		if err != nil {
			return nil, err
		}
		tests = append(tests, t)
	}
	if !ok {
		return nil, errorf("%s must be a list of filters", op)
	}
	if op == "+and" {
		return every(tests), nil
	}
	return func(get Get) bool {
		return slices.ContainsFunc(tests, func(t test) bool { return t(get) })
	}, nil
}

func every(tests []test) test {
	return func(get Get) bool {
		return !slices.ContainsFunc(tests, func(t test) bool { return !t(get) })
	}
}

func condition(field string, value any) (test, error) {
	switch v := value.(type) {
	case []any:
		return nil, errorf("%s must be a string, a number, a boolean or an operator object, not a list", field)
	case map[string]any:
		var all []test
		for _, op := range slices.Sorted(maps.Keys(v)) {
			is, err := operator(op, v[op])
			if err != nil {
				return nil, err
			}
			all = append(all, func(get Get) bool { return anyOf(get(field), is) != (op == "+neq") })
		}
		return every(all), nil
	}
	return func(get Get) bool { return anyOf(get(field), func(have any) bool { return equal(have, value) }) }, nil
}

// equal compares a number with text, too: Linode's cloud controller manager filters addresses by
// {"subnet_id": "1,2"} (cloud/linode/services/vpc.go). That "1,2" matches either number is a guess
// from that use.
func equal(have, value any) bool {
	number, isNumber := have.(float64)
	text, isText := value.(string)
	if !isNumber || !isText {
		return have == value
	}
	return slices.Contains(strings.Split(text, ","), strconv.FormatFloat(number, 'f', -1, 64))
}

// operator returns the test of one value. For +neq it returns the test that no value may pass.
func operator(op string, value any) (func(have any) bool, error) {
	text, isText := value.(string)
	_, isNumber := value.(float64)
	var holds func(order int) bool
	switch op {
	case "+neq":
		return func(have any) bool { return have == value }, nil
	case "+contains":
		if !isText {
			return nil, errorf("+contains needs a string")
		}
		return func(have any) bool {
			s, ok := have.(string)
			return ok && strings.Contains(s, text)
		}, nil
	case "+gt":
		holds = func(order int) bool { return order > 0 }
	case "+gte":
		holds = func(order int) bool { return order >= 0 }
	case "+lt":
		holds = func(order int) bool { return order < 0 }
	case "+lte":
		holds = func(order int) bool { return order <= 0 }
	default:
		return nil, errorf("Unknown operator %s", op)
	}
	if !isText && !isNumber {
		return nil, errorf("%s needs a number or a date", op)
	}
	return func(have any) bool {
		_, number := have.(float64)
		return have != nil && number == isNumber && holds(compare(have, value))
	}, nil
}

// anyOf tries a value, or each element of a list.
func anyOf(value any, is func(any) bool) bool {
	if list, ok := value.([]any); ok {
		return slices.ContainsFunc(list, is)
	}
	return is(value)
}

func compare(a, b any) int {
	x, isNumber := a.(float64)
	if y, ok := b.(float64); ok && isNumber {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))
}
