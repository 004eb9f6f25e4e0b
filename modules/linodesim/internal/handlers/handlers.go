// Package handlers answers the API's operations from a world. The table of
// handlers is generated from the API's description: each handler calls the method of
// the subject in package world that has the operation's name. An operation that is
// added to the description does not compile until the world has it.
//
// The code here is the same for all operations: it reads the values of the path and the
// body, and applies the filter, the order and the page of a list. The world decides
// which requests are allowed and their effects. Package linodesim handles tokens,
// limits, delays and faults before a request gets here. Errors are *world.Refusal or
// *filter.Error.
package handlers

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/filter"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/operation"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/world"
)

// Request holds a request as its handler gets it.
type Request struct {
	Live    *world.Moment // what writes change
	Seen    *world.Moment // what reads show: the same, or an older state
	Missing int           // how many entries a list lacks; Chance chooses them
	Chance  float64       // from 0 to below 1
	Shift   int           // pages after the first begin this many entries later
	// The behaviour of lists where the platform's answer is not known.
	IgnoreFilter, LenientPages bool
	Operation                  *operation.Operation
	HTTP                       *http.Request // without the version in its path, and with the values of its path
	in                         *input
}

// input is the part of a request that its operation describes.
type input struct {
	body []byte
	err  error // the first thing that is wrong
}

// Answer runs the handler of an operation. The request has been routed, and its
// body fits the description.
func Answer(r Request, body []byte) (any, error) {
	r.in = &input{body: body}
	return answers[r.Operation.ID](r)
}

// number returns a segment of the path as a number. A segment that is not a number is a
// 404.
func (r Request) number(name string) int {
	n, err := strconv.Atoi(r.HTTP.PathValue(name))
	if err != nil {
		r.in.err = cmp.Or[error](r.in.err, world.NotFound())
	}
	return n
}

func (r Request) text(name string) string { return r.HTTP.PathValue(name) }

// query returns a number from the query, such as page, or otherwise if the query lacks
// it.
func (r Request) query(name string, otherwise int) (int, error) {
	values, given := r.HTTP.URL.Query()[name]
	if !given {
		return otherwise, nil
	}
	n, err := strconv.Atoi(values[0])
	if err != nil {
		return 0, world.Refuse(name, "Must be an integer")
	}
	return n, nil
}

// decode reads the body; nil without one.
func decode[T any](r Request) *T {
	if len(bytes.TrimSpace(r.in.body)) == 0 {
		return nil
	}
	out := new(T)
	if err := json.Unmarshal(r.in.body, out); err != nil {
		r.in.err = cmp.Or[error](r.in.err, world.Refuse("", "JSON parse error"))
	}
	return out
}

// page is one page of a collection, as the API writes it.
type page[T any] struct {
	Data    []T `json:"data"`
	Page    int `json:"page"`
	Pages   int `json:"pages"`
	Results int `json:"results"`
}

// list filters, sorts and cuts the page. A filter compares the values in an entry's
// JSON.
func list[T any](r Request, items []T, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	header := r.HTTP.Header.Get("X-Filter")
	if r.IgnoreFilter {
		header = ""
	}
	f, err := filter.Parse(header, func(name string) bool { return r.Operation.MayFilter(name, r.Live.Beta) })
	if err != nil {
		return nil, err
	}
	items = filter.Apply(f, items, func(item T) filter.Get {
		return func(name string) any { return field(item, name) }
	})
	return cut(r, lacking(r, items))
}

// field returns the JSON value of an object's field. path is a name, or several names
// separated by dots. Only that field is written as JSON and read again.
func field(object any, path string) any {
	v := reflect.ValueOf(object)
	for name := range strings.SplitSeq(path, ".") {
		if v = named(reflect.Indirect(v), name); !v.IsValid() {
			return nil
		}
	}
	raw, err := json.Marshal(v.Interface())
	var value any
	if err == nil {
		err = json.Unmarshal(raw, &value)
	}
	if err != nil { // our own types always marshal
		panic(err)
	}
	return value
}

// named finds the field of a struct.
func named(v reflect.Value, name string) reflect.Value {
	if v.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	for i := range v.NumField() {
		if tag, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ","); tag == name {
			return v.Field(i)
		}
	}
	return reflect.Value{}
}

// lacking takes out the entries that a fault hides.
func lacking[T any](r Request, items []T) []T {
	n := min(r.Missing, len(items))
	if n == 0 {
		return items
	}
	first := int(r.Chance * float64(len(items)-n+1))
	return slices.Concat(items[:first], items[first+n:])
}

func cut[T any](r Request, items []T) (any, error) {
	number, err := r.query("page", 1)
	size, err2 := r.query("page_size", 100)
	switch {
	case err != nil || err2 != nil:
		return nil, cmp.Or(err, err2)
	case number < 1:
		return nil, world.Refuse("page", "Must be at least 1")
	case size < 25 || size > 500:
		return nil, world.Refuse("page_size", "Must be 25-500")
	}
	pages := max(1, (len(items)+size-1)/size)
	if number > pages && !r.LenientPages {
		return nil, world.NotFound()
	}
	from := min((number-1)*size, len(items))
	if number > 1 {
		from = min(max(from+r.Shift, 0), len(items))
	}
	to := min(from+size, len(items))
	return page[T]{Data: append([]T{}, items[from:to]...), Page: number, Pages: pages, Results: len(items)}, nil
}
