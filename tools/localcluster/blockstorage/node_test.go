package blockstorage_test

import (
	"testing"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/blockstorage"
)

// docs/storage.md has the same figures.
func TestAttachLimitFollowsThePlansMemory(t *testing.T) {
	for gib, want := range map[int64]int32{1: 7, 2: 7, 4: 7, 8: 7, 16: 15, 24: 23, 32: 31, 64: 63, 96: 63, 512: 63} {
		if got := blockstorage.AttachLimit(gib<<30, 1); got != want {
			t.Errorf("a plan of %d GiB takes %d volumes, want %d", gib, got, want)
		}
	}
}
