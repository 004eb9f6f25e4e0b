package crds_test

import (
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/crds"
)

func TestCRDs(t *testing.T) {
	var names []string
	for _, crd := range crds.CRDs {
		names = append(names, crd.Name)
	}
	slices.Sort(names)
	want := []string{"capacitybuffers.autoscaling.x-k8s.io", "linodenodeclasses.karpenter.k8s.linode", "nodeclaims.karpenter.sh",
		"nodeoverlays.karpenter.sh", "nodepools.karpenter.sh"}
	if !slices.Equal(names, want) {
		t.Errorf("got %v, expected %v", names, want)
	}
}

func TestLinodeNodeClass(t *testing.T) {
	crd := crds.CRDs[0]
	if !slices.Equal(crd.Spec.Names.ShortNames, []string{"lnc", "lncs"}) || !slices.Equal(crd.Spec.Names.Categories, []string{"karpenter"}) {
		t.Errorf("names: %+v", crd.Spec.Names)
	}
	if crd.Spec.Scope != apiextensionsv1.ClusterScoped || crd.Spec.Versions[0].Subresources.Status == nil {
		t.Errorf("scope %s, subresources %v", crd.Spec.Scope, crd.Spec.Versions[0].Subresources)
	}
}

func TestAllReturnsCopies(t *testing.T) {
	crds.All()[0].Name = "changed"
	if crds.CRDs[0].Name == "changed" {
		t.Error("a change of what All returned changed CRDs")
	}
}

// `kubectl explain` and the reference have a text for every field.
func TestEveryFieldIsDescribed(t *testing.T) {
	var check func(path string, schema apiextensionsv1.JSONSchemaProps)
	fields := 0
	check = func(path string, schema apiextensionsv1.JSONSchemaProps) {
		for name, field := range schema.Properties {
			fields++
			if field.Description == "" && path+"."+name != ".metadata" {
				t.Errorf("%s.%s has no description", path, name)
			}
			check(path+"."+name, field)
		}
		if schema.Items != nil && schema.Items.Schema != nil {
			check(path+"[]", *schema.Items.Schema)
		}
	}
	check("", *crds.CRDs[0].Spec.Versions[0].Schema.OpenAPIV3Schema)
	if fields < 50 {
		t.Errorf("only %d fields were looked at", fields)
	}
}
