package instance

import (
	"slices"

	"github.com/samber/lo"
	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/instances/bootstrap"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
)

// nodeOfClaim returns what the user data gives a node: labels and taints that the scheduler counted on, Karpenter's taint that keeps pods
// off until it is registered, and the kubelet settings that its allocatable was computed from.
func (b *Backend) nodeOfClaim(name string, l cloudprovider.Launch, how bootstrap.Type) bootstrap.Node {
	node := bootstrap.Node{Name: name, Taints: taints(l.NodeClaim), Kubelet: kubelet(l.NodeClass.Spec.Kubelet)}
	node.Labels = lo.Assign(l.NodeClaim.Labels, cloudprovider.LabelsOf(l.InstanceType, b.cfg.Cluster.Region))
	delete(node.Labels, corev1.LabelHostname)
	node.Kubelet.AllowSwap = l.NodeClass.Spec.SwapMB() > 0
	node.Kubelet.ServerTLSBootstrap = b.cfg.ServingCertificates && !how.ServesCertificates
	return node
}

func taints(nodeClaim *karpv1.NodeClaim) []bootstrap.Taint {
	all := slices.Concat([]corev1.Taint{karpv1.UnregisteredNoExecuteTaint}, nodeClaim.Spec.Taints, nodeClaim.Spec.StartupTaints)
	return lo.Uniq(lo.Map(all, func(t corev1.Taint, _ int) bootstrap.Taint {
		return bootstrap.Taint{Key: t.Key, Value: t.Value, Effect: string(t.Effect)}
	}))
}

// defaultEviction lists the kubelet's own thresholds. A kubelet with one threshold configured drops the defaults of the others.
var defaultEviction = map[string]string{"memory.available": "100Mi", "nodefs.available": "10%", "nodefs.inodesFree": "5%",
	"imagefs.available": "15%"}

func kubelet(from *v1alpha1.KubeletConfiguration) bootstrap.Kubelet {
	if from == nil {
		return bootstrap.Kubelet{}
	}
	k := bootstrap.Kubelet{
		ClusterDNS: from.ClusterDNS, MaxPods: number(from.MaxPods), PodsPerCore: number(from.PodsPerCore),
		SystemReserved: texts(from.SystemReserved), KubeReserved: texts(from.KubeReserved),
		EvictionHard: texts(from.EvictionHard), EvictionSoft: texts(from.EvictionSoft),
		EvictionSoftGracePeriod:     texts(from.EvictionSoftGracePeriod),
		EvictionMaxPodGracePeriod:   number(from.EvictionMaxPodGracePeriod),
		ImageGCHighThresholdPercent: number(from.ImageGCHighThresholdPercent),
		ImageGCLowThresholdPercent:  number(from.ImageGCLowThresholdPercent),
		CPUCFSQuota:                 from.CPUCFSQuota,
	}
	for signal, threshold := range defaultEviction {
		if _, set := k.EvictionHard[signal]; len(k.EvictionHard) > 0 && !set {
			k.EvictionHard[signal] = threshold
		}
	}
	return k
}

func number(from *int32) *int {
	if from == nil {
		return nil
	}
	return new(int(*from))
}

func texts[T ~string](from map[string]T) map[string]string {
	return lo.MapValues(from, func(value T, _ string) string { return string(value) })
}
