// Package conversion converts LinodeNodeClasses between v1alpha1, which is served, and v1, which is planned and served nowhere yet.
// docs/deprecation.md has the way from one to the other. Only tests call this package until then.
//
// v1 has one name for each setting where v1alpha1 has two: swap_size becomes swapSize, and placementGroup a list placementGroups of one.
// All other fields, also fields that this package does not know, stay as they are. An object with both names of a setting is an error, and
// so is an object of another kind or version. If a user adds a second group under v1, v1alpha1 shows the list under placementGroups.
//
// Guarantees: an object that v1alpha1 accepts is the same after ToV1 and ToV1alpha1, under the names that its user chose: an annotation
// keeps these. An object of v1 without this annotation is the same after ToV1alpha1 and ToV1. No conversion changes the hash by which drift
// is found. Objects that are given are not changed.
package conversion

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// V1 is the API version to come.
const V1 = v1alpha1.Group + "/v1"

// AnnotationNames lists the names of v1alpha1 under which the user of an object gave its settings.
const AnnotationNames = v1alpha1.Group + "/v1alpha1-names"

const (
	swapAlpha, swap   = "swap_size", "swapSize"
	groupAlpha, group = "placementGroup", "placementGroups"
)

// ToV1 converts an object of v1alpha1.
func ToV1(object map[string]any) (map[string]any, error) {
	object, spec, err := opened(object, v1alpha1.SchemeGroupVersion.String())
	if err != nil {
		return nil, err
	}
	var names []string
	for alpha, name := range map[string]string{swapAlpha: swap, groupAlpha: group} {
		value, given := spec[alpha]
		if !given {
			continue
		}
		if _, both := spec[name]; both {
			return nil, fmt.Errorf("spec.%s and spec.%s are two names of one setting", alpha, name)
		}
		if alpha == groupAlpha {
			value = []any{value}
		}
		delete(spec, alpha)
		spec[name] = value
		names = append(names, alpha)
	}
	slices.Sort(names)
	annotate(object, strings.Join(names, ","))
	object["apiVersion"] = V1
	return object, nil
}

// ToV1alpha1 converts an object of v1.
func ToV1alpha1(object map[string]any) (map[string]any, error) {
	object, spec, err := opened(object, V1)
	if err != nil {
		return nil, err
	}
	for _, alpha := range strings.Split(annotation(object), ",") {
		switch alpha {
		case swapAlpha:
			if value, given := spec[swap]; given {
				delete(spec, swap)
				spec[alpha] = value
			}
		case groupAlpha:
			if list, _ := spec[group].([]any); len(list) == 1 { // a user may have added groups under v1
				delete(spec, group)
				spec[alpha] = list[0]
			}
		}
	}
	annotate(object, "")
	object["apiVersion"] = v1alpha1.SchemeGroupVersion.String()
	return object, nil
}

// opened returns a copy of an object of that version, and the spec in it.
func opened(object map[string]any, version string) (copied, spec map[string]any, err error) {
	if found := object["apiVersion"]; found != version || object["kind"] != v1alpha1.Kind {
		return nil, nil, fmt.Errorf("%v %v is no %s of %s", found, object["kind"], v1alpha1.Kind, version)
	}
	copied = runtime.DeepCopyJSON(object)
	spec, _ = copied["spec"].(map[string]any)
	return copied, spec, nil
}

func annotation(object map[string]any) string {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	value, _ := annotations[AnnotationNames].(string)
	return value
}

// annotate sets the annotation, or removes it where the value is empty.
func annotate(object map[string]any, value string) {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	switch {
	case value != "":
		if metadata == nil {
			metadata = map[string]any{}
			object["metadata"] = metadata
		}
		if annotations == nil {
			annotations = map[string]any{}
			metadata["annotations"] = annotations
		}
		annotations[AnnotationNames] = value
	case annotations != nil:
		if delete(annotations, AnnotationNames); len(annotations) == 0 {
			delete(metadata, "annotations")
		}
	}
}
