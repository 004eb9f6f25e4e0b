package blockstorage

import (
	"context"
	"strconv"
	"testing"

	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/linodehttp"
)

// A reboot has detached a volume. Its pod is not ready from the first list without the attachment until a list that has it again.
func TestPodsWaitForTheirVolumeAfterAReboot(t *testing.T) {
	kube := fake.NewClientBuilder().WithStatusSubresource(&corev1.Pod{}).Build()
	d := newDriver(t, kube)
	linode, ctx := d.linode(), t.Context()
	volume := d.made("pvc-a")
	d.want("attach", d.attach(volume, linode), codes.OK)
	claimed := corev1.PodSpec{NodeName: "node", Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}}
	running := corev1.PodStatus{Phase: corev1.PodRunning,
		Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		ContainerStatuses: []corev1.ContainerStatus{{Name: "pause", Ready: true}}}
	for _, object := range []client.Object{
		&storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "csi-1"},
			Spec: storagev1.VolumeAttachmentSpec{Attacher: Driver, NodeName: "node",
				Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: new("pvc-a")}},
			Status: storagev1.VolumeAttachmentStatus{Attached: true}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}, Spec: corev1.NodeSpec{ProviderID: "linode://" + strconv.Itoa(linode)}},
		&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pvc-a"}, Spec: corev1.PersistentVolumeSpec{
			ClaimRef:               &corev1.ObjectReference{Namespace: "default", Name: "data"},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{VolumeHandle: volume}},
		}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "with"}, Spec: claimed, Status: running},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "without"}, Spec: corev1.PodSpec{NodeName: "node"},
			Status: running},
	} {
		if err := kube.Create(ctx, object); err != nil {
			t.Fatal(err)
		}
	}
	listed := func(when string, published int, with bool, restarts int32) {
		t.Helper()
		d.published(volume, published)
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
	listed("before", linode, true, 0)
	owner := linodehttp.New(d.url, linodesim.DefaultToken, "owner")
	if err := owner.Send(ctx, "POST", "/linode/instances/"+strconv.Itoa(linode)+"/reboot", "", struct{}{}, nil); err != nil {
		t.Fatal(err)
	}
	listed("after the reboot", 0, false, 0)
	listed("still", 0, false, 0)
	err := wait.PollUntilContextCancel(ctx, poll, true, func(context.Context) (bool, error) { // once the Linode runs
		return d.attach(volume, linode) == nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	listed("attached again", linode, true, 1)
}
