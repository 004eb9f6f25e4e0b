package world

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// overlaid makes an object from the JSON of its parts, one part over the other. A field that a later part leaves out
// keeps its value. The result shares no memory with the parts.
func overlaid[T any](parts ...any) T {
	var out T
	for _, part := range parts {
		raw, err := json.Marshal(part)
		if err == nil {
			err = json.Unmarshal(raw, &out)
		}
		if err != nil { // our own types always fit
			panic(fmt.Errorf("%T from %T: %w", out, part, err))
		}
	}
	return out
}

// lookup finds an object by its ID.
func lookup[K int | string, T any](all map[K]T, id K) (T, error) {
	found, ok := all[id]
	if !ok {
		return found, NotFound()
	}
	return found, nil
}

// sorted lists objects by ID.
func sorted[K int | string, T any](all map[K]T) []T {
	return each(slices.Sorted(maps.Keys(all)), func(k K) T { return all[k] })
}

// each returns the results of a function for all elements.
func each[T, A any](all []T, of func(T) A) []A {
	out := make([]A, len(all))
	for i, one := range all {
		out[i] = of(one)
	}
	return out
}

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// optional returns a pointer to the value, or nil (null in JSON) for the zero value.
func optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// unlessZero is optional without a copy.
func unlessZero[T comparable](p *T) *T {
	var zero T
	if *p == zero {
		return nil
	}
	return p
}

func nonNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func nonNilMap(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// union returns all texts in their order, each text once.
func union(sets ...[]string) []string {
	out := []string{}
	for _, s := range slices.Concat(sets...) {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
