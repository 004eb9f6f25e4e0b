package charttest

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/crds"
)

// The chart installs the same definitions as the tests of the other modules.
func TestCRDs(t *testing.T) {
	r := mustRender(t, "karpenter-crd", "imageIDColumn: true")
	if len(r.objects) != len(crds.CRDs) {
		t.Errorf("the chart has %v, expected %d definitions", r.names(), len(crds.CRDs))
	}
	for _, want := range crds.CRDs {
		got := get[apiextensionsv1.CustomResourceDefinition](t, r, "CustomResourceDefinition", want.Name)
		if !reflect.DeepEqual(got.Spec, want.Spec) {
			t.Errorf("%s differs from the one in modules/nodeclass: run `make generate`", want.Name)
		}
	}
}

// Only instance mode knows the image of a node: by default there is no column that stays empty.
func TestTheImageHasAColumnWhereItMeansSomething(t *testing.T) {
	for values, want := range map[string]bool{"{}": false, "imageIDColumn: true": true, "imageIDColumn: null": false} {
		r := mustRender(t, "karpenter-crd", values)
		crd := get[apiextensionsv1.CustomResourceDefinition](t, r, "CustomResourceDefinition", "nodeclaims.karpenter.sh")
		var columns []string
		for _, column := range crd.Spec.Versions[0].AdditionalPrinterColumns {
			columns = append(columns, column.Name)
		}
		if slices.Contains(columns, "ImageID") != want || !slices.Contains(columns, "ID") {
			t.Errorf("with %s the columns are %q", values, columns)
		}
	}
}

// By default an uninstall deletes no definition, and so no node.
func TestUninstallKeepsTheCRDs(t *testing.T) {
	for values, want := range map[string]string{
		"{}": "keep", "keepOnUninstall: true": "keep", "keepOnUninstall: null": "keep", "keepOnUninstall: false": "",
		"additionalAnnotations: {helm.sh/resource-policy: other}": "other",
		"additionalAnnotations: null":                             "keep",
	} {
		r, err := render(t, "karpenter-crd", values)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"nodepools.karpenter.sh", "nodeclaims.karpenter.sh", "nodeoverlays.karpenter.sh",
			"linodenodeclasses.karpenter.k8s.linode", "capacitybuffers.autoscaling.x-k8s.io"} {
			annotations := get[apiextensionsv1.CustomResourceDefinition](t, r, "CustomResourceDefinition", name).Annotations
			if got := annotations["helm.sh/resource-policy"]; got != want {
				t.Errorf("%s with %s: %q, want %q", name, values, got, want)
			}
		}
	}
}

// With helm.sh/resource-policy: keep an uninstall leaves the definitions and all objects.
func TestCRDsTakeAnnotations(t *testing.T) {
	r, err := render(t, "karpenter-crd", "additionalAnnotations: {helm.sh/resource-policy: keep}")
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds.CRDs {
		got := get[apiextensionsv1.CustomResourceDefinition](t, r, "CustomResourceDefinition", crd.Name).Annotations
		if got["helm.sh/resource-policy"] != "keep" || got["controller-gen.kubebuilder.io/version"] == "" {
			t.Errorf("%s has annotations %v", crd.Name, got)
		}
	}
}

// A printer column that names a field which does not exist is empty for ever.
func TestPrinterColumnsExist(t *testing.T) {
	for _, crd := range crds.CRDs {
		for _, version := range crd.Spec.Versions {
			for _, column := range version.AdditionalPrinterColumns {
				if path := column.JSONPath; !exists(version.Schema.OpenAPIV3Schema, path) {
					t.Errorf("%s %s: column %s shows %s, which the schema has not", crd.Name, version.Name, column.Name, path)
				}
			}
		}
	}
}

// exists follows a JSON path through a schema. A list is left through its filter, metadata is in every object,
// and keys of a map can be any.
func exists(schema *apiextensionsv1.JSONSchemaProps, path string) bool {
	path = strings.TrimPrefix(path, ".")
	if strings.HasPrefix(path, "metadata.") {
		return true
	}
	if before, after, all := strings.Cut(path, "[*]."); all {
		list := descend(schema, before)
		return list != nil && list.Items != nil && descend(list.Items.Schema, after) != nil
	}
	if before, after, filtered := strings.Cut(path, "[?("); filtered {
		list := descend(schema, before)
		_, rest, closed := strings.Cut(after, ")].")
		return closed && list != nil && list.Items != nil && descend(list.Items.Schema, rest) != nil
	}
	return descend(schema, path) != nil
}

func descend(schema *apiextensionsv1.JSONSchemaProps, path string) *apiextensionsv1.JSONSchemaProps {
	for _, name := range strings.Split(path, ".") {
		if schema.AdditionalProperties != nil {
			return schema.AdditionalProperties.Schema
		}
		next, ok := schema.Properties[name]
		if !ok {
			return nil
		}
		schema = &next
	}
	return schema
}
