package clusterapi

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// ProviderIDPrefix begins the provider IDs of Linodes, as CAPL and the cloud controller manager write them.
const ProviderIDPrefix = "linode://"

// Node returns the Machine in the vocabulary of package claims. InstanceID is 0 without a provider ID, and for a provider ID that is
// not a Linode's. InstanceType, Region and Tags come from the deployment's template, which a Machine does not contain.
func (m Machine) Node() claims.Node {
	node := claims.Node{Name: cmp.Or(m.NodeName, m.Name), Status: m.Phase, Created: m.Created}
	if m.Claim != (claims.Claimant{}) {
		node.Claim = claims.Tags{}.Value(m.Claim.Name)
	}
	if text, ok := strings.CutPrefix(m.ProviderID, ProviderIDPrefix); ok {
		node.InstanceID, _ = strconv.Atoi(text)
	}
	if m.Deleting || m.Released {
		node.Health = claims.Deleting
	}
	return node
}
