package whatif_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/snapshot"
	"github.com/karpenter-linode/karpenter-linode/modules/advisor/whatif"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog/pricelist"
)

const region = "us-ord"

var made = metav1.NewTime(time.Date(2026, time.May, 4, 12, 0, 0, 0, time.UTC))

func quantities(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
}

// node returns a node of an LKE pool.
func node(pool, name, plan, cpu, memory string) *corev1.Node {
	has := quantities(cpu, memory)
	has[corev1.ResourcePods] = resource.MustParse("110")
	has[corev1.ResourceEphemeralStorage] = resource.MustParse("80Gi")
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: made, Labels: map[string]string{
			whatif.PoolLabel: pool, corev1.LabelInstanceTypeStable: plan, corev1.LabelTopologyRegion: region, corev1.LabelHostname: name,
		}},
		Spec:   corev1.NodeSpec{ProviderID: "linode://" + name},
		Status: corev1.NodeStatus{Capacity: has, Allocatable: has},
	}
}

// nodes are of one plan, g6-standard-4.
func nodes(n int) (all []*corev1.Node) {
	for i := range n {
		all = append(all, node("7", fmt.Sprintf("lke1-7-%03d", i), "g6-standard-4", "4", "7900Mi"))
	}
	return all
}

// workload is pods of one Deployment, over the nodes of a cluster in turn.
func workload(s *snapshot.Snapshot, name string, replicas int, cpu, memory string, edit ...func(*corev1.Pod)) {
	for i := range replicas {
		id := fmt.Sprintf("%s-%04d", name, i)
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: id, UID: types.UID(id),
				CreationTimestamp: made, Labels: map[string]string{"app": name}, OwnerReferences: []metav1.OwnerReference{{
					APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name, UID: types.UID(name), Controller: ptr.To(true),
				}}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main",
				Resources: corev1.ResourceRequirements{Requests: quantities(cpu, memory)}}}},
			Status: corev1.PodStatus{Phase: corev1.PodRunning},
		}
		if len(s.Nodes) > 0 {
			pod.Spec.NodeName = s.Nodes[i%len(s.Nodes)].Name
		}
		for _, edit := range edit {
			edit(pod)
		}
		s.Pods = append(s.Pods, pod)
	}
}

func daemonSet(name, cpu, memory string) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name, UID: types.UID(name), CreationTimestamp: made},
		Spec: appsv1.DaemonSetSpec{Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}},
			Spec: corev1.PodSpec{
				Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
				Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{
					Requests: quantities(cpu, memory),
				}}},
			},
		}},
	}
}

// withVolume gives a pod a bound claim of its own in the region.
func withVolume(s *snapshot.Snapshot) func(*corev1.Pod) {
	if len(s.StorageClasses) == 0 {
		s.StorageClasses = append(s.StorageClasses, &storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{Name: "linode-block-storage-retain"}, Provisioner: "linodebs.csi.linode.com",
		})
	}
	return func(pod *corev1.Pod) {
		name := "data-" + pod.Name
		s.Claims = append(s.Claims, &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: name,
				Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"}},
			Spec:   corev1.PersistentVolumeClaimSpec{VolumeName: "pv-" + name, StorageClassName: ptr.To("linode-block-storage-retain")},
			Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
		})
		s.Volumes = append(s.Volumes, &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: "pv-" + name},
			Spec: corev1.PersistentVolumeSpec{
				PersistentVolumeSource: corev1.PersistentVolumeSource{
					CSI: &corev1.CSIPersistentVolumeSource{Driver: "linodebs.csi.linode.com", VolumeHandle: name},
				},
				NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchExpressions: []corev1.NodeSelectorRequirement{{
						Key: v1alpha1.LabelVolumeRegion, Operator: corev1.NodeSelectorOpIn, Values: []string{region},
					}},
				}}}},
			},
		})
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
		}})
	}
}

// apart spreads a workload over nodes; strictly, one pod a node.
func apart(strictly bool) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": pod.Labels["app"]}}
		if strictly {
			pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
					TopologyKey: corev1.LabelHostname, LabelSelector: selector,
				}},
			}}
			return
		}
		pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selector,
		}}
	}
}

func onGPU(pod *corev1.Pod) {
	one := corev1.ResourceList{v1alpha1.ResourceNvidiaGPU: resource.MustParse("1")}
	pod.Spec.Containers[0].Resources.Limits = one
	for name, q := range one {
		pod.Spec.Containers[0].Resources.Requests[name] = q
	}
	pod.Spec.Tolerations = []corev1.Toleration{{Key: string(v1alpha1.ResourceNvidiaGPU), Operator: corev1.TolerationOpExists}}
}

// withDaemons adds a DaemonSet and its pod on each node.
func withDaemons(s *snapshot.Snapshot, name, cpu, memory string) {
	set := daemonSet(name, cpu, memory)
	s.DaemonSets = append(s.DaemonSets, set)
	for _, node := range s.Nodes {
		s.Pods = append(s.Pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: name + "-" + node.Name, UID: types.UID(name + node.Name),
				CreationTimestamp: made, OwnerReferences: []metav1.OwnerReference{{
					APIVersion: "apps/v1", Kind: "DaemonSet", Name: name, UID: set.UID, Controller: ptr.To(true),
				}}},
			Spec: *set.Spec.Template.Spec.DeepCopy(), Status: corev1.PodStatus{Phase: corev1.PodRunning},
		})
		s.Pods[len(s.Pods)-1].Spec.NodeName = node.Name
	}
}

// clusters are the workloads that the page on whatif shows, each on nodes of LKE pools, with the NodePools of docs/examples.
func clusters(t testing.TB) map[string]*snapshot.Snapshot {
	volumes := &snapshot.Snapshot{Nodes: nodes(6)}
	workload(volumes, "db", 30, "250m", "512Mi", withVolume(volumes))
	spread := &snapshot.Snapshot{Nodes: nodes(6)}
	workload(spread, "web", 12, "500m", "1Gi", apart(false))
	workload(spread, "cache", 5, "250m", "2Gi", apart(true))
	daemons := &snapshot.Snapshot{Nodes: nodes(8)}
	withDaemons(daemons, "logs", "200m", "256Mi")
	withDaemons(daemons, "metrics", "100m", "128Mi")
	workload(daemons, "web", 40, "500m", "512Mi")
	gpu := &snapshot.Snapshot{Nodes: append(nodes(2), node("8", "lke1-8-000", "g2-gpu-rtx4000a2-s", "8", "30Gi"))}
	workload(gpu, "web", 6, "500m", "1Gi")
	workload(gpu, "train", 2, "2", "8Gi", onGPU, func(pod *corev1.Pod) { pod.Spec.NodeName = "lke1-8-000" })
	many := &snapshot.Snapshot{Nodes: nodes(40)}
	workload(many, "web", 200, "250m", "512Mi")
	workload(many, "jobs", 100, "500m", "256Mi")
	all := map[string]*snapshot.Snapshot{"volumes": volumes, "spread": spread, "daemonsets": daemons, "gpu": gpu, "many": many}
	for name, s := range all {
		s.NodePools = examples(t, "nodepool.yaml").NodePools
		if name == "gpu" {
			s.NodePools = append(s.NodePools, examples(t, "nodepool-gpu.yaml").NodePools...)
		}
	}
	return all
}

// examples reads a file of the pages.
func examples(t testing.TB, name string) *snapshot.Snapshot {
	t.Helper()
	file, err := os.Open("../../../docs/examples/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	s, err := snapshot.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func run(t testing.TB, input whatif.Input) *whatif.Report {
	t.Helper()
	list, err := pricelist.BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	input.API, input.Prices = list, "built in, of "+list.Date
	report, err := whatif.Run(t.Context(), input)
	if err != nil {
		t.Fatal(err)
	}
	return report
}
