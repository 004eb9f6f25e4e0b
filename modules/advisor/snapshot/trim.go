package snapshot

import (
	"maps"
	"strings"

	"github.com/awslabs/operatorpkg/status"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/metrics/pkg/apis/metrics/v1beta1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// Trim keeps only the fields of objects that a scheduling decision reads. It names each of these fields, so that a field that Kubernetes
// or this project adds later is left out until it is named here. TestTrimKeepsNoFieldButThese fills every field.
func (s *Snapshot) Trim() {
	each(s.Nodes, trimNode)
	each(s.Namespaces, func(n *corev1.Namespace) { *n = corev1.Namespace{ObjectMeta: trimMeta(n.ObjectMeta)} })
	each(s.Pods, trimPod)
	each(s.Claims, func(c *corev1.PersistentVolumeClaim) {
		*c = corev1.PersistentVolumeClaim{ObjectMeta: trimMeta(c.ObjectMeta), Spec: trimClaimSpec(c.Spec),
			Status: corev1.PersistentVolumeClaimStatus{Phase: c.Status.Phase}}
	})
	each(s.Volumes, trimVolume)
	each(s.StorageClasses, func(c *storagev1.StorageClass) {
		*c = storagev1.StorageClass{ObjectMeta: trimMeta(c.ObjectMeta), Provisioner: c.Provisioner, ReclaimPolicy: c.ReclaimPolicy,
			VolumeBindingMode: c.VolumeBindingMode, AllowedTopologies: c.AllowedTopologies}
	})
	each(s.CSINodes, func(n *storagev1.CSINode) {
		*n = storagev1.CSINode{ObjectMeta: trimMeta(n.ObjectMeta), Spec: storagev1.CSINodeSpec{Drivers: n.Spec.Drivers}}
	})
	each(s.DaemonSets, func(d *appsv1.DaemonSet) {
		*d = appsv1.DaemonSet{ObjectMeta: trimMeta(d.ObjectMeta), Spec: appsv1.DaemonSetSpec{Selector: d.Spec.Selector,
			Template: corev1.PodTemplateSpec{ObjectMeta: trimMeta(d.Spec.Template.ObjectMeta), Spec: trimPodSpec(d.Spec.Template.Spec)}}}
	})
	each(s.Budgets, trimBudget)
	each(s.NodePools, trimNodePool)
	each(s.NodeClaims, trimNodeClaim)
	each(s.NodeClasses, trimNodeClass)
	each(s.Autoscalers, trimAutoscaler)
	each(s.PodMetrics, func(m *v1beta1.PodMetrics) {
		*m = v1beta1.PodMetrics{ObjectMeta: metav1.ObjectMeta{Name: m.Name, Namespace: m.Namespace}, Timestamp: m.Timestamp, Window: m.Window,
			Containers: m.Containers}
	})
}

func each[P any](all []P, trim func(P)) {
	for _, one := range all {
		trim(one)
	}
}

func trimMeta(m metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: m.Name, Namespace: m.Namespace, UID: m.UID, Generation: m.Generation, Labels: m.Labels, Annotations: deciding(m.Annotations),
		CreationTimestamp: m.CreationTimestamp, DeletionTimestamp: m.DeletionTimestamp, Finalizers: m.Finalizers,
		OwnerReferences: m.OwnerReferences,
	}
}

// deciding keeps the annotations of Karpenter, and the annotations by which Kubernetes chooses among pods.
func deciding(annotations map[string]string) map[string]string {
	kept := maps.Clone(annotations)
	maps.DeleteFunc(kept, func(key, _ string) bool {
		domain, _, _ := strings.Cut(key, "/")
		return domain != "karpenter.sh" && !strings.HasSuffix(domain, ".karpenter.sh") && domain != "controller.kubernetes.io" &&
			domain != "storageclass.kubernetes.io" && domain != "volume.kubernetes.io" && domain != "pv.kubernetes.io"
	})
	return kept
}

func trimNode(n *corev1.Node) {
	trimmed := corev1.Node{ObjectMeta: trimMeta(n.ObjectMeta),
		Spec:   corev1.NodeSpec{ProviderID: n.Spec.ProviderID, Unschedulable: n.Spec.Unschedulable},
		Status: corev1.NodeStatus{Capacity: n.Status.Capacity, Allocatable: n.Status.Allocatable}}
	for _, t := range n.Spec.Taints {
		trimmed.Spec.Taints = append(trimmed.Spec.Taints, corev1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect, TimeAdded: t.TimeAdded})
	}
	for _, c := range n.Status.Conditions {
		trimmed.Status.Conditions = append(trimmed.Status.Conditions, corev1.NodeCondition{Type: c.Type, Status: c.Status})
	}
	*n = trimmed
}

func trimPod(p *corev1.Pod) {
	trimmed := corev1.Pod{ObjectMeta: trimMeta(p.ObjectMeta), Spec: trimPodSpec(p.Spec),
		Status: corev1.PodStatus{Phase: p.Status.Phase, StartTime: p.Status.StartTime}}
	for _, c := range p.Status.Conditions {
		trimmed.Status.Conditions = append(trimmed.Status.Conditions, corev1.PodCondition{Type: c.Type, Status: c.Status, Reason: c.Reason})
	}
	*p = trimmed
}

// trimPodSpec keeps the resources, host ports, volume claims and constraints of a pod.
func trimPodSpec(s corev1.PodSpec) corev1.PodSpec {
	trimmed := corev1.PodSpec{
		InitContainers: trimContainers(s.InitContainers), Containers: trimContainers(s.Containers), Resources: s.Resources,
		Overhead: s.Overhead, NodeName: s.NodeName, NodeSelector: s.NodeSelector, Affinity: s.Affinity, Tolerations: s.Tolerations,
		TopologySpreadConstraints: s.TopologySpreadConstraints, SchedulerName: s.SchedulerName, SchedulingGates: s.SchedulingGates,
		Priority: s.Priority, PriorityClassName: s.PriorityClassName, PreemptionPolicy: s.PreemptionPolicy, HostNetwork: s.HostNetwork,
		RestartPolicy: s.RestartPolicy, TerminationGracePeriodSeconds: s.TerminationGracePeriodSeconds, RuntimeClassName: s.RuntimeClassName,
	}
	for _, v := range s.Volumes {
		kept := corev1.Volume{Name: v.Name}
		switch {
		case v.PersistentVolumeClaim != nil:
			kept.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: v.PersistentVolumeClaim.ClaimName}
		case v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil:
			kept.Ephemeral = &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{
				Spec: trimClaimSpec(v.Ephemeral.VolumeClaimTemplate.Spec)}}
		default:
			continue
		}
		trimmed.Volumes = append(trimmed.Volumes, kept)
	}
	return trimmed
}

func trimContainers(containers []corev1.Container) (kept []corev1.Container) {
	for _, c := range containers {
		kept = append(kept, corev1.Container{Name: c.Name, Resources: c.Resources, Ports: c.Ports, RestartPolicy: c.RestartPolicy})
	}
	return kept
}

func trimClaimSpec(s corev1.PersistentVolumeClaimSpec) corev1.PersistentVolumeClaimSpec {
	return corev1.PersistentVolumeClaimSpec{AccessModes: s.AccessModes, Selector: s.Selector, Resources: s.Resources,
		VolumeName: s.VolumeName, StorageClassName: s.StorageClassName, VolumeMode: s.VolumeMode}
}

// trimVolume keeps the kind and the driver of a volume's source: core counts volumes by driver, and a local volume is bound to its node.
func trimVolume(v *corev1.PersistentVolume) {
	s := v.Spec
	trimmed := corev1.PersistentVolume{ObjectMeta: trimMeta(v.ObjectMeta), Status: corev1.PersistentVolumeStatus{Phase: v.Status.Phase},
		Spec: corev1.PersistentVolumeSpec{Capacity: s.Capacity, AccessModes: s.AccessModes, StorageClassName: s.StorageClassName,
			VolumeMode: s.VolumeMode, NodeAffinity: s.NodeAffinity, PersistentVolumeReclaimPolicy: s.PersistentVolumeReclaimPolicy}}
	if c := s.ClaimRef; c != nil {
		trimmed.Spec.ClaimRef = &corev1.ObjectReference{APIVersion: c.APIVersion, Kind: c.Kind, Namespace: c.Namespace, Name: c.Name, UID: c.UID}
	}
	switch {
	case s.CSI != nil:
		trimmed.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: s.CSI.Driver, VolumeHandle: s.CSI.VolumeHandle}
	case s.FlexVolume != nil:
		trimmed.Spec.FlexVolume = &corev1.FlexPersistentVolumeSource{Driver: s.FlexVolume.Driver}
	case s.Local != nil:
		trimmed.Spec.Local = &corev1.LocalVolumeSource{}
	case s.HostPath != nil:
		trimmed.Spec.HostPath = &corev1.HostPathVolumeSource{}
	}
	*v = trimmed
}

func trimBudget(b *policyv1.PodDisruptionBudget) {
	*b = policyv1.PodDisruptionBudget{ObjectMeta: trimMeta(b.ObjectMeta),
		Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: b.Spec.MinAvailable, MaxUnavailable: b.Spec.MaxUnavailable,
			Selector: b.Spec.Selector, UnhealthyPodEvictionPolicy: b.Spec.UnhealthyPodEvictionPolicy},
		Status: policyv1.PodDisruptionBudgetStatus{ObservedGeneration: b.Status.ObservedGeneration,
			DisruptionsAllowed: b.Status.DisruptionsAllowed, CurrentHealthy: b.Status.CurrentHealthy, DesiredHealthy: b.Status.DesiredHealthy,
			ExpectedPods: b.Status.ExpectedPods}}
}

func trimNodePool(p *karpv1.NodePool) {
	t := p.Spec.Template
	*p = karpv1.NodePool{ObjectMeta: trimMeta(p.ObjectMeta),
		Spec: karpv1.NodePoolSpec{Disruption: p.Spec.Disruption, Limits: p.Spec.Limits, Weight: p.Spec.Weight, Replicas: p.Spec.Replicas,
			Template: karpv1.NodeClaimTemplate{
				ObjectMeta: karpv1.ObjectMeta{Labels: t.Labels, Annotations: deciding(t.Annotations)},
				Spec: karpv1.NodeClaimTemplateSpec{Taints: t.Spec.Taints, StartupTaints: t.Spec.StartupTaints, Requirements: t.Spec.Requirements,
					NodeClassRef: t.Spec.NodeClassRef, TerminationGracePeriod: t.Spec.TerminationGracePeriod, ExpireAfter: t.Spec.ExpireAfter},
			}},
		Status: karpv1.NodePoolStatus{Resources: p.Status.Resources, Nodes: p.Status.Nodes,
			NodeClassObservedGeneration: p.Status.NodeClassObservedGeneration, Conditions: trimConditions(p.Status.Conditions)}}
}

func trimNodeClaim(c *karpv1.NodeClaim) {
	*c = karpv1.NodeClaim{ObjectMeta: trimMeta(c.ObjectMeta),
		Spec: karpv1.NodeClaimSpec{Taints: c.Spec.Taints, StartupTaints: c.Spec.StartupTaints, Requirements: c.Spec.Requirements,
			Resources: c.Spec.Resources, NodeClassRef: c.Spec.NodeClassRef, TerminationGracePeriod: c.Spec.TerminationGracePeriod,
			ExpireAfter: c.Spec.ExpireAfter},
		Status: karpv1.NodeClaimStatus{NodeName: c.Status.NodeName, ProviderID: c.Status.ProviderID, Capacity: c.Status.Capacity,
			Allocatable: c.Status.Allocatable, LastPodEventTime: c.Status.LastPodEventTime, Conditions: trimConditions(c.Status.Conditions)}}
}

// trimNodeClass keeps the settings that change the size of a node, or select MachineDeployments.
func trimNodeClass(c *v1alpha1.LinodeNodeClass) {
	trimmed := v1alpha1.LinodeNodeClass{ObjectMeta: trimMeta(c.ObjectMeta),
		Spec: v1alpha1.LinodeNodeClassSpec{MachineDeploymentSelector: c.Spec.MachineDeploymentSelector, SwapSize: c.Spec.SwapSize,
			SwapSizeAlpha: c.Spec.SwapSizeAlpha, OSDisk: trimDisk(c.Spec.OSDisk)},
		Status: v1alpha1.LinodeNodeClassStatus{KubernetesVersion: c.Status.KubernetesVersion, Conditions: trimConditions(c.Status.Conditions)}}
	trimmed.Spec.DataDisks = c.Spec.DataDisks.DeepCopy()
	for _, disk := range trimmed.Spec.DataDisks.Devices() {
		*disk = *trimDisk(disk)
	}
	if k := c.Spec.Kubelet; k != nil {
		trimmed.Spec.Kubelet = &v1alpha1.KubeletConfiguration{MaxPods: k.MaxPods, PodsPerCore: k.PodsPerCore, SystemReserved: k.SystemReserved,
			KubeReserved: k.KubeReserved, EvictionHard: k.EvictionHard}
	}
	*c = trimmed
}

// trimAutoscaler keeps the workload that the recommendation is for, and the recommended target. The target respects the policy's bounds
// already.
func trimAutoscaler(a *vpav1.VerticalPodAutoscaler) {
	trimmed := vpav1.VerticalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: a.Name, Namespace: a.Namespace}}
	if r := a.Spec.TargetRef; r != nil {
		trimmed.Spec.TargetRef = &autoscalingv1.CrossVersionObjectReference{APIVersion: r.APIVersion, Kind: r.Kind, Name: r.Name}
	}
	if r := a.Status.Recommendation; r != nil {
		trimmed.Status.Recommendation = &vpav1.RecommendedPodResources{}
		for _, c := range r.ContainerRecommendations {
			trimmed.Status.Recommendation.ContainerRecommendations = append(trimmed.Status.Recommendation.ContainerRecommendations,
				vpav1.RecommendedContainerResources{ContainerName: c.ContainerName, Target: c.Target})
		}
	}
	*a = trimmed
}

func trimDisk(d *v1alpha1.Disk) *v1alpha1.Disk {
	if d == nil {
		return nil
	}
	return &v1alpha1.Disk{Size: d.Size}
}

// trimConditions removes messages, because they quote the user's settings and answers of the API.
func trimConditions(conditions []status.Condition) (kept []status.Condition) {
	for _, c := range conditions {
		kept = append(kept, status.Condition{Type: c.Type, Status: c.Status, Reason: c.Reason, ObservedGeneration: c.ObservedGeneration,
			LastTransitionTime: c.LastTransitionTime})
	}
	return kept
}
