package simulatedlke

import (
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// Names that LKE, its cloud controller manager and Kubernetes' cloud-provider
// library put on nodes.
const (
	PoolIDLabel        = "lke.linode.com/pool-id"
	HostUUIDLabel      = "node.k8s.linode.com/host-uuid"
	linodeRegionLabel  = "topology.linode.com/region"
	privateIPNote      = "node.k8s.linode.com/private-ip"
	attachNote         = "volumes.kubernetes.io/controller-managed-attach-detach"
	publicIPv6Note     = "node.k8s.linode.com/public-ipv6"
	UninitializedTaint = "node.cloudprovider.kubernetes.io/uninitialized"
)

// Registered is the Node as its kubelet creates it.
func Registered(e linodesim.Event, extra map[string]string) *corev1.Node {
	labels := map[string]string{
		corev1.LabelArchStable: "amd64", "beta.kubernetes.io/arch": "amd64",
		corev1.LabelOSStable: "linux", "beta.kubernetes.io/os": "linux",
		corev1.LabelHostname: e.Name,
		PoolIDLabel:          strconv.Itoa(e.PoolID),
	}
	maps.Copy(labels, e.Labels)
	maps.Copy(labels, extra)
	capacity, allocatable := Capacity(machineOf(e, MemoryLean))
	return &corev1.Node{
		// The controller manager attaches volumes only to nodes with this annotation, with which a kubelet leaves attaching to it.
		ObjectMeta: metav1.ObjectMeta{Name: e.Name, Labels: labels, Annotations: map[string]string{attachNote: "true"}},
		Spec:       corev1.NodeSpec{Taints: append([]corev1.Taint{uninitialized}, poolTaints(e)...)},
		Status: corev1.NodeStatus{
			Capacity: capacity, Allocatable: allocatable, Addresses: Addresses(e),
			// Without this condition, the controller manager would at once remove the taint of a node that is not ready.
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "KubeletNotReady", Message: "the pod network is not ready",
				LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
			}},
			NodeInfo: corev1.NodeSystemInfo{
				Architecture: "amd64", OperatingSystem: "linux", OSImage: "Debian GNU/Linux 12 (bookworm)",
				ContainerRuntimeVersion: "containerd://2.0", KernelVersion: "6.1.0",
				KubeletVersion: kubeletVersion(e.K8sVersion),
			},
		},
	}
}

// ServedBy makes a server on this machine the kubelet of the Node. It adds an address of the kind InternalDNS, which no
// real node of LKE has, so that the Node's other addresses stay as in LKE. Port 0 changes nothing.
func ServedBy(node *corev1.Node, port int) {
	if port == 0 {
		return
	}
	node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalDNS, Address: "localhost"})
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(port) //nolint:gosec // a port
}

var uninitialized = corev1.Taint{Key: UninitializedTaint, Value: "true", Effect: corev1.TaintEffectNoSchedule}

// Initialize changes a new Node as the cloud controller manager does. It keeps a
// provider ID that the Node has already, because a provider ID cannot be changed.
func Initialize(node *corev1.Node, e linodesim.Event) {
	if node.Spec.ProviderID == "" {
		node.Spec.ProviderID = "linode://" + strconv.Itoa(e.InstanceID)
	}
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	maps.Copy(node.Labels, map[string]string{
		corev1.LabelInstanceTypeStable: e.Type, corev1.LabelInstanceType: e.Type,
		corev1.LabelTopologyRegion: e.Region, corev1.LabelFailureDomainBetaRegion: e.Region,
		linodeRegionLabel: e.Region, HostUUIDLabel: e.HostUUID,
	})
	if node.Annotations == nil {
		node.Annotations = map[string]string{}
	}
	if e.PrivateIPv4 != "" {
		node.Annotations[privateIPNote] = e.PrivateIPv4
	}
	if ip := withoutPrefix(e.IPv6); ip != "" {
		node.Annotations[publicIPv6Note] = ip
	}
	node.Spec.Taints = withoutTaints(node.Spec.Taints, []corev1.Taint{uninitialized})
}

// Follow applies a change of the pool's labels and taints to the Node. before has the
// labels and taints that were applied last, now has the wanted labels and taints. Labels
// and taints that did not change in the pool stay on the Node as they are.
func Follow(node *corev1.Node, before, now linodesim.Event) {
	for key := range before.Labels {
		if _, stays := now.Labels[key]; !stays {
			delete(node.Labels, key)
		}
	}
	for key, value := range now.Labels {
		if old, was := before.Labels[key]; !was || old != value {
			node.Labels[key] = value
		}
	}
	added := withoutTaints(poolTaints(now), poolTaints(before))
	removed := withoutTaints(poolTaints(before), poolTaints(now))
	kept := withoutTaints(withoutTaints(node.Spec.Taints, removed), added)
	node.Spec.Taints = append(kept, added...)
}

// Reapply puts back labels and taints of the pool that the Node lacks. It reports whether
// any was missing.
func Reapply(node *corev1.Node, e linodesim.Event) bool {
	missing := false
	for key, value := range e.Labels {
		if node.Labels[key] != value {
			node.Labels[key], missing = value, true
		}
	}
	lost := withoutTaints(poolTaints(e), node.Spec.Taints)
	node.Spec.Taints = append(node.Spec.Taints, lost...)
	return missing || len(lost) > 0
}

func poolTaints(e linodesim.Event) []corev1.Taint {
	taints := make([]corev1.Taint, 0, len(e.Taints))
	for _, t := range e.Taints {
		taints = append(taints, corev1.Taint{Key: t.Key, Value: t.Value, Effect: corev1.TaintEffect(t.Effect)})
	}
	return taints
}

// withoutTaints returns the taints that are not in drop. Two taints are equal if their
// keys, values and effects are equal.
func withoutTaints(taints, drop []corev1.Taint) []corev1.Taint {
	return slices.DeleteFunc(slices.Clone(taints), func(t corev1.Taint) bool {
		return slices.ContainsFunc(drop, func(d corev1.Taint) bool { return t.Key == d.Key && t.Value == d.Value && t.Effect == d.Effect })
	})
}

// Addresses of the Node, as the cloud controller manager reports them.
func Addresses(e linodesim.Event) []corev1.NodeAddress {
	all := []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: e.Name}}
	add := func(kind corev1.NodeAddressType, address string) {
		if address != "" {
			all = append(all, corev1.NodeAddress{Type: kind, Address: address})
		}
	}
	add(corev1.NodeExternalIP, e.PublicIPv4)
	add(corev1.NodeExternalIP, withoutPrefix(e.IPv6))
	add(corev1.NodeInternalIP, e.PrivateIPv4)
	return all
}

// withoutPrefix removes the prefix length that the API adds to a Linode's IPv6 address.
func withoutPrefix(address string) string {
	if prefix, err := netip.ParsePrefix(address); err == nil {
		return prefix.Addr().String()
	}
	return address
}

// kubeletVersion turns LKE's name of a version into a kubelet's version. Examples: 1.35 on
// Standard becomes v1.35.0 (LKE uses the newest patch), and v1.33.6+lke7 on Enterprise
// becomes v1.33.6.
func kubeletVersion(lke string) string {
	version, _, _ := strings.Cut(strings.TrimPrefix(lke, "v"), "+")
	if strings.Count(version, ".") == 1 {
		version += ".0"
	}
	return "v" + version
}
