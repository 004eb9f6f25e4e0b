package main

import (
	"context"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches/stored"
)

// waiting makes a cluster in which a pod waits: a node of LKE, a NodePool and its class, and a pod that fits nowhere.
func waiting(t *testing.T, kube client.Client) *corev1.Pod {
	t.Helper()
	class := &v1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	pool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind, Name: "default"}
	pool.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "lke1-7-a", Labels: map[string]string{corev1.LabelTopologyRegion: "us-ord"}}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Spec: corev1.PodSpec{
		AutomountServiceAccountToken: ptr.To(false),
		Containers: []corev1.Container{{Name: "main", Image: "registry.k8s.io/pause:3.10", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")}}}}}}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "default"}}
	create(t, kube, class, pool, node, account, pod)
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
		Reason: corev1.PodReasonUnschedulable, LastTransitionTime: metav1.Now()}}
	pool.StatusConditions().SetTrue(karpv1.ConditionTypeValidationSucceeded)
	pool.StatusConditions().SetTrue(karpv1.ConditionTypeNodeClassReady)
	for _, object := range []client.Object{pod, pool} {
		if err := kube.Status().Update(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	return pod
}

// The test reads the operator's records from a real API server, with the field selectors that the server knows.
func TestExplainReadsWhatTheOperatorHasRecorded(t *testing.T) {
	kube, kubeconfig := apiServer(t)
	pod := waiting(t, kube)
	explained := func(config string) string {
		t.Helper()
		out, err := execute(t, "", "explain", "pod/web", "--kubeconfig", config, "--prices", "builtin")
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	has := func(out string, words ...string) {
		t.Helper()
		for _, word := range words {
			if word, absent := strings.CutPrefix(word, "!"); strings.Contains(out, word) == absent {
				t.Errorf("%q is there: %t, in\n%s", word, absent, out)
			}
		}
	}
	has(explained(kubeconfig), "There is no Lease karpenter-leader-election",
		"Karpenter makes a node for it: NodePool default gets g6-standard-1")

	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "karpenter-leader-election"},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To("karpenter-1"), LeaseDurationSeconds: ptr.To[int32](60),
			RenewTime: ptr.To(metav1.NowMicro())}}
	until := time.Now().Add(2 * time.Minute).UTC().Format(time.RFC3339)
	kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "karpenter-learned-capacity",
		Annotations: map[string]string{stored.RestsAnnotation: `[{"plan":"g6-standard-1","cause":"NoCapacity","ends":"` + until + `"}]`}}}
	event := func(kind, name, reason, eventType, message string, of client.Object) *corev1.Event {
		e := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "e-"}, Reason: reason, Type: eventType,
			Message: message, LastTimestamp: metav1.Now(),
			InvolvedObject: corev1.ObjectReference{Kind: kind, Name: name, Namespace: "default"}}
		if of != nil {
			e.InvolvedObject.UID = of.GetUID()
		}
		return e
	}
	create(t, kube, lease, kept,
		event("NodePool", "default", "InsufficientCapacity", "Warning", "Linode has no capacity for g6-standard-1", nil))
	has(explained(kubeconfig), "InsufficientCapacity on NodePool default: Linode has no capacity", "NodePool default gets",
		"!gets g6-standard-1 ", "!Lease")

	create(t, kube, event("Pod", "web", "Nominated", "Normal", "Pod should schedule on: nodeclaim/default-gone", pod),
		event("NodeClaim", "default-gone", "InsufficientCapacityError", "Warning", "no room", nil))
	has(explained(kubeconfig), "NodeClaim default-gone, which was made for it, is gone.",
		"InsufficientCapacityError on NodeClaim default-gone: no room")

	lease.Spec.RenewTime = ptr.To(metav1.NewMicroTime(time.Now().Add(-5 * time.Minute)))
	if err := kube.Update(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	has(explained(kubeconfig), "Karpenter does not work: its Lease kube-system/karpenter-leader-election was renewed last 5m", "!makes a node")

	// The Lease looks old to this machine's clock, although its holder renews it again and again.
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = wait.PollUntilContextCancel(ctx, time.Second, false, func(ctx context.Context) (bool, error) {
			lease.Spec.RenewTime = ptr.To(metav1.NewMicroTime(time.Now().Add(-4 * time.Minute)))
			return false, kube.Update(ctx, lease)
		})
	}()
	has(explained(kubeconfig), "!does not work", "makes a node")
	stop()
	<-ended
}

// A user who may read nodes and pods, but not the operator's records, gets an explanation without these records.
func TestExplainWithoutTheRightToReadLeasesAndEvents(t *testing.T) {
	kube, kubeconfig := apiServer(t)
	waiting(t, kube)
	create(t, kube, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "viewer"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"", "apps", "policy", "storage.k8s.io", "karpenter.sh", v1alpha1.Group}, Verbs: []string{"get", "list"},
			Resources: []string{"nodes", "namespaces", "pods", "persistentvolumeclaims", "persistentvolumes", "storageclasses", "csinodes",
				"daemonsets", "poddisruptionbudgets", "nodepools", "nodeclaims", "linodenodeclasses"}}}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "viewer"}, Subjects: []rbacv1.Subject{{Kind: "User", Name: "viewer",
			APIGroup: rbacv1.GroupName}}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "viewer"}})
	config, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range config.AuthInfos {
		user.Impersonate = "viewer"
	}
	path := write(t, "viewer", "")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	out, err := execute(t, "", "explain", "pod/web", "--kubeconfig", path, "--prices", "builtin")
	if err != nil || !strings.Contains(out, "These could not be read, so the explanation is without them: the operator's Lease (leases") ||
		!strings.Contains(out, "; events (events is forbidden") || !strings.Contains(out, "Karpenter makes a node for it") ||
		strings.Contains(out, "There is no Lease") {
		t.Errorf("%v\n%s", err, out)
	}
}
