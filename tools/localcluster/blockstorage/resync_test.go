package blockstorage

import (
	"log/slog"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/linodehttp"
)

// A volume that a reboot has detached is attached again to the same Linode, and its pod is not ready until then.
func TestAVolumeIsAttachedAgainAfterAReboot(t *testing.T) {
	sim, err := linodesim.New(linodesim.Config{ValidateAnswers: true, Profile: linodesim.Instant()})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(sim)
	defer server.Close()
	a, ctx := account{linodehttp.New(server.URL, linodesim.DefaultToken, "test")}, t.Context()
	linode, err := sim.AddInstance(linodesim.InstanceSpec{Label: "node", Type: "g6-standard-1", Image: "linode/debian12"})
	if err != nil {
		t.Fatal(err)
	}
	var made api.Volume
	until(t, "create", func() (err error) { made, err = a.create(ctx, "pvc-a", "us-ord", 10); return err })
	until(t, "attach", func() error { return a.attach(ctx, made.ID, linode) })

	name := "pvc-a"
	claimed := corev1.PodSpec{NodeName: "node", Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}}
	running := corev1.PodStatus{Phase: corev1.PodRunning,
		Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		ContainerStatuses: []corev1.ContainerStatus{{Name: "pause", Ready: true}}}
	attachment := &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: "csi-1", Finalizers: []string{attacherFinalizer}},
		Spec: storagev1.VolumeAttachmentSpec{Attacher: Driver, NodeName: "node",
			Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &name}},
		Status: storagev1.VolumeAttachmentStatus{Attached: true},
	}
	kube := fake.NewClientBuilder().WithStatusSubresource(&corev1.Pod{}).WithObjects(attachment,
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}, Spec: corev1.NodeSpec{ProviderID: "linode://" + strconv.Itoa(linode)}},
		&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
			ClaimRef:               &corev1.ObjectReference{Namespace: "default", Name: "data"},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{VolumeHandle: handle(made)}},
		}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "with"}, Spec: claimed, Status: running},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "without"}, Spec: corev1.PodSpec{NodeName: "node"},
			Status: running},
	).Build()
	l := &lost{again: make(chan event.GenericEvent, 1)}
	r := resync{kube, a, l, time.Minute, slog.New(slog.DiscardHandler)}
	driver := attacher{kube, &a, l}
	compared := func(when string, with bool, restarts int32) {
		t.Helper()
		if err := r.compare(ctx); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]bool{"with": with, "without": true} {
			pod := &corev1.Pod{}
			if err := kube.Get(ctx, client.ObjectKey{Namespace: "default", Name: name}, pod); err != nil {
				t.Fatal(err)
			}
			is, container := pod.Status.Conditions[0].Status == corev1.ConditionTrue, pod.Status.ContainerStatuses[0]
			if is != want || container.Ready != want || name == "with" && container.RestartCount != restarts {
				t.Errorf("%s: the pod %s a volume is %+v", when, name, pod.Status)
			}
		}
	}
	compared("before", true, 0)
	owner := linodehttp.New(server.URL, linodesim.DefaultToken, "owner")
	until(t, "reboot", func() error {
		return owner.Send(ctx, "POST", "/linode/instances/"+strconv.Itoa(linode)+"/reboot", "", struct{}{}, nil)
	})
	compared("after the reboot", false, 0)
	if again := <-l.again; again.Object.GetName() != attachment.Name || !l.has(attachment.Name) {
		t.Errorf("the attachment %s is looked at again", again.Object.GetName())
	}
	until(t, "attach again", func() error {
		_, err := driver.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(attachment)})
		return err
	})
	if l.has(attachment.Name) {
		t.Error("the attachment still counts as lost")
	}
	compared("attached again", true, 1)
	if v, err := a.volume(ctx, made.ID); err != nil || v.LinodeID == nil || *v.LinodeID != linode {
		t.Errorf("the volume is attached to %v: %v", v.LinodeID, err)
	}
}
