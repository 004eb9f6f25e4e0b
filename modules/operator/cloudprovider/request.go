package cloudprovider

import (
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// request says what to claim for a NodeClaim.
func request(cluster Cluster, nodeClaim *karpv1.NodeClaim, nodePool *karpv1.NodePool, nodeClass *v1alpha1.LinodeNodeClass, instanceType string) lkepool.Request {
	return lkepool.Request{
		Claimant: nodeClaim.Name,
		Key: lkepool.Key{
			NodePool:     nodeClaim.Labels[karpv1.NodePoolLabelKey],
			InstanceType: instanceType,
			Template:     template(cluster, nodeClaim, nodePool, nodeClass),
		},
		PoolTags: identityTags(cluster, nodeClaim, nodeClass),
		Tags:     slices.Clone(nodeClass.Spec.Tags),
	}
}

// template is what an LKE pool fixes for all its nodes. Startup taints are not in it: LKE would put them back
// after somebody has removed them. Whatever else the NodeClaim wants on its node, Karpenter puts on the Node
// when it registers.
func template(cluster Cluster, nodeClaim *karpv1.NodeClaim, nodePool *karpv1.NodePool, nodeClass *v1alpha1.LinodeNodeClass) lkepool.Template {
	t := lkepool.Template{
		Labels:         poolLabels(nodeClaim, nodePool),
		Taints:         poolTaints(nodeClaim.Spec.Taints),
		DiskEncryption: string(nodeClass.Spec.DiskEncryption),
	}
	if nodeClass.Spec.FirewallID != nil {
		t.FirewallID = *nodeClass.Spec.FirewallID
	}
	if cluster.Tier == tierEnterprise { // pools of the Standard tier have no version of their own
		t.KubernetesVersion = nodeClass.Status.KubernetesVersion
	}
	return t
}

// poolLabels are the labels of the NodePool's template that the NodeClaim was made with and that LKE takes.
func poolLabels(nodeClaim *karpv1.NodeClaim, nodePool *karpv1.NodePool) map[string]string {
	labels := map[string]string{}
	if nodePool == nil {
		return labels
	}
	for key := range nodePool.Spec.Template.Labels {
		if value, ok := nodeClaim.Labels[key]; ok && lkeTakesLabel(key, value) {
			labels[key] = value
		}
	}
	return labels
}

func poolTaints(taints []corev1.Taint) []lkepool.Taint {
	var result []lkepool.Taint
	for _, t := range taints {
		if lkeTakesTaint(t) {
			result = append(result, lkepool.Taint{Key: t.Key, Value: t.Value, Effect: string(t.Effect)})
		}
	}
	return result
}

// Linode API: a key has at most 63 characters without a prefix; with one 128 in total and 62 after the slash.
// A value has at most 63. Keys of the domains kubernetes.io and linode.com are reserved.
const (
	maxBareKey    = 63
	maxPrefixed   = 128
	maxAfterSlash = 62
	maxValue      = 63
	maxTaintKey   = 63 // the schema's bound; its text says 253 and the console allows 253
)

var (
	keyName   = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`)
	valueText = regexp.MustCompile(`^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$`)
)

func reserved(text string) bool {
	return strings.Contains(text, "kubernetes.io") || strings.Contains(text, "linode.com")
}

func lkeTakesLabel(key, value string) bool {
	return lkeTakesKey(key) && len(value) <= maxValue && valueText.MatchString(value)
}

func lkeTakesKey(key string) bool {
	if reserved(key) {
		return false
	}
	prefix, name, prefixed := strings.Cut(key, "/")
	if !prefixed {
		return len(key) <= maxBareKey && keyName.MatchString(key)
	}
	return len(key) <= maxPrefixed && len(name) <= maxAfterSlash && keyName.MatchString(prefix) && keyName.MatchString(name)
}

func lkeTakesTaint(t corev1.Taint) bool {
	switch t.Effect {
	case corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute:
	default:
		return false
	}
	return len(t.Key) <= maxTaintKey && lkeTakesKey(t.Key) && !reserved(t.Value) && len(t.Value) <= maxValue && valueText.MatchString(t.Value)
}
