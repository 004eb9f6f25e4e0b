package lke

import (
	"strconv"
	"testing"
)

func TestOnlyTheTagThatLKEWritesNamesAPool(t *testing.T) {
	if id := poolIn("nodepool=735298"); id != 735298 {
		t.Errorf("got pool %d", id)
	}
	for _, tag := range []string{"", "nodepool=", "nodepool=0", "nodepool=+5", "nodepool=-5", "nodepool=05", "nodepool= 5", "xnodepool=5",
		"nodepool=5 ", "nodepool=99999999999999999999"} {
		if id := poolIn(tag); id != 0 {
			t.Errorf("%q is taken for pool %d", tag, id)
		}
	}
}

func FuzzPoolTag(f *testing.F) {
	f.Add("nodepool=5")
	f.Add("nodepool=+5")
	f.Fuzz(func(t *testing.T, tag string) {
		if id := poolIn(tag); id < 0 || id > 0 && tag != poolTagPrefix+strconv.Itoa(id) {
			t.Errorf("%q is taken for pool %d", tag, id)
		}
	})
}
