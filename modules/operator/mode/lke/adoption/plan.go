package adoption

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/samber/lo"
	"k8s.io/apimachinery/pkg/util/sets"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// keyPrefix begins the tag by which lkepool identifies its own pools.
var keyPrefix = strings.TrimSuffix(lkepool.KeyPrefix(claims.Tags{}), "=")

// alpha returns true for a pool that the alpha provider has made and that was not adopted yet.
func alpha(pool api.LKENodePool) bool {
	return valueOf(pool.Tags, v1alpha1.TagLKEManaged) == "true" && valueOf(pool.Tags, v1alpha1.TagNodePool) != "" &&
		valueOf(pool.Tags, keyPrefix) == ""
}

// valueOf returns the value of a tag key=value or key:value, "" if the tag has no value.
func valueOf(tags []string, key string) string {
	for _, tag := range tags {
		if rest, ok := strings.CutPrefix(tag, key); ok && rest != "" && strings.ContainsRune("=:", rune(rest[0])) {
			return rest[1:]
		}
	}
	return ""
}

// claimsOf returns the NodeClaims of a pool's Linodes, by the Linode's ID. unborn is the number of nodes that have no Linode yet.
func claimsOf(pool api.LKENodePool, byID map[int]*karpv1.NodeClaim) (claims map[int]*karpv1.NodeClaim, unborn int) {
	claims = map[int]*karpv1.NodeClaim{}
	for _, node := range pool.Nodes {
		if node.InstanceID == nil {
			unborn++
		} else if claim := byID[*node.InstanceID]; claim != nil {
			claims[*node.InstanceID] = claim
		}
	}
	return claims, unborn
}

// refusal returns why a pool cannot be adopted, "" if it can be.
func refusal(pool api.LKENodePool, claims map[int]*karpv1.NodeClaim, unborn int) string {
	nodePools := sets.New[string]()
	for _, claim := range claims {
		nodePools.Insert(claim.Labels[karpv1.NodePoolLabelKey])
	}
	switch {
	case len(claims) == 0:
		return "no NodeClaim has a node of this pool; delete the pool in the Cloud Manager if nothing needs it"
	case pool.Autoscaler.Enabled:
		return "LKE's autoscaler scales it; turn that off"
	case len(nodePools) > 1:
		return fmt.Sprintf("its nodes belong to NodePools %s; delete the NodeClaims of all but one NodePool",
			strings.Join(sets.List(nodePools), ", "))
	case unborn > 0:
		return fmt.Sprintf("%d of its nodes have no Linode yet", unborn)
	}
	return ""
}

// newest returns the newest NodeClaim. It is closest to the present NodePool.
func newest(claims map[int]*karpv1.NodeClaim) *karpv1.NodeClaim {
	return slices.MaxFunc(slices.Collect(maps.Values(claims)), func(a, b *karpv1.NodeClaim) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
}

// poolUpdate returns the update that gives the pool the request's key. Other labels of the pool stay, because pods may select nodes by
// them.
func poolUpdate(pool api.LKENodePool, request lkepool.Request) api.LKENodePoolUpdate {
	labels := map[string]string{}
	maps.Copy(labels, pool.Labels)
	maps.Copy(labels, request.Key.Template.Labels)
	taints := make([]api.LKETaint, 0, len(request.Key.Template.Taints))
	for _, t := range request.Key.Template.Taints {
		taints = append(taints, api.LKETaint{Key: t.Key, Value: t.Value, Effect: api.LKETaintEffect(t.Effect)})
	}
	tags := lo.Union(pool.Tags, request.PoolTags, []string{lkepool.ManagedTag, request.Key.Tag(claims.Tags{})})
	return api.LKENodePoolUpdate{Labels: &labels, Taints: &taints, Tags: &tags}
}

// instanceTags returns the tags of a Linode that the NodeClaim claims.
func instanceTags(tags []string, claim string, request lkepool.Request) []string {
	own := claims.Tag(v1alpha1.TagNodeClaim, claim)
	kept := slices.DeleteFunc(slices.Clone(tags), func(tag string) bool {
		return strings.HasPrefix(tag, v1alpha1.TagNodeClaim+"=") && tag != own // of another NodeClaim, which is gone
	})
	return lo.Union(kept, request.PoolTags, []string{lkepool.ManagedTag, own})
}
