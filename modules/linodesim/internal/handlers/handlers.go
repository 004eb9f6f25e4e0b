// Package handlers answers the API's operations from a world: the strict
// server interface that is generated from the API's description.
//
// It translates and nothing more: what is allowed and what happens is the
// world's business; tokens, limits, delays and faults are dealt with before a
// request gets here. Errors are *world.Refusal or *filter.Error.
package handlers

import (
	"context"
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/filter"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/operation"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/server"
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
	May       func(scope string) bool // whether the caller's token has a scope
}

type contextKey struct{}

// With attaches a request to a context.
func With(ctx context.Context, r Request) context.Context {
	return context.WithValue(ctx, contextKey{}, r)
}

func of(ctx context.Context) Request {
	r, _ := ctx.Value(contextKey{}).(Request)
	return r
}

// Server implements the generated interface. An operation that is added to
// what the server is generated with does not compile until it has a handler.
type Server struct{}

var _ server.StrictServerInterface = Server{}

// paging is the part of a request that every collection has.
type paging struct {
	page, size *int
	filter     *string
}

type listed[T any] struct {
	data                 []T
	page, pages, results int
}

// list filters, sorts, cuts the page and renders it.
func list[T, A any](r Request, items []T, p paging, field func(T, string) any, render func(T) A) (listed[A], error) {
	header := ""
	if p.filter != nil {
		header = *p.filter
	}
	f, err := filter.Parse(header, func(name string) bool { return r.Operation.Filterable(name, r.Beta) })
	if err != nil {
		return listed[A]{}, err
	}
	return cut(r, lacking(r, filter.Apply(f, items, field)), p, render)
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

func cut[T, A any](r Request, items []T, p paging, render func(T) A) (listed[A], error) {
	page, size := 1, 100
	if p.page != nil {
		page = *p.page
	}
	if p.size != nil {
		size = *p.size
	}
	if page < 1 {
		return listed[A]{}, refusal("page", "Must be at least 1")
	}
	if size < 25 || size > 500 {
		return listed[A]{}, refusal("page_size", "Must be 25-500")
	}
	pages := max(1, (len(items)+size-1)/size)
	if page > pages && !r.Live.Behaviour().LenientPages {
		return listed[A]{}, &world.Refusal{Status: 404, Reasons: []world.Reason{{Reason: "Not found"}}}
	}
	from := min((page-1)*size, len(items))
	if page > 1 {
		from = min(max(from+r.Shift, 0), len(items))
	}
	to := min(from+size, len(items))
	out := listed[A]{data: make([]A, 0, to-from), page: page, pages: pages, results: len(items)}
	for _, item := range items[from:to] {
		out.data = append(out.data, render(item))
	}
	return out, nil
}

func refusal(field, reason string) error {
	return &world.Refusal{Status: 400, Reasons: []world.Reason{{Field: field, Reason: reason}}}
}

func notFound() error {
	return &world.Refusal{Status: 404, Reasons: []world.Reason{{Reason: "Not found"}}}
}
