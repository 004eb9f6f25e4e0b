package v1alpha1_test

import (
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

var restrictedTags = map[string]bool{
	"team=a":                               false,
	"production":                           false,
	"karpenter":                            false,
	"my-karpenter.sh":                      false,
	"notkarpenter.sh/nodepool=x":           false,
	"kubernetes.io/name=x":                 false,
	"lke":                                  false,
	"lke-team=a":                           false,
	"lke12-tools":                          false,
	"nodepools=3":                          false,
	"note=karpenter.sh/nodeclaim":          false,
	"url=https://karpenter.k8s.linode/a=b": false,

	"karpenter.sh/nodeclaim=default-abcde":       true,
	"karpenter.sh/nodepool=default":              true,
	"karpenter.sh/anything":                      true,
	"compatibility.karpenter.sh/x=1":             true,
	"karpenter.k8s.linode/linodenodeclass=other": true,
	"karpenter.k8s.linode/pool-key=0123":         true,
	"karpenter.k8s.linode/claimed-at=1":          true,
	"karpenter.k8s.linode/lke-managed=true":      true,
	"kubernetes.io/cluster/mine=owned":           true,
	"lke-cluster-name=mine":                      true,
	"lke-cluster-name":                           true,
	"nodepool=123":                               true,
	"nodepool":                                   true,
	"lke12345":                                   true,
	"LKE12345":                                   true,
	"Karpenter.sh/NodeClaim=x":                   true,
	" karpenter.sh/nodeclaim =x":                 true,
	"nodepool =1":                                true,
	"nodepool=":                                  true,
	"KARPENTER.K8S.LINODE/lke-managed=true":      true,
	"sub.domain.karpenter.k8s.linode/x":          true,
	"\u212aarpenter.sh/nodepool=x":               true, // the Kelvin sign, which is a K where case is folded
	"example.com/karpenter.sh/nodepool=x":        false,
	"lke12345-tools":                             false,
}

func TestRestrictedTags(t *testing.T) {
	for tag, restricted := range restrictedTags {
		if got := v1alpha1.IsRestrictedTag(tag); got != restricted {
			t.Errorf("%q: restricted is %t, expected %t", tag, got, restricted)
		}
	}
}

// The tags the provider writes are ones a user may not set.
func TestOwnTagsAreRestricted(t *testing.T) {
	for _, key := range []string{
		v1alpha1.TagClusterPrefix + "mine", v1alpha1.TagNodePool, v1alpha1.TagNodeClaim, v1alpha1.TagNodeClass,
		v1alpha1.TagLKEManaged, v1alpha1.TagLKEClusterName, v1alpha1.TagEnterprisePool,
	} {
		if !v1alpha1.IsRestrictedTag(key + "=value") {
			t.Errorf("%s is not restricted", key)
		}
	}
}
