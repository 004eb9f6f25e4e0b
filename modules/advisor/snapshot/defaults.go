package snapshot

import (
	"bufio"
	"encoding/json"
	"io"

	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// bufferedLines reads long lines too: kubectl writes a cluster as one document, and a line of it can be long.
func bufferedLines(from io.Reader) *bufio.Reader { return bufio.NewReaderSize(from, 1<<20) }

// defaulted sets the defaults of the CRD's schema in a NodePool that comes from a file.
func defaulted(data []byte) ([]byte, error) {
	var object map[string]any
	if err := json.Unmarshal(data, &object); err != nil {
		return nil, err
	}
	disruption := child(child(object, "spec"), "disruption")
	absent(disruption, "consolidateAfter", "0s")
	absent(disruption, "consolidationPolicy", "WhenEmptyOrUnderutilized")
	absent(disruption, "budgets", []any{map[string]any{"nodes": "10%"}})
	absent(child(child(child(object, "spec"), "template"), "spec"), "expireAfter", "720h")
	return json.Marshal(object)
}

// child returns the object of a field, made if it is absent.
func child(object map[string]any, field string) map[string]any {
	if inner, ok := object[field].(map[string]any); ok {
		return inner
	}
	inner := map[string]any{}
	object[field] = inner
	return inner
}

func absent(object map[string]any, field string, value any) {
	if _, ok := object[field]; !ok {
		object[field] = value
	}
}

// setKind writes the kind into an object: typed clients leave it out.
func setKind(object client.Object) error {
	kind, err := apiutil.GVKForObject(object, scheme.Scheme)
	if err == nil {
		object.GetObjectKind().SetGroupVersionKind(kind)
	}
	return err
}
