package linodesim_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// Every field that the description calls filterable finds the entries that have the value, or is refused: an answer without
// entries would look as if there were none.
func TestEveryFilterableFieldFindsItsEntries(t *testing.T) {
	for _, op := range api.Operations() {
		if !op.Paginated {
			continue
		}
		t.Run(string(op.ID), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := oneOfEverything(t, string(op.ID))
				path := "/v4beta" + op.Route
				for name, id := range p.ids {
					path = strings.ReplaceAll(path, name, url.PathEscape(id))
				}
				all := p.do("GET", path, "").data(t)
				for _, field := range op.Filterable {
					value, found := example(all, field)
					if !found {
						continue
					}
					text, _ := json.Marshal(value)
					got := p.do("GET", path, "", "X-Filter", fmt.Sprintf(`{%q:%s}`, field, text))
					if got.status == 400 {
						if _, reason := got.reason(); reason != "Cannot filter on "+field {
							t.Errorf("%s: %s", field, got.raw)
						}
						if _, scalar := value.(map[string]any); !scalar {
							t.Errorf("%s of %v is refused", field, value)
						}
						continue
					}
					if got.status != 200 || len(got.data(t)) == 0 {
						t.Errorf("%s of %s finds nothing: %s", field, text, got.raw)
					}
				}
			})
		})
	}
}

// example is a value that an entry has under a name, with dots for nested ones.
func example(entries []map[string]any, field string) (any, bool) {
	for _, entry := range entries {
		var value any = entry
		for name := range strings.SplitSeq(field, ".") {
			object, _ := value.(map[string]any)
			value = object[name]
		}
		if list, ok := value.([]any); ok {
			if len(list) == 0 {
				continue
			}
			value = list[0]
		}
		if value != nil {
			return value, true
		}
	}
	return nil, false
}
