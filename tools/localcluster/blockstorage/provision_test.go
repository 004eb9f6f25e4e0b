package blockstorage

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A claim that is seen before its node has a region is tried again: nothing else would wake it.
func TestAClaimWaitsForTheRegionOfItsNode(t *testing.T) {
	class := &storagev1.StorageClass{}
	other := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "other", Labels: map[string]string{TopologyKey: "us-ord"}}}
	chosen := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "chosen"}}
	if region, err := regionOf([]corev1.Node{other, chosen}, "chosen", class); err == nil {
		t.Errorf("a node without a region gives %q", region)
	}
	chosen.Labels = map[string]string{TopologyKey: "de-fra-2"}
	for name, want := range map[string]string{"chosen": "de-fra-2", "": "us-ord"} {
		if region, err := regionOf([]corev1.Node{other, chosen}, name, class); err != nil || region != want {
			t.Errorf("%q: %q, %v, want %q", name, region, err, want)
		}
	}
}

// A volume that were removed before its attachment would keep its node: the attachment could not be ended any more.
func TestAVolumeIsRemovedAfterItsAttachments(t *testing.T) {
	name := "pvc-a"
	attached := []storagev1.VolumeAttachment{{}, {Spec: storagev1.VolumeAttachmentSpec{
		NodeName: "n", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &name}}}}
	if err := unattached(attached, name); err == nil || err.Error() != "volume pvc-a is still attached to node n" {
		t.Errorf("a volume with an attachment: %v", err)
	}
	if err := unattached(attached, "pvc-b"); err != nil {
		t.Errorf("a volume without one: %v", err)
	}
}
