package v1alpha1

import (
	"regexp"
	"strings"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// Keys of the tags that the provider manages, written `key=value`. LKE pools and claimed instances have them; only claimed instances have
// TagNodeClaim.
const (
	// TagClusterPrefix and the cluster's name make up the key of the tag with value TagClusterOwned.
	TagClusterPrefix = "kubernetes.io/cluster/"
	TagClusterOwned  = "owned"
	// TagNodePool names the Karpenter NodePool.
	TagNodePool = karpv1.NodePoolLabelKey
	// TagNodeClaim names the NodeClaim that claimed an instance. It is the durable record of the claim.
	TagNodeClaim = "karpenter.sh/nodeclaim"
	// TagNodeClass names the LinodeNodeClass.
	TagNodeClass = LabelNodeClass
	// TagLKEManaged is "true" on the LKE pools that this provider made, and on their claimed instances.
	TagLKEManaged = Group + "/lke-managed"
	// TagLKEClusterName names the LKE cluster.
	TagLKEClusterName = "lke-cluster-name"
	// TagEnterprisePool is the key of the tag that LKE Enterprise itself puts on an instance; its value is the
	// ID of the pool. LKE Enterprise also tags with lke<cluster id>.
	TagEnterprisePool = "nodepool"
)

// Bounds on the length of a tag, in characters. The Linode API answers a shorter or longer tag with 400.
const (
	TagMinLength = 3
	TagMaxLength = 50
)

// enterpriseClusterTag matches the tag that LKE Enterprise puts on each instance of a cluster, by which a
// cluster's instances are found.
var enterpriseClusterTag = regexp.MustCompile(`^lke[0-9]+$`)

// IsRestrictedTag reports whether a tag has a key that the provider, Karpenter or LKE manages. A user who sets such a tag could make the
// provider believe that an instance is claimed, or that it belongs to another cluster.
//
// The key ends before the first "=". Case is ignored, because Linode does not document whether tags are case sensitive.
func IsRestrictedTag(tag string) bool {
	key, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(tag)), "=")
	key = strings.TrimSpace(key)
	switch {
	case key == TagLKEClusterName, key == TagEnterprisePool, enterpriseClusterTag.MatchString(key):
		return true
	case strings.HasPrefix(key, TagClusterPrefix):
		return true
	}
	domain, _, found := strings.Cut(key, "/")
	return found && (inDomain(domain, Group) || inDomain(domain, "karpenter.sh"))
}

func inDomain(domain, of string) bool {
	return domain == of || strings.HasSuffix(domain, "."+of)
}
