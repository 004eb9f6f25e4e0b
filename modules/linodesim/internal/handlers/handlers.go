// Package handlers answers the API's operations from a world. The table of
// handlers is generated from the API's description: an operation that is added
// to it does not compile until it has a method of Request.
//
// It translates and nothing more: what is allowed and what happens is the
// world's business; tokens, limits, delays and faults are dealt with before a
// request gets here. Errors are *world.Refusal or *filter.Error.
package handlers

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/filter"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/operation"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
)

// Request is what is known about a request before its handler runs.
type Request struct {
	Live      *world.World // what writes change
	Seen      *world.World // what reads show: the same, or an older state
	Missing   int          // how many entries a list lacks; Chance chooses them
	Chance    float64      // from 0 to below 1
	Shift     int          // how many entries pages after the first begin later
	Actor     world.Actor
	Beta      bool // below /v4beta
	Operation *operation.Operation
	HTTP      *http.Request // below its version, with the values of its path
	in        *input
	May       func(scope string) bool // whether the caller's token has a scope
}

// input is the part of a request that its operation describes.
type input struct {
	http *http.Request
	body []byte
	err  error // the first thing that is wrong
}

// Answer runs the handler of an operation. The request has been routed, and its
// body fits the description.
func Answer(r Request, body []byte) (any, error) {
	r.in = &input{http: r.HTTP, body: body}
	return answers[r.Operation.ID](r)
}

// number is a segment of the path; one that is no number names nothing.
func (r Request) number(name string) int {
	n, err := strconv.Atoi(r.HTTP.PathValue(name))
	if err != nil && r.in.err == nil {
		r.in.err = notFound()
	}
	return n
}

func (r Request) text(name string) string { return r.HTTP.PathValue(name) }

// query is a parameter for pages.
func (r Request) query(name string, otherwise int) (int, error) {
	values, given := r.HTTP.URL.Query()[name]
	if !given {
		return otherwise, nil
	}
	n, err := strconv.Atoi(values[0])
	if err != nil {
		return 0, refusal(name, "Must be an integer")
	}
	return n, nil
}

// decode reads the body; nil without one.
func decode[T any](r Request) *T {
	if len(bytes.TrimSpace(r.in.body)) == 0 {
		return nil
	}
	out := new(T)
	if err := json.Unmarshal(r.in.body, out); err != nil && r.in.err == nil {
		r.in.err = refusal("", "JSON parse error")
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

// one renders what the world gave.
func one[T, A any](render func(T) A) func(T, error) (A, error) {
	return func(found T, err error) (A, error) {
		if err != nil {
			var none A
			return none, err
		}
		return render(found), nil
	}
}

// list filters, sorts, cuts the page and renders it. A filter compares what an
// entry's JSON has.
func list[T, A any](r Request, items []T, render func(T) A) (page[A], error) {
	f, err := filter.Parse(r.HTTP.Header.Get("X-Filter"), func(name string) bool { return r.Operation.Filterable(name, r.Beta) })
	if err != nil {
		return page[A]{}, err
	}
	items = filter.Apply(f, items, func(item T) filter.Get {
		v := reflect.ValueOf(render(item))
		return func(name string) any { return field(v, name) }
	})
	return cut(r, lacking(r, items), render)
}

// field gives what a rendered object has under a JSON name, or a path of names
// separated by dots.
func field(v reflect.Value, name string) any {
	for first, rest, more := strings.Cut(name, "."); ; first, rest, more = strings.Cut(rest, ".") {
		if v = named(v, first); !v.IsValid() {
			return nil
		}
		if !more {
			return plain(v)
		}
	}
}

// named finds the field of a struct, or of what a pointer points to.
func named(v reflect.Value, name string) reflect.Value {
	v = reflect.Indirect(v)
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

// plain gives a value that a filter can compare.
func plain(v reflect.Value) any {
	v = reflect.Indirect(v)
	if !v.IsValid() {
		return nil
	}
	if t, ok := v.Interface().(api.Time); ok {
		return t.String()
	}
	switch v.Kind() {
	case reflect.String:
		return v.String()
	case reflect.Int:
		return int(v.Int())
	case reflect.Float64:
		return v.Float()
	case reflect.Bool:
		return v.Bool()
	case reflect.Slice:
		out := []string{}
		for i := range v.Len() {
			out = append(out, fmt.Sprint(plain(v.Index(i))))
		}
		return out
	}
	return nil
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

func cut[T, A any](r Request, items []T, render func(T) A) (page[A], error) {
	number, err := r.query("page", 1)
	size, err2 := r.query("page_size", 100)
	switch {
	case err != nil || err2 != nil:
		return page[A]{}, cmp.Or(err, err2)
	case number < 1:
		return page[A]{}, refusal("page", "Must be at least 1")
	case size < 25 || size > 500:
		return page[A]{}, refusal("page_size", "Must be 25-500")
	}
	pages := max(1, (len(items)+size-1)/size)
	if number > pages && !r.Live.Behaviour().LenientPages {
		return page[A]{}, notFound()
	}
	from := min((number-1)*size, len(items))
	if number > 1 {
		from = min(max(from+r.Shift, 0), len(items))
	}
	to := min(from+size, len(items))
	out := page[A]{Data: make([]A, 0, to-from), Page: number, Pages: pages, Results: len(items)}
	for _, item := range items[from:to] {
		out.Data = append(out.Data, render(item))
	}
	return out, nil
}

func refusal(field, reason string) error {
	return &world.Refusal{Status: 400, Reasons: []world.Reason{{Field: field, Reason: reason}}}
}

func notFound() error {
	return &world.Refusal{Status: 404, Reasons: []world.Reason{{Reason: "Not found"}}}
}
