package v1alpha1_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/crds"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// A field's description and its struct tag agree on lke mode.
func TestDescriptionsNameTheFieldsWithoutEffect(t *testing.T) {
	spec := crds.CRDs[0].Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	check := func(of reflect.Type, schema apiextensionsv1.JSONSchemaProps, above string) {
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			class := &v1alpha1.LinodeNodeClass{}
			set(t, reflect.ValueOf(&class.Spec).Elem(), append(slices.DeleteFunc([]string{above}, func(s string) bool { return s == "" }),
				firstLeaf(of.Field(i))...))
			named := len(class.Spec.WithoutEffect(v1alpha1.ModeLKE)) > 0
			if promised := strings.HasPrefix(schema.Properties[name].Description, "(no effect in lke mode)"); promised != named {
				t.Errorf("%s is without effect in lke mode: %t; the description promises %t", name, named, promised)
			}
		}
	}
	check(reflect.TypeFor[v1alpha1.LinodeNodeClassSpec](), spec, "")
	check(reflect.TypeFor[v1alpha1.KubeletConfiguration](), spec.Properties["kubelet"], "Kubelet")
}

// firstLeaf returns the path to a field, or to one below it that has an effect where the field has one.
func firstLeaf(of reflect.StructField) []string {
	if of.Name == "Kubelet" {
		return []string{"Kubelet", "SystemReserved"}
	}
	return leaves(of.Type, []string{of.Name})[0]
}

// Effective removes all fields without effect, and leaves all others unchanged.
func TestAnEffectiveSpecHasNoFieldWithoutEffect(t *testing.T) {
	for _, mode := range []v1alpha1.Mode{v1alpha1.ModeLKE, v1alpha1.ModeInstance} {
		spec := full().Spec
		got := spec.Effective(mode)
		if left := got.WithoutEffect(mode); len(left) > 0 {
			t.Errorf("in %s mode %q are left", mode, left)
		}
		if !reflect.DeepEqual(spec, full().Spec) {
			t.Errorf("in %s mode the spec itself was changed", mode)
		}
		class := &v1alpha1.LinodeNodeClass{Spec: *got}
		if class.Hash(mode) != full().Hash(mode) {
			t.Errorf("in %s mode a field with effect was taken out", mode)
		}
	}
	lke := full().Spec.Effective(v1alpha1.ModeLKE)
	if lke.Kubelet.MaxPods != nil || lke.Kubelet.SystemReserved == nil || lke.OSDisk != nil || lke.Isolation.PublicIPv4 == nil {
		t.Errorf("in lke mode the spec is %+v", lke)
	}
}

// Every mode in a struct tag exists.
func TestModesOfTagsExist(t *testing.T) {
	for _, of := range []reflect.Type{reflect.TypeFor[v1alpha1.LinodeNodeClassSpec](), reflect.TypeFor[v1alpha1.KubeletConfiguration]()} {
		for i := range of.NumField() {
			for _, tag := range []string{"modes", "inplace"} {
				for mode := range strings.SplitSeq(of.Field(i).Tag.Get(tag), ",") {
					if !slices.Contains([]string{"", string(v1alpha1.ModeLKE), string(v1alpha1.ModeInstance),
						string(v1alpha1.ModeClusterAPI)}, mode) {
						t.Errorf("%s has the mode %q", of.Field(i).Name, mode)
					}
				}
			}
		}
	}
}
