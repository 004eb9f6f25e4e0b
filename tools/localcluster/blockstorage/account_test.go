package blockstorage

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/linodehttp"
)

// until repeats a step as the driver's caller does.
func until(t *testing.T, what string, step func() error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if err = step(); err == nil {
			return
		}
	}
	t.Fatalf("%s: %v", what, err)
}

// A volume is made once, attached to one Linode at a time, and removed when it is attached to none.
func TestVolumesOfTheAccount(t *testing.T) {
	sim, err := linodesim.New(linodesim.Config{ValidateAnswers: true, Profile: linodesim.Instant()})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(sim)
	defer server.Close()
	a := account{linodehttp.New(server.URL, linodesim.DefaultToken, "test")}
	ctx := t.Context()
	var linodes []int
	for range 2 {
		id, err := sim.AddInstance(linodesim.InstanceSpec{Type: "g6-standard-1", Image: "linode/debian12"})
		if err != nil {
			t.Fatal(err)
		}
		linodes = append(linodes, id)
	}
	// 8 devices, of which the root and the swap disk that a Linode has by default take two.
	if limit, err := a.limit(ctx, linodes[0]); err != nil || limit != 6 {
		t.Errorf("a Linode with a swap disk takes %d volumes, want 6: %v", limit, err)
	}
	var ids []int
	for _, name := range []string{"pvc-a", "pvc-a", "pvc-b", "pvc-c", "pvc-d", "pvc-e", "pvc-f", "pvc-g"} {
		until(t, "create "+name, func() error {
			v, err := a.create(ctx, name, "us-ord", 1)
			if err == nil && (len(ids) == 0 || ids[len(ids)-1] != v.ID) {
				ids = append(ids, v.ID)
			}
			return err
		})
	}
	if len(ids) != 7 {
		t.Fatalf("%d volumes were made for 7 names", len(ids))
	}
	for _, id := range ids[:6] {
		until(t, "attach", func() error { return a.attach(ctx, id, linodes[0]) })
	}
	if err := a.attach(ctx, ids[6], linodes[0]); err == nil || !strings.Contains(err.Error(), "max volumes already attached") {
		t.Errorf("a seventh volume: %v", err)
	}
	if err := a.attach(ctx, ids[0], linodes[1]); err == nil || !strings.Contains(err.Error(), "already attached to Linode") {
		t.Errorf("a volume of another Linode: %v", err)
	}
	if err := a.remove(ctx, ids[0]); err == nil {
		t.Error("a volume in use was removed")
	}
	if err := a.detach(ctx, ids[0], linodes[1]); err != nil {
		t.Errorf("detaching from a Linode that does not have it: %v", err)
	}
	until(t, "detach", func() error { return a.detach(ctx, ids[0], linodes[0]) })
	until(t, "move", func() error { return a.attach(ctx, ids[0], linodes[1]) })
	until(t, "detach again", func() error { return a.detach(ctx, ids[0], linodes[1]) })
	for range 2 {
		until(t, "remove", func() error { return a.remove(ctx, ids[0]) })
	}
}

func TestHandles(t *testing.T) {
	if label := labelOf("pvc-0123456789ab-cdef-0123-4567-89abcdef0123"); len(label) > labelLength || strings.Contains(label, "-") {
		t.Errorf("the label %q", label)
	}
	if id, err := idOf("123-pvcab"); id != 123 || err != nil {
		t.Errorf("%d, %v", id, err)
	}
}
