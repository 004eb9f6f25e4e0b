package nodeclaim_test

import (
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

func TestOnlyTheCanonicalProviderIDNamesALinode(t *testing.T) {
	if id, err := nodeclaim.InstanceID("linode://94907002"); err != nil || id != 94907002 {
		t.Errorf("got %d, %v", id, err)
	}
	for _, forged := range []string{
		"", "linode://", "linode://0", "linode://+94907002", "linode://-1", "linode://0094907002", "linode:// 1", "linode://1 ", "linode://1/2",
		"aws:///us-east-1a/i-1", "94907002", "LINODE://1", "linode://99999999999999999999", "linode://0x10", "linode://1_000",
	} {
		if id, err := nodeclaim.InstanceID(forged); err == nil {
			t.Errorf("%q is taken for instance %d", forged, id)
		}
	}
}

func FuzzInstanceID(f *testing.F) {
	f.Add("linode://1")
	f.Add("linode://+1")
	f.Fuzz(func(t *testing.T, text string) {
		if id, err := nodeclaim.InstanceID(text); err == nil && nodeclaim.ProviderID(id) != text {
			t.Errorf("%q is taken for instance %d, whose provider ID is %q", text, id, nodeclaim.ProviderID(id))
		}
	})
}
