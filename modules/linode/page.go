package linode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

const (
	// pageSize is the largest page that the API allows. Large pages save requests of a class that has only 200 a minute.
	pageSize = 500
	// maxPages bounds a collection to 50,000 entries. No account comes near; the bound ends the reading of a server that always
	// announces one more page.
	maxPages = 100
	// maxPasses bounds how often a collection that keeps shrinking is read.
	maxPasses = 4
)

// page is the envelope of all collections.
type page[T any] struct {
	Data    []T `json:"data"`
	Page    int `json:"page"`
	Pages   int `json:"pages"`
	Results int `json:"results"`
}

// iterate yields the entries of a collection, page by page. When the collection shrinks between two pages, entries move to a page
// that was already read. iterate then reads the collection again from the start and leaves out the entries that it has yielded.
func iterate[T any, K comparable](ctx context.Context, c *Client, id api.OperationID, filter Filter, key func(T) K,
	segments ...any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		operation, _ := api.OperationByID(id)
		header, err := filter.header()
		if err != nil {
			yield(none, invalid(operation, "X-Filter", err))
			return
		}
		first, err := c.request(ctx, id, nil, segments)
		if err != nil {
			yield(none, err)
			return
		}
		if header != "" {
			first.Header.Set("X-Filter", header)
		}
		seen := map[K]bool{}
		for range maxPasses {
			complete, err := readPages(c, operation, first, func(item T) bool {
				if seen[key(item)] {
					return true
				}
				seen[key(item)] = true
				return yield(item, nil)
			})
			if err != nil {
				yield(none, err)
			}
			if err != nil || complete {
				return
			}
		}
		yield(none, &Error{
			Kind: KindUnavailable, Method: operation.Method, Route: operation.Route,
			Err: errors.New("the collection shrank every time it was read"),
		})
	}
}

// readPages passes all entries to use, and returns false if the collection shrank in the meantime. It also returns true
// when use ends the reading by returning false.
func readPages[T any](c *Client, operation api.Operation, first *http.Request, use func(T) bool) (complete bool, err error) {
	results := 0
	for number := 1; number <= maxPages; number++ {
		request := first.Clone(first.Context())
		request.URL.RawQuery = fmt.Sprintf("page=%d&page_size=%d", number, pageSize)
		answer, err := readPage[T](c, operation, request)
		// The collection shrank, and this page does not exist any more: the API may answer 404 or send its last page again.
		if number > 1 && KindOf(err) == KindNotFound {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if number > 1 && (answer.Page != number || answer.Results < results) {
			return false, nil
		}
		results = answer.Results
		for _, item := range answer.Data {
			if !use(item) {
				return true, nil
			}
		}
		// Earlier versions of the API answered page 0 of 0 for an empty collection.
		if answer.Page >= answer.Pages {
			return true, nil
		}
	}
	return false, malformed(operation, fmt.Errorf("more than %d pages", maxPages))
}

func readPage[T any](c *Client, operation api.Operation, request *http.Request) (page[T], error) {
	var answer page[T]
	err := c.do(operation.ID, request, func(body []byte) (err error) {
		answer, err = decodePage[T](body)
		return err
	})
	return answer, err
}

// decodePage counts entries before it decodes them: an empty entry is short in JSON and large in memory.
func decodePage[T any](body []byte) (page[T], error) {
	var raw page[json.RawMessage]
	if err := json.Unmarshal(body, &raw); err != nil {
		return page[T]{}, err
	}
	switch {
	case raw.Data == nil:
		return page[T]{}, errors.New("the page has no data")
	case len(raw.Data) > pageSize:
		return page[T]{}, fmt.Errorf("a page of %d entries; %d were requested", len(raw.Data), pageSize)
	}
	answer := page[T]{Data: make([]T, len(raw.Data)), Page: raw.Page, Pages: raw.Pages, Results: raw.Results}
	for i, entry := range raw.Data {
		if err := json.Unmarshal(entry, &answer.Data[i]); err != nil {
			return page[T]{}, fmt.Errorf("entry %d: %w", i, err)
		}
	}
	return answer, nil
}

// Collect returns all entries of an iteration, or its error and no entries: never a part of them.
func Collect[T any](entries iter.Seq2[T, error]) ([]T, error) {
	var all []T
	for entry, err := range entries {
		if err != nil {
			return nil, err
		}
		all = append(all, entry)
	}
	return all, nil
}
