// Package crds holds the CustomResourceDefinitions that a cluster needs for this provider, for tests that install
// them into an API server without Helm. Users install the chart karpenter-crd, whose files are the same.
//
// The definition of LinodeNodeClass is a generated copy (charts/karpenter-crd/generate.sh); the definitions of
// Karpenter's core come from the version of core that this module requires.
//
// Importing the package parses the files; a damaged file panics there. All returns copies, because envtest
// writes into them.
package crds

import (
	_ "embed"

	"github.com/awslabs/operatorpkg/object"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/karpenter/pkg/apis"
)

//go:embed karpenter.k8s.linode_linodenodeclasses.yaml
var linodeNodeClass []byte

// CRDs are LinodeNodeClass, NodePool, NodeClaim, NodeOverlay and CapacityBuffer. To be read only; All returns copies.
var CRDs = []*apiextensionsv1.CustomResourceDefinition{
	object.Unmarshal[apiextensionsv1.CustomResourceDefinition](linodeNodeClass),
	object.Unmarshal[apiextensionsv1.CustomResourceDefinition](apis.NodePoolCRD),
	object.Unmarshal[apiextensionsv1.CustomResourceDefinition](apis.NodeClaimCRD),
	object.Unmarshal[apiextensionsv1.CustomResourceDefinition](apis.NodeOverlayCRD),
	object.Unmarshal[apiextensionsv1.CustomResourceDefinition](apis.CapacityBufferCRD),
}

// All returns copies of CRDs, for an installer that writes into them as envtest does.
func All() []*apiextensionsv1.CustomResourceDefinition {
	copies := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(CRDs))
	for _, crd := range CRDs {
		copies = append(copies, crd.DeepCopy())
	}
	return copies
}
