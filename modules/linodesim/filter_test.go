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

// unset are filterable fields for which no entry of the examples' account has a value.
var unset = map[string]bool{
	"image": true, "placement_group.label": true, "placement_group.placement_group_type": true, "linode_id": true, "nodebalancer_id": true,
}

// Every field that the description calls filterable finds the entries that have the value, or is refused: an answer without
// entries would look as if there were none. A field that it does not call so is refused.
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
						if len(all) > 0 && !unset[field] {
							t.Errorf("no entry has a value of %s: the test shows nothing", field)
						}
						continue
					}
					if _, object := value.(map[string]any); object {
						continue // the API accepts such a filter, and it is not known what it finds
					}
					text, _ := json.Marshal(value)
					got := p.do("GET", path, "", "X-Filter", fmt.Sprintf(`{%q:%s}`, field, text))
					if got.status != 200 || len(got.data(t)) == 0 {
						t.Errorf("%s of %s finds nothing: %s", field, text, got.raw)
					}
				}
				got := p.do("GET", path, "", "X-Filter", `{"no_such_field":1}`)
				if field, reason := got.reason(); got.status != 400 || field != "X-Filter" || reason != "Cannot filter on no_such_field" {
					t.Errorf("a field that does not exist: %d %s", got.status, got.raw)
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
