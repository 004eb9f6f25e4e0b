package plane_test

import (
	"testing"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/plane"
)

// A port that is chosen and not used yet is not chosen again: by chance, 400 ports are all different in only one of a hundred runs.
func TestAPortIsReservedBeforeItIsUsed(t *testing.T) {
	chosen := map[int]bool{}
	for range 200 {
		ports, err := plane.FreePorts(2)
		if err != nil {
			t.Fatal(err)
		}
		for _, port := range ports {
			if chosen[port] {
				t.Fatalf("port %d was chosen twice", port)
			}
			chosen[port] = true
		}
	}
}
