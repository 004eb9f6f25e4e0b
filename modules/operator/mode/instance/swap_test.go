package instance_test

import (
	"bytes"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// A Linode has no swap disk unless its class sets one, by either name, and then its kubelet starts all the same.
func TestSwapIsOffUnlessTheClassSetsIt(t *testing.T) {
	for _, test := range []struct {
		name string
		spec v1alpha1.LinodeNodeClassSpec
		size int
	}{
		{"not set", v1alpha1.LinodeNodeClassSpec{}, 0},
		{"none", v1alpha1.LinodeNodeClassSpec{SwapSize: new(0)}, 0},
		{"set", v1alpha1.LinodeNodeClassSpec{SwapSize: new(1024)}, 1024},
		{"set by its other name", v1alpha1.LinodeNodeClassSpec{SwapSizeAlpha: new(256)}, 256},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, known, nil)
			if _, err := w.backend.Claim(t.Context(), launch(classWith(test.spec))); err != nil {
				t.Fatal(err)
			}
			spec := w.engine.specs[0]
			if spec.Storage.SwapMB == nil || *spec.Storage.SwapMB != test.size {
				t.Errorf("the swap disk is %v MB, expected %d", spec.Storage.SwapMB, test.size)
			}
			if allowed := bytes.Contains(spec.UserData.Content, []byte("failSwapOn: false")); allowed != (test.size > 0) {
				t.Errorf("the kubelet starts with swap: %t", allowed)
			}
			if off := bytes.Contains(spec.UserData.Content, []byte("swapoff")); off != (test.size == 0) {
				t.Errorf("swap is turned off: %t", off)
			}
		})
	}
}
