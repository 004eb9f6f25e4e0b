package allocator_test

import (
	"slices"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// staleLists makes both lists show the state of this moment for a while.
func (l *lab) staleLists(d time.Duration) {
	for _, route := range []string{poolsRoute, instancesRoute} {
		id := l.sim.Fail(linodesim.Rule{Method: "GET", Route: route, View: linodesim.View{Stale: time.Hour}})
		time.AfterFunc(d, func() { l.sim.Heal(id) })
	}
}

func TestOwnWritesAreBelievedBeforeLists(t *testing.T) {
	onBothTiers(t, linodesim.Config{Profile: linodesim.Instant()}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		time.Sleep(time.Minute)
		began := time.Now()
		l.staleLists(3 * time.Second)
		node, err := p.Claim(within(t, time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: "a"}, Key: key})
		if err != nil {
			t.Fatal(err)
		}
		nodes, err := p.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if l.tier == linodesim.Standard && time.Since(began) > 3*time.Second {
			// On Enterprise an instance is found by the list alone.
			t.Errorf("the lists were current again, after %s", time.Since(began))
		}
		if !slices.ContainsFunc(nodes, func(n lkepool.Node) bool { return n.InstanceID == node.InstanceID && n.Claim == "a" }) {
			t.Errorf("the list %+v lacks %d", nodes, node.InstanceID)
		}
	})
}

// A process that starts while its predecessor's writes are not to be seen yet.
func TestNewProcessDoesNotTrustTheFirstList(t *testing.T) {
	onBothTiers(t, linodesim.Config{Profile: linodesim.Instant()}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		time.Sleep(time.Minute)
		l.staleLists(3 * time.Second)
		first, err := p.Claim(within(t, time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: "a"}, Key: key})
		if err != nil {
			t.Fatal(err)
		}
		p.kill()
		second, err := l.start(lkepool.Config{}).Claim(within(t, time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: "a"}, Key: key})
		if err != nil || second.InstanceID != first.InstanceID || l.requested() != 1 {
			t.Errorf("had %d, got %d, %v; %d nodes were asked for", first.InstanceID, second.InstanceID, err, l.requested())
		}
	})
}

// A free node of the first list may have been claimed since by the predecessor.
func TestNewProcessDoesNotStealWhatLooksFree(t *testing.T) {
	onBothTiers(t, linodesim.Config{Profile: linodesim.Instant()}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		time.Sleep(time.Minute)
		claimAll(t, p.Allocator, key, 1, time.Minute)
		count := 2
		if err := l.sim.EditPool(l.cluster.ID, l.ours()[0].ID, linodesim.PoolEdit{Count: &count}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		l.staleLists(3 * time.Second)
		first, err := p.Claim(within(t, time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: "a"}, Key: key})
		if err != nil {
			t.Fatal(err)
		}
		p.kill()
		second, err := l.start(lkepool.Config{}).Claim(within(t, time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: "b"}, Key: key})
		if err != nil || second.InstanceID == first.InstanceID {
			t.Errorf("a has %d, b got %d, %v", first.InstanceID, second.InstanceID, err)
		}
	})
}
