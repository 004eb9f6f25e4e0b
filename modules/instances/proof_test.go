package instances

import (
	"slices"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// What 404s of direct readings prove, by when they began.
func TestProofThatAnInstanceIsGone(t *testing.T) {
	const settle = 4 * time.Second
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		made, accepted time.Duration // 0: not by this process, not at all
		missed         []time.Duration
		gone           bool
	}{
		"one":                                {missed: []time.Duration{time.Minute}},
		"two at once":                        {missed: []time.Duration{time.Minute, time.Minute}},
		"two, less than the settle time":     {missed: []time.Duration{time.Minute, time.Minute + settle - 1}},
		"two, the settle time apart":         {missed: []time.Duration{time.Minute, time.Minute + settle}, gone: true},
		"three, the last far enough":         {missed: []time.Duration{time.Minute, time.Minute + 1, time.Minute + settle}, gone: true},
		"right after its creation":           {made: time.Minute, missed: []time.Duration{time.Minute, time.Minute + settle - 1}},
		"one right after, one later":         {made: time.Minute, missed: []time.Duration{time.Minute + 1, time.Minute + settle + 1}},
		"after a removal":                    {accepted: time.Minute, missed: []time.Duration{time.Minute}, gone: true},
		"begun before the removal was taken": {accepted: time.Minute, missed: []time.Duration{time.Minute - 1}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := Config{Cluster: "demo", SettleTime: settle}.withDefaults()
			if err != nil {
				t.Fatal(err)
			}
			core := newCore(cfg, start)
			o := core.add(Instance{Node: claims.Node{InstanceID: 7, Tags: cfg.own.claimTags(claims.ClaimID{Value: "a"})}},
				claims.ClaimID{Value: "a"})
			if c.made > 0 {
				o.made = start.Add(c.made)
			}
			if c.accepted > 0 {
				o.accepted = start.Add(c.accepted)
			}
			for _, at := range c.missed {
				core.now = start.Add(at)
				core.missed(7, start.Add(at))
			}
			if _, known := core.world.objects[7]; known == c.gone {
				t.Errorf("gone: %t, want %t", !known, c.gone)
			}
		})
	}
}

// oneInstance returns a core with one instance, of claimant a.
func oneInstance(t *testing.T) (*core, *object) {
	t.Helper()
	cfg, err := Config{Cluster: "demo"}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	who := claims.ClaimID{Value: "a"}
	c := newCore(cfg, time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	return c, c.add(Instance{Node: claims.Node{InstanceID: 7, Tags: cfg.own.claimTags(who)}}, who)
}

// A reading that began less than the settle time after a write of tags may be of
// before it.
func TestOwnTagsOutrankOlderReadings(t *testing.T) {
	const settle = 4 * time.Second
	for after, believed := range map[time.Duration]bool{0: false, settle - 1: false, settle: true} {
		core, o := oneInstance(t)
		old, written := slices.Clone(append(o.Tags, "old")), slices.Clone(append(o.Tags, "new"))
		core.done(result{effect: effect{op: opTag, id: o.InstanceID, tags: written, term: core.term}, began: core.now})
		core.now = core.now.Add(after)
		if _, s := core.readDirectly(7, core.now, core.seq, "test"); s.effect == nil {
			t.Fatalf("no reading is under way: %+v", s)
		}
		read := Instance{Node: claims.Node{InstanceID: 7, Tags: old}}
		core.done(result{effect: effect{op: opRead, id: 7, term: core.term}, began: core.now, instance: read})
		if slices.Contains(o.Tags, "old") != believed {
			t.Errorf("%s after the write, a reading of the old tags: %v", after, o.Tags)
		}
	}
}

// A disk that a person has deleted is answered with 404, as often as it is read.
func TestADiskThatIsGoneProvesNothingOfItsInstance(t *testing.T) {
	core, o := oneInstance(t)
	gone := &claims.Error{Kind: claims.KindNotFound, Op: "read disk", Effect: claims.EffectNone}
	for range 2 {
		core.now = core.now.Add(time.Minute)
		o.build.making, o.build.hasDisks = 3, true
		core.done(result{effect: effect{op: opDisk, id: 7, diskID: 3, term: core.term}, began: core.now, err: gone})
		if core.world.objects[7] == nil {
			t.Fatal("the instance counts as gone")
		}
		if o.build.making != 0 || o.build.hasDisks {
			t.Errorf("the disks are not listed again: %+v", o.build)
		}
	}
}

// A removal is answered with 404 while a reading is under way, which is answered
// with what was before.
func TestAReadingThatWasUnderWayRefutesNoProof(t *testing.T) {
	core, o := oneInstance(t)
	start, there := core.now, o.Instance
	o.accepted = start
	if _, s := core.readDirectly(7, start, 0, "test"); s.effect == nil {
		t.Fatalf("no reading is under way: %+v", s)
	}
	gone := &claims.Error{Kind: claims.KindNotFound, Op: "delete", Effect: claims.EffectNone}
	core.done(result{effect: effect{op: opDelete, id: 7, term: core.term}, began: start, err: gone})
	core.done(result{effect: effect{op: opRead, id: 7, term: core.term}, began: start, instance: there})
	if core.world.objects[7] != nil {
		t.Error("it is there again")
	}
	if proven, _ := core.readDirectly(7, start, core.seq, "test"); !proven {
		t.Error("the proof is forgotten")
	}
}
