package blockstorage

import (
	"testing"

	storagev1 "k8s.io/api/storage/v1"
)

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
