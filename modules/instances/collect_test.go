package instances_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

func nothingAlive() claims.Sweep {
	return claims.Sweep{Alive: func(context.Context) ([]claims.Claimant, error) { return nil, nil }}
}

func TestCollectRemovesWhatNoClaimantNeeds(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
		p := l.start(instances.Config{})
		kept, left, successor := p.create(t, spec("kept", "1")), p.create(t, spec("left", "1")), p.create(t, spec("again", "1"))
		how := claims.Sweep{Alive: func(context.Context) ([]claims.Claimant, error) {
			return []claims.Claimant{{Name: "kept", UID: "1"}, {Name: "again", UID: "2"}}, nil
		}}
		first, err := p.Collect(t.Context(), how)
		if err != nil || len(first.Removed) != 0 {
			t.Fatalf("at once: %+v, %v", first, err)
		}
		time.Sleep(6 * time.Minute)
		failing := claims.Sweep{Alive: func(context.Context) ([]claims.Claimant, error) { return nil, errors.New("no answer") }}
		if _, err := p.Collect(t.Context(), failing); err == nil || len(l.ours()) != 3 {
			t.Fatalf("%v, %d there", err, len(l.ours()))
		}
		var calls atomic.Int64
		how.Vacate = func(_ context.Context, node claims.Node) (bool, error) {
			calls.Add(1)
			return node.InstanceID == left.InstanceID, nil
		}
		second, err := p.Collect(t.Context(), how)
		if err != nil || len(second.Removed) != 1 || second.Removed[0].InstanceID != left.InstanceID || calls.Load() != 2 {
			t.Fatalf("%+v, %v, %d calls", second, err, calls.Load())
		}
		how.Vacate = nil
		third, err := p.Collect(t.Context(), how)
		if err != nil || len(third.Removed) != 1 || third.Removed[0].InstanceID != successor.InstanceID {
			t.Fatalf("%+v, %v", third, err)
		}
		if all := l.ours(); len(all) != 1 || all[0].ID != kept.InstanceID {
			t.Errorf("left: %+v", all)
		}
	})
}

// A creation whose answer was lost, and whose claimant never calls again, is
// found by the next process.
func TestWhatAProcessLeftBehindIsCollected(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
		p := l.start(instances.Config{})
		rule := l.sim.Fail(linodesim.Rule{Method: "POST", Route: instancesRoute, Hang: true, AfterEffect: true})
		_, err := p.Create(within(t, time.Second), spec("a", "1"))
		wantKind(t, err, claims.KindProvisioning)
		p.kill()
		l.sim.Heal(rule)
		next := l.start(instances.Config{})
		for len(l.ours()) > 0 {
			if _, err := next.Collect(t.Context(), nothingAlive()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Minute)
		}
		if l.created() != 1 {
			t.Errorf("%d made", l.created())
		}
	})
}

func TestTagsThatWereTakenAwayAreWrittenAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
		p := l.start(instances.Config{})
		i := p.create(t, spec("a", "1"))
		alive := claims.Sweep{Alive: func(context.Context) ([]claims.Claimant, error) {
			return []claims.Claimant{{Name: "a", UID: "1"}}, nil
		}}
		time.Sleep(3 * time.Minute)
		if err := l.sim.EditInstanceTags(i.InstanceID, []string{"by-hand"}); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := p.Collect(t.Context(), alive); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Minute)
		}
		if tags := l.ours()[0].Tags; !slices.Contains(tags, clusterTag) || !slices.Contains(tags, "karpenter.sh/nodeclaim=a") ||
			!slices.Contains(tags, "by-hand") {
			t.Errorf("tags %v", tags)
		}
		if err := l.sim.EditInstanceTags(i.InstanceID, []string{"by-hand"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if err := p.Delete(t.Context(), i.InstanceID, claims.Claimant{Name: "a", UID: "1"}); err != nil || len(l.ours()) != 0 {
			t.Errorf("delete: %v, %d there", err, len(l.ours()))
		}
	})
}

// The caller's tags go with the claim, as when a person removes all tags at once.
func TestACallersTagsComeBackWithTheClaim(t *testing.T) {
	const owner = "kubernetes.io/cluster/demo=owned"
	alive := claims.Sweep{Alive: func(context.Context) ([]claims.Claimant, error) {
		return []claims.Claimant{{Name: "a", UID: "1"}}, nil
	}}
	who := claims.Claimant{Name: "a", UID: "1"}
	sweep := func(ctx context.Context, p *process, _ int) error { _, err := p.Collect(ctx, alive); return err }
	again := func(ctx context.Context, p *process, _ int) error {
		_, err := p.Create(ctx, spec("a", "1"))
		return err
	}
	change := func(ctx context.Context, p *process, id int) error {
		return p.SetTags(ctx, id, who, []string{"team=b"}, []string{"team=c"})
	}
	for name, test := range map[string]struct {
		left       []string
		restarted  bool
		write      func(ctx context.Context, p *process, id int) error
		back, away []string
	}{
		"all tags, and a sweep":                  {nil, false, sweep, []string{owner, "team=b"}, []string{"team=a"}},
		"the same after a restart":               {nil, true, sweep, []string{owner, "team=b"}, []string{"team=a"}},
		"all but a person's, and a sweep":        {[]string{"by-hand"}, false, sweep, []string{owner, "team=b", "by-hand"}, []string{"team=a"}},
		"all tags, and the claimant calls again": {nil, false, again, []string{owner, "team=b"}, []string{"team=a"}},
		"all tags, and the class has others":     {nil, false, change, []string{owner, "team=c"}, []string{"team=a", "team=b"}},
		"the caller's alone, and a sweep": {[]string{clusterTag, "karpenter.sh/nodeclaim=a"}, false, sweep, nil, []string{owner,
			"team=b"}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
				p := l.start(instances.Config{})
				s := spec("a", "1")
				s.Tags = []string{owner, "team=a"}
				i := p.create(t, s)
				if err := p.SetTags(t.Context(), i.InstanceID, who, []string{"team=a"}, []string{"team=b"}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(3 * time.Minute)
				if test.restarted {
					p.kill()
					p = l.start(instances.Config{})
					if _, err := p.List(t.Context()); err != nil {
						t.Fatal(err)
					}
					time.Sleep(3 * time.Minute)
				}
				if err := l.sim.EditInstanceTags(i.InstanceID, test.left); err != nil {
					t.Fatal(err)
				}
				for range 3 {
					time.Sleep(2 * time.Minute)
					if err := test.write(t.Context(), p, i.InstanceID); err != nil {
						t.Fatal(err)
					}
				}
				tags := l.ours()[0].Tags
				for _, tag := range append(test.back, clusterTag, "karpenter.sh/nodeclaim=a") {
					if !slices.Contains(tags, tag) {
						t.Errorf("%s is missing in %v", tag, tags)
					}
				}
				for _, tag := range test.away {
					if slices.Contains(tags, tag) {
						t.Errorf("%s is in %v", tag, tags)
					}
				}
			})
		})
	}
}

// The claimant is in no list of the claimants that exist, as it may be when it began to
// exist after that list was made.
func TestWhatACallerWaitsForIsNotCollected(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Realistic()})
		p := l.start(instances.Config{OrphanTTL: time.Second})
		ctx := within(t, 10*time.Minute)
		done := make(chan error, 1)
		go func() {
			_, err := p.Create(ctx, withDisks())
			done <- err
		}()
		for sweeps := 0; ; sweeps++ {
			select {
			case err := <-done:
				if err != nil || sweeps < 5 || l.created() != 1 || len(l.ours()) != 1 {
					t.Errorf("%v after %d sweeps, %d made, %d there", err, sweeps, l.created(), len(l.ours()))
				}
				return
			case <-time.After(5 * time.Second):
			}
			if collected, err := p.Collect(t.Context(), nothingAlive()); err != nil || len(collected.Removed) != 0 {
				t.Errorf("collected %v, %v", collected.Removed, err)
			}
		}
	})
}

// The caller's own records name another claimant than the tags do.
func TestWhatTheCallersRecordsNameIsNotCollected(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
		holder := claims.Claimant{Name: "holder", UID: "2"}
		held := 0
		p := l.start(instances.Config{OrphanTTL: time.Second, Records: claims.Holder(func(id int) (claims.Claimant, bool) {
			return holder, id == held
		})})
		i := p.create(t, spec("a", "1"))
		held = i.InstanceID
		alive := []claims.Claimant{holder}
		how := claims.Sweep{Alive: func(context.Context) ([]claims.Claimant, error) { return alive, nil }}
		for range 3 {
			if collected, err := p.Collect(t.Context(), how); err != nil || len(collected.Removed) != 0 {
				t.Errorf("while its holder exists: %v, %v", collected.Removed, err)
			}
			time.Sleep(time.Minute)
		}
		alive = nil
		for range 2 {
			if _, err := p.Collect(t.Context(), how); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		if len(l.ours()) != 0 {
			t.Error("it stays without its holder")
		}
	})
}
