package allocator_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi"
	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi/allocator"
)

// cluster is one deployment whose controllers act at once; the schedules of package core have controllers that act late.
type cluster struct {
	mu       sync.Mutex
	replicas int
	version  int
	machines []clusterapi.Machine
	scaled   []int
	refuse   error // of readings
}

func (c *cluster) next() string { c.version++; return strconv.Itoa(c.version) }

func (c *cluster) Read(context.Context) (clusterapi.World, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return clusterapi.World{
		Deployments: []clusterapi.Deployment{{Name: "general", UID: "d", ResourceVersion: "d" + strconv.Itoa(c.replicas), Replicas: c.replicas,
			Observed: true, Sets: []clusterapi.Set{{Name: "set", Replicas: c.replicas, Observed: true, Current: true}}}},
		Machines: append([]clusterapi.Machine{}, c.machines...),
	}, c.refuse
}

func (c *cluster) Write(_ context.Context, w clusterapi.Write) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.Op == clusterapi.OpScale {
		if w.ResourceVersion != "d"+strconv.Itoa(c.replicas) {
			return &claims.Error{Kind: claims.KindConflict, Op: string(w.Op), Object: w.Object, Effect: claims.EffectNone}
		}
		c.scale(w.Replicas)
		return nil
	}
	for i := range c.machines {
		m := &c.machines[i]
		if m.Name != w.Object {
			continue
		}
		if m.ResourceVersion != w.ResourceVersion {
			return &claims.Error{Kind: claims.KindConflict, Op: string(w.Op), Object: w.Object, Effect: claims.EffectNone}
		}
		m.ResourceVersion = c.next()
		switch w.Op {
		case clusterapi.OpClaim:
			m.Claim = clusterapi.ParseClaim(w.Value)
		case clusterapi.OpRelease:
			m.Released = true
		}
		return nil
	}
	return &claims.Error{Kind: claims.KindNotFound, Op: string(w.Op), Object: w.Object, Effect: claims.EffectNone}
}

// scale makes Machines, or deletes marked ones.
func (c *cluster) scale(replicas int) {
	c.scaled = append(c.scaled, replicas)
	for ; c.replicas < replicas; c.replicas++ {
		name := fmt.Sprintf("general-%d", len(c.scaled)*100+c.replicas)
		c.machines = append(c.machines, clusterapi.Machine{Name: name, UID: name, ResourceVersion: c.next(), Deployment: "general", Set: "set",
			ProviderID: clusterapi.ProviderIDPrefix + strconv.Itoa(1000+c.version)})
	}
	for i := range c.machines {
		if c.replicas > replicas && c.machines[i].Released && !c.machines[i].Deleting {
			c.machines[i].Deleting = true
			c.replicas--
		}
	}
}

func engine(t *testing.T, c *cluster, cfg clusterapi.Config) *allocator.Allocator {
	t.Helper()
	cfg.ReadInterval, cfg.CacheLag = time.Millisecond, time.Nanosecond
	a, err := allocator.New(c, cfg)
	if err != nil {
		t.Fatal(err)
	}
	a.Begin()
	return a
}

func request(name string) clusterapi.Request {
	return clusterapi.Request{Claimant: claims.Claimant{Name: name, UID: "uid-" + name}, Deployments: []string{"general"}}
}

func TestEachClaimantGetsOneMachineAndItAloneIsRemoved(t *testing.T) {
	c := &cluster{}
	a := engine(t, c, clusterapi.Config{})
	var group sync.WaitGroup
	got := make([]clusterapi.Machine, 5)
	for i := range got {
		group.Go(func() {
			var err error
			if got[i], err = a.Claim(t.Context(), request(fmt.Sprint("claim-", i))); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	seen := map[string]bool{}
	for _, m := range got {
		seen[m.ProviderID] = true
	}
	if len(seen) != 5 || len(c.machines) != 5 {
		t.Fatalf("5 claimants got %d Machines of %d", len(seen), len(c.machines))
	}
	again, err := a.Claim(t.Context(), request("claim-2"))
	if err != nil || again.ProviderID != got[2].ProviderID {
		t.Errorf("a second call got %s, %v; want %s", again.ProviderID, err, got[2].ProviderID)
	}
	if err := a.Release(t.Context(), got[2].ProviderID, request("claim-1").Claimant); claims.KindOf(err) != claims.KindConflict {
		t.Errorf("a release by another claimant: %v", err)
	}
	if err := a.Release(t.Context(), got[2].ProviderID, request("claim-2").Claimant); err != nil {
		t.Fatal(err)
	}
	for _, m := range c.machines {
		if m.Deleting != (m.ProviderID == got[2].ProviderID) {
			t.Errorf("%s of %s: deleting %v", m.Name, m.Claim.Name, m.Deleting)
		}
	}
}

func TestAFreeMachineIsTakenBeforeOneIsBought(t *testing.T) {
	c := &cluster{}
	c.scale(1)
	if _, err := engine(t, c, clusterapi.Config{}).Claim(t.Context(), request("a")); err != nil || len(c.machines) != 1 {
		t.Errorf("%d Machines, %v", len(c.machines), err)
	}
}

func TestAClaimEndsWithItsContextWhileTheClusterDoesNotAnswer(t *testing.T) {
	c := &cluster{refuse: &claims.Error{Kind: claims.KindUnavailable, Op: "read cluster"}}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := engine(t, c, clusterapi.Config{}).Claim(ctx, request("a")); err == nil || len(c.scaled) > 0 {
		t.Errorf("%v, replicas set to %v", err, c.scaled)
	}
}

func TestRequestsThatCannotBeServedNameTheirField(t *testing.T) {
	a := engine(t, &cluster{}, clusterapi.Config{})
	for field, r := range map[string]clusterapi.Request{
		"Claimant.Name": {}, "Claimant.UID": {Claimant: claims.Claimant{Name: "a"}}, "Deployments": {Claimant: request("a").Claimant},
	} {
		if _, err := a.Claim(t.Context(), r); claims.KindOf(err) != claims.KindInvalid {
			t.Errorf("without %s: %v", field, err)
		}
	}
	if _, err := allocator.New(&cluster{}, clusterapi.Config{CacheLag: -1}); claims.KindOf(err) != claims.KindInvalid {
		t.Errorf("a negative duration: %v", err)
	}
}
