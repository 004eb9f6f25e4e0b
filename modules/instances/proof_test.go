package instances

import (
	"slices"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// What readings that lack an instance prove, by when they began. The rule itself is
// that of package absence.
func TestProofThatAnInstanceIsGone(t *testing.T) {
	const settle, old = 4 * time.Second, 10 * time.Minute
	for name, c := range map[string]struct {
		age            time.Duration // since it was first seen
		made, accepted time.Duration // from the beginning of the readings, 0: not at all
		missed         []time.Duration
		lists          []time.Duration
		gone           bool
	}{
		"one 404":                            {age: old, missed: []time.Duration{0}, lists: []time.Duration{time.Minute}},
		"two, the settle time apart":         {age: old, missed: []time.Duration{0, settle}},
		"two and a list":                     {age: old, missed: []time.Duration{0, settle}, lists: []time.Duration{settle}, gone: true},
		"two and a list from before":         {age: old, missed: []time.Duration{0, settle}, lists: []time.Duration{settle - 1}},
		"two and a list that may lag":        {age: time.Second, missed: []time.Duration{0, settle}, lists: []time.Duration{time.Minute}},
		"two and a list that cannot lag":     {age: time.Second, missed: []time.Duration{0, settle}, lists: []time.Duration{listLag}, gone: true},
		"lists alone":                        {age: old, lists: []time.Duration{0, time.Minute}},
		"right after its creation":           {made: 1, missed: []time.Duration{0, settle - 1}, lists: []time.Duration{old}},
		"one right after, two later":         {made: 1, missed: []time.Duration{1, settle + 1, 2 * settle}, lists: []time.Duration{old}},
		"a removal and one":                  {age: old, accepted: 1, missed: []time.Duration{1}},
		"a removal and two":                  {age: old, accepted: 1, missed: []time.Duration{1, settle + 1}, gone: true},
		"a removal, one and a list":          {age: old, accepted: 1, missed: []time.Duration{1}, lists: []time.Duration{settle}, gone: true},
		"a removal and a list":               {age: old, accepted: 1, lists: []time.Duration{settle}},
		"a removal of a new one, and a list": {age: 1, accepted: 1, missed: []time.Duration{1}, lists: []time.Duration{settle}},
		"a list from before the removal":     {age: old, accepted: settle, missed: []time.Duration{1}, lists: []time.Duration{2}},
		"two too close, and a list":          {age: old, missed: []time.Duration{0, settle - 1}, lists: []time.Duration{time.Minute}},
		"two too close after a removal":      {age: old, accepted: 1, missed: []time.Duration{1, settle}},
		"three, the last far enough, a list": {age: old, missed: []time.Duration{0, 1, settle}, lists: []time.Duration{settle}, gone: true},
	} {
		t.Run(name, func(t *testing.T) {
			core, o := oneInstance(t)
			core.now = core.now.Add(c.age)
			from := core.now
			if c.made > 0 {
				o.made = from.Add(c.made)
			}
			if c.accepted > 0 {
				o.removal.accepted = from.Add(c.accepted)
			}
			for _, at := range c.missed {
				core.now = from.Add(at)
				core.world.missed(7, core.now)
			}
			for _, at := range c.lists {
				core.now = from.Add(at)
				core.done(result{effect: effect{op: opList, term: core.term}, began: core.now})
			}
			if _, known := core.world.objects[7]; known == c.gone {
				t.Errorf("gone: %t, want %t: %+v", !known, c.gone, core.world.reads[7])
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
	return c, c.world.add(Instance{Node: claims.Node{InstanceID: 7, Tags: cfg.own.claimTags(who)}}, who)
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
	o.removal.accepted = start
	if _, s := core.readDirectly(7, start, 0, "test"); s.effect == nil {
		t.Fatalf("no reading is under way: %+v", s)
	}
	gone := &claims.Error{Kind: claims.KindNotFound, Op: "delete", Effect: claims.EffectNone}
	for range 2 {
		core.done(result{effect: effect{op: opDelete, id: 7, term: core.term}, began: core.now, err: gone})
		core.now = core.now.Add(core.cfg.SettleTime)
	}
	core.done(result{effect: effect{op: opRead, id: 7, term: core.term}, began: start, instance: there})
	if core.world.objects[7] != nil {
		t.Error("it is there again")
	}
	if proven, _ := core.readDirectly(7, start, core.seq, "test"); !proven {
		t.Error("the proof is forgotten")
	}
}
