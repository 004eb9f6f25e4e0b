package instance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
	strictjson "sigs.k8s.io/json"

	"github.com/karpenter-linode/karpenter-linode/modules/instances/bootstrap"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// extraConfig returns the decoded fields of kubelet.extraConfig. It returns an error for a field that the kubelet's KubeletConfiguration,
// of the release in go.mod, does not have with a value of that type. The kubelet itself checks ranges when it starts.
func extraConfig(given map[string]apiextensionsv1.JSON) (map[string]any, error) {
	fields := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		wrong := func(format string, args ...any) error {
			return &problem{reason: v1alpha1.ReasonBootstrapInvalid, field: "spec.kubelet.extraConfig." + name, text: fmt.Sprintf(format, args...)}
		}
		if why := bootstrap.ManagedField(name); why != "" {
			if field, own := ownField(name); own {
				return nil, wrong("use %s, the class's own field", field)
			}
			return nil, wrong("it cannot be set here: %s; remove it", why)
		}
		value, err := valueOf(name, given[name].Raw)
		if err != nil {
			return nil, wrong("%v", err)
		}
		fields[name] = value
	}
	return fields, nil
}

// ownField returns the field of a class that sets a field of the KubeletConfiguration, if there is one.
func ownField(name string) (string, bool) {
	return "spec.kubelet." + name, slices.Contains(namesOf(reflect.TypeFor[v1alpha1.KubeletConfiguration]()), name)
}

// valueOf decodes the value of a field, and compares it with the field's type.
func valueOf(name string, raw []byte) (any, error) {
	document, err := json.Marshal(map[string]json.RawMessage{name: raw})
	if err != nil {
		return nil, err
	}
	strict, err := strictjson.UnmarshalStrict(document, &kubeletv1beta1.KubeletConfiguration{})
	known := slices.Contains(namesOf(reflect.TypeFor[kubeletv1beta1.KubeletConfiguration]()), name)
	switch mistyped, is := errors.AsType[*json.UnmarshalTypeError](err); {
	case !known:
		return nil, fmt.Errorf("a KubeletConfiguration has no such field%s; correct the name or remove it", similar(name))
	case is:
		return nil, fmt.Errorf("it is %s, and %s takes %s; correct the value", short(raw), mistyped.Field, kindOf(mistyped.Type))
	case err != nil:
		return nil, fmt.Errorf("it is %s: %w; correct the value", short(raw), err)
	case len(strict) > 0:
		return nil, fmt.Errorf("it is %s: %w; correct the name or remove it", short(raw), errors.Join(strict...))
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber() // a number of bytes as float64 would be written with an exponent, which a kubelet does not take
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return exact(value), nil
}

// exact replaces JSON numbers that are integers by integers of Go.
func exact(value any) any {
	switch v := value.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	case map[string]any:
		for key, inner := range v {
			v[key] = exact(inner)
		}
	case []any:
		for i, inner := range v {
			v[i] = exact(inner)
		}
	}
	return value
}

// similar returns the field that differs from the name only in upper and lower case.
func similar(name string) string {
	for _, known := range namesOf(reflect.TypeFor[kubeletv1beta1.KubeletConfiguration]()) {
		if strings.EqualFold(known, name) {
			return ", but " + known
		}
	}
	return ""
}

// namesOf returns the names in JSON of a struct's fields.
func namesOf(of reflect.Type) (names []string) {
	for i := range of.NumField() {
		if name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// kindOf returns the word for a Go type that a user of YAML knows.
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint32, reflect.Uint64:
		return "an integer"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.String:
		return "a text"
	default:
		return t.String()
	}
}

// short bounds a value in a message.
func short(raw []byte) string {
	const most = 60
	if len(raw) > most {
		return strings.ToValidUTF8(string(raw[:most]), "") + "..."
	}
	return string(raw)
}
