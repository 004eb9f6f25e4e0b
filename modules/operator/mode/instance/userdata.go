package instance

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/samber/lo"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/bootstrap"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
)

// userData renders the user data of a NodeClaim's node. The node's own token is made last, after all other facts were read.
func (b *Backend) userData(ctx context.Context, l cloudprovider.Launch, name string, how bootstrap.Type,
	network bootstrap.Network) (instances.UserData, error) {
	in, err := b.inputs(ctx, l.NodeClass, how)
	if err != nil {
		return instances.UserData{}, err
	}
	if in.Node, err = b.nodeOfClaim(name, l, how); err != nil {
		return instances.UserData{}, err
	}
	in.Node.Network = network
	if how.Token == bootstrap.NodeToken {
		if in.Token, err = b.cfg.Tokens.Issue(ctx, l.NodeClaim); err != nil {
			return instances.UserData{}, &problem{reason: v1alpha1.ReasonCheckFailed, field: "bootstrap token", text: err.Error(), unknown: true,
				err: err}
		}
	}
	return render(how, in)
}

// inputs reads the facts that user data needs in addition to the node and a token. A fact that the type does not need is empty.
func (b *Backend) inputs(ctx context.Context, class *v1alpha1.LinodeNodeClass, how bootstrap.Type) (bootstrap.Inputs, error) {
	settings := ptr.Deref(class.Spec.Bootstrap, v1alpha1.Bootstrap{})
	in := bootstrap.Inputs{
		Config:    bootstrap.Config{Before: settings.PreJoinCommands, After: settings.PostJoinCommands},
		Installer: settings.InstallerURL,
	}
	var err error
	if how.JoinsEndpoint {
		if in.Cluster, err = b.joined(ctx, class, settings, how); err != nil {
			return in, err
		}
	}
	if how.Token == bootstrap.NodeToken && b.cfg.Tokens == nil {
		return in, &problem{reason: v1alpha1.ReasonBootstrapInvalid, field: "spec.bootstrap.type", text: fmt.Sprintf(
			"%q needs a bootstrap token for each node, and the operator may not make them; set the chart's settings.instance.bootstrapTokens",
			how.Name)}
	}
	if how.UserData {
		if in.UserData, err = b.cfg.Secrets.read(ctx, "spec.bootstrap.userDataSecretRef", settings.UserDataSecretRef); err != nil {
			return in, err
		}
	}
	if how.Token != bootstrap.NodeToken && settings.TokenSecretRef != nil {
		var secret []byte
		secret, err = b.cfg.Secrets.read(ctx, "spec.bootstrap.tokenSecretRef", settings.TokenSecretRef)
		in.Token = strings.TrimSpace(string(secret))
	}
	return in, err
}

// joined returns the facts about the cluster that nodes of the class join: the class's settings, and facts that were read from the
// cluster for the rest.
func (b *Backend) joined(ctx context.Context, class *v1alpha1.LinodeNodeClass, settings v1alpha1.Bootstrap,
	how bootstrap.Type) (bootstrap.Cluster, error) {
	found, err := b.cfg.Joined.Cluster(ctx)
	target := bootstrap.Cluster{
		Endpoint: cmp.Or(settings.APIServerEndpoint, found.Endpoint), CACertHashes: settings.CACertHashes,
		Version: class.Status.KubernetesVersion,
	}
	if len(target.CACertHashes) == 0 {
		target.CACertHashes = found.CACertHashes
	}
	unhashed := how.PinsCA && len(target.CACertHashes) == 0
	switch {
	case err != nil && (target.Endpoint == "" || unhashed):
		return target, &problem{reason: v1alpha1.ReasonCheckFailed, field: "spec.bootstrap",
			text: "the cluster's endpoint or CA could not be read; trying again", unknown: true, err: err}
	case target.Endpoint == "":
		return target, &problem{reason: v1alpha1.ReasonEndpointUnknown, field: "spec.bootstrap.apiServerEndpoint",
			text: "the address that nodes join is not known: the cluster has no ConfigMap kube-public/cluster-info; set this field, or the " +
				"chart's settings.clusterEndpoint"}
	case unhashed:
		return target, &problem{reason: v1alpha1.ReasonCAUnknown, field: "spec.bootstrap.caCertHashes",
			text: "the cluster's CA is not known; set this field, or the chart's settings.clusterCABundle"}
	}
	return target, nil
}

// render returns the user data of a node. It is pure.
func render(how bootstrap.Type, in bootstrap.Inputs) (instances.UserData, error) {
	rendered, err := how.Render(in)
	if err != nil {
		return instances.UserData{}, renderProblem(err)
	}
	return instances.UserData(rendered), nil
}

// nodeOfClaim returns the settings that the user data gives a node: the labels and taints with which the scheduler planned, Karpenter's
// taint that keeps pods off until the node is registered, and the kubelet settings from which the allocatable resources were computed.
func (b *Backend) nodeOfClaim(name string, l cloudprovider.Launch, how bootstrap.Type) (bootstrap.Node, error) {
	settings, err := kubelet(l.NodeClass.Spec.Kubelet)
	if err != nil {
		return bootstrap.Node{}, err
	}
	node := bootstrap.Node{Name: name, Taints: taints(l.NodeClaim), Kubelet: settings}
	node.Labels = lo.Assign(l.NodeClaim.Labels, l.Labels)
	delete(node.Labels, corev1.LabelHostname)
	node.Kubelet.AllowSwap = l.NodeClass.Spec.SwapMB() > 0
	node.Kubelet.ServerTLSBootstrap = b.cfg.ServingCertificates && !how.ServesCertificates
	return node, nil
}

func taints(nodeClaim *karpv1.NodeClaim) []bootstrap.Taint {
	all := slices.Concat([]corev1.Taint{karpv1.UnregisteredNoExecuteTaint}, nodeClaim.Spec.Taints, nodeClaim.Spec.StartupTaints)
	return lo.Uniq(lo.Map(all, func(t corev1.Taint, _ int) bootstrap.Taint {
		return bootstrap.Taint{Key: t.Key, Value: t.Value, Effect: string(t.Effect)}
	}))
}

// defaultEviction lists the kubelet's default thresholds. A kubelet with one configured threshold drops the defaults of all others.
var defaultEviction = map[string]string{"memory.available": "100Mi", "nodefs.available": "10%", "nodefs.inodesFree": "5%",
	"imagefs.available": "15%"}

func kubelet(from *v1alpha1.KubeletConfiguration) (bootstrap.Kubelet, error) {
	if from == nil {
		return bootstrap.Kubelet{}, nil
	}
	extra, err := extraConfig(from.ExtraConfig)
	if err != nil {
		return bootstrap.Kubelet{}, err
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
		Extra:                       extra,
	}
	for signal, threshold := range defaultEviction {
		if _, set := k.EvictionHard[signal]; len(k.EvictionHard) > 0 && !set {
			k.EvictionHard[signal] = threshold
		}
	}
	return k, nil
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
