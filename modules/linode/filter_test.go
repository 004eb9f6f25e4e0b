package linode_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
)

func TestFilterEncoding(t *testing.T) {
	label, tags := linode.Where("label"), linode.Where("tags")
	rows := []struct {
		name   string
		filter linode.Filter
		want   string
	}{
		{"zero", linode.Filter{}, ``},
		{"equal", label.Equal("demo"), `{"label":"demo"}`},
		{"number", linode.Where("id").EqualInt(7), `{"id":7}`},
		{"truth", linode.Where("available").EqualBool(true), `{"available":true}`},
		{"contains", label.Contains("lke12-"), `{"label":{"+contains":"lke12-"}}`},
		{"not", label.NotEqual("x"), `{"label":{"+neq":"x"}}`},
		{"range", linode.And(linode.Where("vcpus").GreaterOrEqual(2), linode.Where("vcpus").Less(8)),
			`{"+and":[{"vcpus":{"+gte":2}},{"vcpus":{"+lt":8}}]}`},
		{"open range", linode.And(linode.Where("disk").Greater(1), linode.Where("disk").LessOrEqual(2)),
			`{"+and":[{"disk":{"+gt":1}},{"disk":{"+lte":2}}]}`},
		{"since", linode.Where("created").Since(time.Date(2026, 3, 1, 10, 0, 0, 0, time.FixedZone("", 3600))),
			`{"created":{"+gte":"2026-03-01T09:00:00"}}`},
		{"two conditions on one field", linode.And(tags.Equal("a"), tags.Equal("b")), `{"+and":[{"tags":"a"},{"tags":"b"}]}`},
		{"any of", linode.Or(tags.Equal("a"), label.Equal("b")), `{"+or":[{"tags":"a"},{"label":"b"}]}`},
		{"nested", linode.And(label.Contains("x"), linode.Or(tags.Equal("a"), tags.Equal("b"))),
			`{"+and":[{"label":{"+contains":"x"}},{"+or":[{"tags":"a"},{"tags":"b"}]}]}`},
		{"and of one", linode.And(label.Equal("a")), `{"label":"a"}`},
		{"or of one", linode.Or(label.Equal("a")), `{"label":"a"}`},
		{"and of nothing", linode.And(), ``},
		{"and with nothing", linode.And(linode.Filter{}, label.Equal("a")), `{"label":"a"}`},
		{"ordered", label.Equal("a").OrderBy("id", linode.Ascending), `{"+order":"asc","+order_by":"id","label":"a"}`},
		{"only ordered", linode.Filter{}.OrderBy("id", linode.Descending), `{"+order":"desc","+order_by":"id"}`},
		{"text that needs escapes", label.Equal("\"<ü😀\u007f\n>"), `{"label":"\"<\u00fc\ud83d\ude00\u007f\n>"}`},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			if row.filter.Err() != nil || row.filter.String() != row.want {
				t.Errorf("got %s (%v), want %s", row.filter, row.filter.Err(), row.want)
			}
			api := &server{answer: always(200, emptyPage)}
			if _, err := linode.Collect(newClient(t, api).ListInstances(t.Context(), row.filter)); err != nil {
				t.Fatal(err)
			}
			if api.requests[0].filter != row.want {
				t.Errorf("sent %s", api.requests[0].filter)
			}
		})
	}
}

func TestFilterRefused(t *testing.T) {
	label := linode.Where("label").Equal("a")
	rows := map[string]linode.Filter{
		"field without name":          linode.Where("").Equal("a"),
		"operator as field":           linode.Where("+or").Equal("a"),
		"or of nothing":               linode.Or(),
		"or with nothing":             linode.Or(label, linode.Filter{}),
		"wrong inside and":            linode.And(label, linode.Or()),
		"wrong inside or":             linode.Or(label, linode.Where("").Equal("a")),
		"order inside and":            linode.And(label, label.OrderBy("id", linode.Ascending)),
		"order inside or":             linode.Or(label, label.OrderBy("id", linode.Ascending)),
		"order without field":         label.OrderBy("", linode.Ascending),
		"order without direction":     label.OrderBy("id", ""),
		"order of something wrong":    linode.Or().OrderBy("id", linode.Ascending),
		"contains in a nameless path": linode.Where("").Contains("x"),
	}
	for name, filter := range rows {
		t.Run(name, func(t *testing.T) {
			api := &server{answer: always(200, emptyPage)}
			_, err := linode.Collect(newClient(t, api).ListInstances(t.Context(), filter))
			if filter.Err() == nil || linode.KindOf(err) != linode.KindInvalid || api.count() != 0 {
				t.Errorf("%s: %v, %d requests", filter, err, api.count())
			}
		})
	}
}

// TestFilterKeepsEveryCondition builds filters at random and finds every condition in the request.
func TestFilterKeepsEveryCondition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want []string
		var build func(depth int) linode.Filter
		build = func(depth int) linode.Filter {
			if depth == 0 || rapid.Bool().Draw(t, "leaf") {
				field := rapid.SampledFrom([]string{"label", "tags", "region"}).Draw(t, "field")
				value := rapid.String().Draw(t, "value")
				want = append(want, fmt.Sprintf("%s=%s", field, strings.ToValidUTF8(value, "\uFFFD")))
				return linode.Where(field).Equal(value)
			}
			parts := make([]linode.Filter, rapid.IntRange(1, 4).Draw(t, "parts"))
			for i := range parts {
				parts[i] = build(depth - 1)
			}
			if rapid.Bool().Draw(t, "and") {
				return linode.And(parts...)
			}
			return linode.Or(parts...)
		}
		filter := build(3)
		if filter.Err() != nil {
			t.Fatal(filter.Err())
		}
		header := filter.String()
		for _, c := range []byte(header) {
			if c < ' ' || c >= 0x7f {
				t.Fatalf("%q cannot stand in a header", header)
			}
		}
		var decoded map[string]any
		if err := json.Unmarshal([]byte(header), &decoded); err != nil {
			t.Fatal(err)
		}
		if got := conditions(t, decoded); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Fatalf("%s has %q, want %q", header, got, want)
		}
	})
}

// conditions lists the equalities of a decoded filter in order.
func conditions(t *rapid.T, object map[string]any) []string {
	if len(object) != 1 {
		t.Fatalf("an object with %d keys: %v", len(object), object)
	}
	var all []string
	for key, value := range object {
		if key != "+and" && key != "+or" {
			return []string{fmt.Sprintf("%s=%s", key, value)}
		}
		for _, part := range value.([]any) {
			all = append(all, conditions(t, part.(map[string]any))...)
		}
	}
	return all
}

func FuzzFilterHeader(f *testing.F) {
	f.Add("label", "demo")
	f.Add("tags", "karpenter.sh/nodeclaim=a-b")
	f.Add("ü", "\x00\xff\u2028")
	f.Fuzz(func(t *testing.T, field, value string) {
		filter := linode.And(linode.Where(field).Equal(value), linode.Where(field).Contains(value))
		if filter.Err() != nil {
			return
		}
		api := &server{answer: always(200, emptyPage)}
		if _, err := linode.Collect(newClient(t, api).ListInstances(t.Context(), filter)); err != nil {
			t.Fatal(err)
		}
		var decoded struct {
			And []map[string]any `json:"+and"`
		}
		if err := json.Unmarshal([]byte(api.requests[0].filter), &decoded); err != nil || len(decoded.And) != 2 {
			t.Fatalf("%q: %v", api.requests[0].filter, err)
		}
		r := http.Header{}
		r.Set("X-Filter", api.requests[0].filter)
		var b strings.Builder
		if err := r.Write(&b); err != nil || strings.Count(b.String(), "\n") != 1 {
			t.Fatalf("%q is no header: %v", b.String(), err)
		}
	})
}
