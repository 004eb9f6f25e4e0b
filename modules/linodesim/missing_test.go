package linodesim_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/description"
)

// Each operation is sent for an object that does not exist, in each place of its path, also below one that exists.
func TestWhatDoesNotExistIsNotFound(t *testing.T) {
	eachOperation(t, func(t *testing.T, method, route string, op *openapi3.Operation) {
		for _, ref := range op.Parameters {
			missing := ref.Value
			if missing.In != "path" {
				continue
			}
			value := "none"
			if missing.Schema.Value.Type.Is("integer") {
				value = "999999999"
			}
			p := oneOfEverything(t, op.OperationID)
			path := strings.ReplaceAll(route, "{"+missing.Name+"}", value)
			for name, id := range p.ids {
				path = strings.ReplaceAll(path, name, url.PathEscape(id))
			}
			if got := p.do(method, "/v4beta"+path, exampleBody(t, p, op)); got.status != http.StatusNotFound {
				t.Errorf("%s %s: %d %s, want 404", method, path, got.status, got.raw)
			}
		}
	})
}

// exampleBody is an operation's example request, with the IDs that there are.
func exampleBody(t *testing.T, p replay, op *openapi3.Operation) string {
	t.Helper()
	if op.RequestBody == nil {
		return ""
	}
	request, _ := plain(t, op.RequestBody.Value.Content.Get("application/json").Example).(map[string]any)
	return p.ours(request)
}

// A path with a text in place of a number is a 404, and a body that is no object, or has a field that the operation does not have, a 400.
func TestFormsAreCheckedFirst(t *testing.T) {
	eachOperation(t, func(t *testing.T, method, route string, op *openapi3.Operation) {
		p := oneOfEverything(t, op.OperationID)
		path := route
		for name, id := range p.ids {
			path = strings.ReplaceAll(path, name, url.PathEscape(id))
		}
		if op.RequestBody != nil {
			for _, body := range []string{`[]`, `{`, `{"no_such_field":1}`} {
				if got := p.do(method, "/v4beta"+path, body); got.status != http.StatusBadRequest {
					t.Errorf("%s %s %s: %d %s", method, path, body, got.status, got.raw)
				}
			}
		}
		for _, ref := range op.Parameters {
			if wrong := ref.Value; wrong.In == "path" && wrong.Schema.Value.Type.Is("integer") {
				path := strings.ReplaceAll(route, "{"+wrong.Name+"}", "many")
				for name, id := range p.ids {
					path = strings.ReplaceAll(path, name, url.PathEscape(id))
				}
				if got := p.do(method, "/v4beta"+path, exampleBody(t, p, op)); got.status != http.StatusNotFound {
					t.Errorf("%s %s: %d %s", method, path, got.status, got.raw)
				}
			}
		}
	})
}

func eachOperation(t *testing.T, do func(t *testing.T, method, route string, op *openapi3.Operation)) {
	t.Helper()
	spec, err := description.GetSpec()
	if err != nil {
		t.Fatal(err)
	}
	for route, item := range spec.Paths.Map() {
		for method, op := range item.Operations() {
			t.Run(op.OperationID, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { do(t, method, route, op) })
			})
		}
	}
}
