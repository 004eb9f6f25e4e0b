package allocator_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// A node that a person deletes while its claim is being written: the write succeeds, because the
// instance takes its time to go, and the claimant gets another node.
func TestNodeDeletedWhileItIsClaimed(t *testing.T) {
	supplied(t, linodesim.Config{Profile: linodesim.Realistic()}, func(t *testing.T, l *lab, p *process, a lkepool.Node) {
		rule := l.sim.Fail(linodesim.Rule{Method: "PUT", Route: instanceRoute, Delay: 2 * time.Second, Times: 1})
		var b lkepool.Node
		var group sync.WaitGroup
		group.Go(func() {
			var err error
			if b, err = p.Claim(within(t, 10*time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: "b"}, Key: key}); err != nil {
				t.Error(err)
			}
		})
		for l.sim.Hits(rule) == 0 {
			time.Sleep(100 * time.Millisecond)
		}
		doomed := 0
		for _, node := range l.ours()[0].Nodes {
			if node.InstanceID != a.InstanceID {
				doomed = node.InstanceID
				if err := l.sim.DeleteNode(l.cluster.ID, node.ID); err != nil {
					t.Error(err)
				}
			}
		}
		group.Wait()
		removed, written := false, false
		for _, e := range l.sim.Audit() {
			removed = removed || e.Action == linodesim.NodeRemoved && e.InstanceID == doomed
			written = written || removed && e.Action == linodesim.InstanceTagged && e.InstanceID == doomed &&
				claimIn(strings.Split(e.After, ",")) == "b"
		}
		if !written {
			t.Errorf("no claim was written on %d after it was deleted: this shows nothing", doomed)
		}
		if b.InstanceID == doomed {
			t.Errorf("b got %d, which was deleted", doomed)
		}
		time.Sleep(10 * time.Minute)
		existing(t, l, []lkepool.Node{a, b})
	})
}
