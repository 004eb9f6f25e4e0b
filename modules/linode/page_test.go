package linode_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// collection serves entries by the page, as the API does; before each page it may change itself.
type collection struct {
	ids    []int
	size   int // instead of the requested page_size, so that tests need few entries
	before func(c *collection, page int)
	// strict: beyond the end is a 404, and not the last page.
	strict bool
}

func (c *collection) answer(_ int, r *http.Request) (*http.Response, error) {
	number, _ := strconv.Atoi(r.URL.Query().Get("page"))
	if c.before != nil {
		c.before(c, number)
	}
	pages := max(1, (len(c.ids)+c.size-1)/c.size)
	if c.strict && number > pages {
		return reply(404, refusal("Not found"))
	}
	number = min(number, pages)
	data := []map[string]any{}
	for _, id := range c.ids[(number-1)*c.size : min(number*c.size, len(c.ids))] {
		data = append(data, map[string]any{"id": id, "created": "2026-03-01T09:30:00", "updated": "2026-03-01T09:30:00"})
	}
	body, err := json.Marshal(map[string]any{"page": number, "pages": pages, "results": len(c.ids), "data": data})
	if err != nil {
		return nil, err
	}
	return reply(200, string(body))
}

func numbers(from, to int) []int {
	var all []int
	for i := from; i <= to; i++ {
		all = append(all, i)
	}
	return all
}

func instanceIDs(instances []api.Instance) []int {
	ids := make([]int, 0, len(instances))
	for _, instance := range instances {
		ids = append(ids, instance.ID)
	}
	return ids
}

func TestPages(t *testing.T) {
	rows := []struct {
		name     string
		ids      []int
		before   func(c *collection, page int)
		want     []int
		requests int
	}{
		{"empty", nil, nil, []int{}, 1},
		{"one page", numbers(1, 10), nil, numbers(1, 10), 1},
		{"three pages", numbers(1, 25), nil, numbers(1, 25), 3},
		{"grows while read", numbers(1, 15), func(c *collection, page int) {
			if page == 2 {
				c.ids = append(c.ids, 16, 17)
			}
		}, numbers(1, 17), 2},
		{"grows at the front", numbers(10, 24), func(c *collection, page int) {
			if page == 2 && len(c.ids) == 15 {
				c.ids = append([]int{9}, c.ids...)
			}
		}, numbers(10, 24), 2},
		{"shrinks while read", numbers(1, 25), func(c *collection, page int) {
			if page == 2 && len(c.ids) == 25 {
				c.ids = c.ids[1:] // 11 moves to the first page, which has been read
			}
		}, numbers(1, 25), 5},
		{"shrinks below the page asked for", numbers(1, 25), func(c *collection, page int) {
			if page == 3 {
				c.ids = c.ids[:12]
			}
		}, numbers(1, 20), 5},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			for _, strict := range []bool{false, true} {
				entries := &collection{ids: slices.Clone(row.ids), size: 10, before: row.before, strict: strict}
				s := &server{answer: entries.answer}
				got, err := linode.Collect(newClient(t, s).ListInstances(t.Context(), linode.Filter{}))
				if err != nil {
					t.Fatal(err)
				}
				ids := instanceIDs(got)
				slices.Sort(ids)
				if !slices.Equal(ids, row.want) || s.count() != row.requests {
					t.Errorf("beyond the end is a 404: %t: got %v in %d requests, want %v in %d", strict, ids, s.count(), row.want, row.requests)
				}
				for _, r := range s.requests {
					if r.path != "/v4beta/linode/instances" {
						t.Errorf("path %s", r.path)
					}
				}
				if s.requests[0].query != "page=1&page_size=500" {
					t.Errorf("query %s", s.requests[0].query)
				}
			}
		})
	}
}

func TestPagesFail(t *testing.T) {
	rows := []struct {
		name   string
		answer func(int, *http.Request) (*http.Response, error)
		kind   linode.Kind
		before int // entries before the error
	}{
		{"second page refused", func(n int, r *http.Request) (*http.Response, error) {
			if n == 2 {
				return reply(403, refusal("no"))
			}
			return (&collection{ids: numbers(1, 25), size: 10}).answer(n, r)
		}, linode.KindForbidden, 10},
		{"always shrinks", (&collection{ids: numbers(1, 1000), size: 10, before: func(c *collection, page int) {
			if page == 2 {
				c.ids = c.ids[1:]
			}
		}}).answer, linode.KindUnavailable, 13},
		{"first page not found", always(404, refusal("Not found")), linode.KindNotFound, 0},
		{"no data", always(200, `{}`), linode.KindMalformed, 0},
		{"data is null", always(200, `{"page":1,"pages":1,"results":0,"data":null}`), linode.KindMalformed, 0},
		{"array", always(200, `[]`), linode.KindMalformed, 0},
		{"endless", func(n int, _ *http.Request) (*http.Response, error) {
			return reply(200, fmt.Sprintf(`{"page":%d,"pages":%d,"results":5,"data":[]}`, n, n+1))
		}, linode.KindMalformed, 0},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				client := newClient(t, &server{answer: row.answer})
				count := 0
				var last error
				for _, err := range client.ListInstances(t.Context(), linode.Filter{}) {
					if last != nil {
						t.Fatal("the iteration went on after an error")
					}
					if last = err; err == nil {
						count++
					}
				}
				if linode.KindOf(last) != row.kind || count != row.before {
					t.Errorf("%d entries and %v, want %d and %s", count, last, row.before, row.kind)
				}
				all, err := linode.Collect(newClient(t, &server{answer: row.answer}).ListInstances(t.Context(), linode.Filter{}))
				if err == nil || all != nil {
					t.Errorf("Collect returned %d entries and %v", len(all), err)
				}
			})
		})
	}
}

func TestPagesStopWhenTheCallerDoes(t *testing.T) {
	s := &server{answer: (&collection{ids: numbers(1, 100), size: 10}).answer}
	for instance, err := range newClient(t, s).ListInstances(t.Context(), linode.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if instance.ID == 12 {
			break
		}
	}
	if s.count() != 2 {
		t.Errorf("%d pages were read, want 2", s.count())
	}
}

// TestPagesWhileDeleting removes entries at random between pages: whatever stays must be found, once.
func TestPagesWhileDeleting(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		removals := rapid.IntRange(0, 3).Draw(r, "removals")
		entries := &collection{ids: numbers(1, rapid.IntRange(0, 60).Draw(r, "entries")), size: rapid.IntRange(3, 10).Draw(r, "size")}
		entries.before = func(c *collection, _ int) {
			if removals > 0 && len(c.ids) > 0 && rapid.Bool().Draw(r, "remove") {
				removals--
				i := rapid.IntRange(0, len(c.ids)-1).Draw(r, "which")
				c.ids = slices.Delete(slices.Clone(c.ids), i, i+1)
			}
		}
		client, err := linode.New(linode.Config{Token: linode.StaticToken(secret), Transport: &server{answer: entries.answer}})
		if err != nil {
			r.Fatal(err)
		}
		got, err := linode.Collect(client.ListInstances(t.Context(), linode.Filter{}))
		if err != nil {
			r.Fatal(err)
		}
		ids := instanceIDs(got)
		slices.Sort(ids)
		if len(slices.Compact(slices.Clone(ids))) != len(ids) {
			r.Fatalf("entries were yielded twice: %v", ids)
		}
		for _, id := range entries.ids {
			if !slices.Contains(ids, id) {
				r.Fatalf("%d is missing in %v", id, ids)
			}
		}
	})
}

func FuzzPage(f *testing.F) {
	f.Add([]byte(emptyPage))
	f.Add([]byte(`{"page":1,"pages":2,"results":1,"data":[{"id":1}]}`))
	f.Add([]byte(`{"page":0,"pages":0,"results":0,"data":[]}`))
	f.Add([]byte(`{"page":-1,"pages":99999999,"results":-5,"data":[{}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		inBubble(t, func(t *testing.T) {
			_, err := linode.Collect(newClient(t, &server{answer: always(200, string(body))}).ListInstances(t.Context(), linode.Filter{}))
			if err != nil && linode.KindOf(err) == linode.KindUnknown {
				t.Errorf("%q: %v", body, err)
			}
		})
	})
}
