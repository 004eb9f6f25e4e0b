package filter

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

var machines = []map[string]any{
	{"id": 1.0, "label": "lke12-1-a", "tags": []any{"lke12", "nodepool=1"}, "up": true, "price": 0.5, "created": "2026-03-01T09:30:00"},
	{"id": 2.0, "label": "lke12-2-b", "tags": []any{"lke12", "nodepool=2"}, "up": false, "price": 1.5, "created": "2026-03-02T09:30:00"},
	{"id": 3.0, "label": "lke121-3-c", "tags": []any{}, "up": true, "price": 2.5, "created": "2026-03-03T09:30:00"},
	{"id": 10.0, "label": "other", "tags": []any{"nodepool=1"}, "up": false, "price": 0.5, "created": "2026-03-04T09:30:00"},
}

func fields(name string) bool { return machines[0][name] != nil || name == "missing" }

func TestFilter(t *testing.T) {
	for _, c := range []struct{ name, header, want string }{
		{"none", ``, "1 2 3 10"},
		{"empty", `{}`, "1 2 3 10"},
		{"equal text", `{"label":"other"}`, "10"},
		{"equal number", `{"id":2}`, "2"},
		{"equal fraction", `{"price":0.5}`, "1 10"},
		{"equal boolean", `{"up":false}`, "2 10"},
		{"text is exact", `{"label":"OTHER"}`, ""},
		{"a number as text", `{"id":"2"}`, "2"},
		{"numbers as text", `{"id":"2,10"}`, "2 10"},
		{"text that is no number", `{"id":"2x"}`, ""},
		{"keys are all required", `{"up":true,"price":0.5}`, "1"},
		{"a tag", `{"tags":"lke12"}`, "1 2"},
		{"contains", `{"label":{"+contains":"lke12-"}}`, "1 2"},
		{"contains in a list", `{"tags":{"+contains":"pool=1"}}`, "1 10"},
		{"contains everything", `{"label":{"+contains":""}}`, "1 2 3 10"},
		{"not", `{"label":{"+neq":"other"}}`, "1 2 3"},
		{"not in a list", `{"tags":{"+neq":"lke12"}}`, "3 10"},
		{"greater", `{"id":{"+gt":2}}`, "3 10"},
		{"at least", `{"id":{"+gte":2}}`, "2 3 10"},
		{"less", `{"id":{"+lt":2}}`, "1"},
		{"at most", `{"id":{"+lte":2}}`, "1 2"},
		{"between", `{"id":{"+gt":1,"+lt":10}}`, "2 3"},
		{"since", `{"created":{"+gte":"2026-03-03T00:00:00"}}`, "3 10"},
		{"number against text", `{"label":{"+gt":1}}`, ""},
		{"and on one field", `{"+and":[{"tags":"lke12"},{"tags":"nodepool=1"}]}`, "1"},
		{"and without parts", `{"+and":[]}`, "1 2 3 10"},
		{"or", `{"+or":[{"id":3},{"label":"other"}]}`, "3 10"},
		{"or without parts", `{"+or":[]}`, ""},
		{"or beside a key", `{"+or":[{"id":3},{"id":1}],"tags":"lke12"}`, "1"},
		{"nested", `{"+or":[{"+and":[{"up":true},{"id":{"+gt":1}}]},{"id":10}]}`, "3 10"},
		{"field without value", `{"missing":"x"}`, ""},
		{"field without value, not", `{"missing":{"+neq":"x"}}`, "1 2 3 10"},
		{"null", `{"missing":null}`, "1 2 3 10"},
		{"order", `{"+order_by":"price"}`, "1 10 2 3"},
		{"order down", `{"+order_by":"id","+order":"desc"}`, "10 3 2 1"},
		{"order and filter", `{"up":true,"+order_by":"label","+order":"desc"}`, "3 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := Parse(c.header, fields)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range Apply(f, machines, func(m map[string]any) Get { return func(name string) any { return m[name] } }) {
				got = append(got, fmt.Sprint(m["id"]))
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("matches %v, want %s", got, c.want)
			}
		})
	}
}

func TestBadFilters(t *testing.T) {
	for _, c := range []struct{ header, words string }{
		{`{`, "JSON object"},
		{`[]`, "JSON object"},
		{`"x"`, "JSON object"},
		{`{} {}`, "one JSON object"},
		{`{} ]`, "one JSON object"},
		{`null`, "JSON object"},
		{`{"foo":"bar"}`, "Cannot filter on foo"},
		{`{"+or":[{"id":1},{"foo":1}]}`, "Cannot filter on foo"},
		{`{"+nor":[{"id":1}]}`, "Unknown operator +nor"},
		{`{"+or":{"id":1}}`, "+or must be a list"},
		{`{"+and":["id"]}`, "+and must be a list"},
		{`{"tags":["a","b"]}`, "not a list"},
		{`{"id":{"+like":1}}`, "Unknown operator +like"},
		{`{"id":{"+contains":1}}`, "needs a string"},
		{`{"id":{"+gt":true}}`, "needs a number"},
		{`{"+order":"asc"}`, "needs +order_by"},
		{`{"+order_by":"foo"}`, "Cannot order by foo"},
		{`{"+order_by":1}`, "must be a string"},
		{`{"+order_by":"id","+order":"up"}`, "asc or desc"},
	} {
		t.Run(c.header, func(t *testing.T) {
			_, err := Parse(c.header, fields)
			var refused *Error
			if !errors.As(err, &refused) || !strings.Contains(refused.Reason, c.words) {
				t.Errorf("error %v, want %q", err, c.words)
			}
		})
	}
}

// FuzzParse: whatever the header, it is refused in the API's way or filters
// without inventing entries, and in the same way twice.
func FuzzParse(f *testing.F) {
	for _, header := range []string{
		`{"+or":[{"tags":"a"},{"id":{"+gt":1}}],"+order_by":"id"}`,
		`{"+and":[{"label":{"+contains":"a"}},{"label":{"+neq":"b"}}],"+order_by":"label","+order":"desc"}`,
		`{}`, `null`, `{"id":null}`, `{"id":{}}`, `{"+or":[]}`, `{"id":1e400}`,
	} {
		f.Add(header)
	}
	get := func(m map[string]any) Get { return func(name string) any { return m[name] } }
	f.Fuzz(func(t *testing.T, header string) {
		parsed, err := Parse(header, fields)
		if err != nil {
			var refused *Error
			if !errors.As(err, &refused) || refused.Reason == "" {
				t.Fatalf("%q: %v is no refusal", header, err)
			}
			return
		}
		once, twice := Apply(parsed, machines, get), Apply(parsed, machines, get)
		if len(once) > len(machines) || fmt.Sprint(once) != fmt.Sprint(twice) {
			t.Fatalf("%q: %v, then %v", header, once, twice)
		}
	})
}
