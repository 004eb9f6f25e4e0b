package instances

import (
	"fmt"
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

// The first request waited 15 s in the client.
func TestAMissedInstanceCountsFromItsAnswer(t *testing.T) {
	core, _ := oneInstance(t)
	sent := core.now
	core.now = sent.Add(15 * time.Second)
	core.world.missed(7, sent)
	for _, again := range []time.Duration{120 * time.Millisecond, core.cfg.SettleTime} {
		core.world.missed(7, sent.Add(15*time.Second+again))
		if twice := core.world.reads[7].absence.Twice(); twice != (again == core.cfg.SettleTime) {
			t.Errorf("another 404, sent %s after the first was answered: twice %t", again, twice)
		}
	}
}

// oneInstance returns a core with one instance, of claimant a.
func oneInstance(t testing.TB) (*core, *object) {
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

func unanswered(o op) *claims.Error {
	return &claims.Error{Kind: claims.KindUnavailable, Op: string(o), Effect: claims.EffectUnknown}
}

// fails ends a write to the instance of oneInstance without an answer.
func (c *core) fails(e effect) {
	e.id, e.term = 7, c.term
	c.done(result{effect: e, began: c.now, err: unanswered(e.op)})
}

func (c *core) reads(tags []string, began time.Time) {
	c.world.reads[7] = &directRead{running: true}
	i := Instance{Node: claims.Node{InstanceID: 7, Tags: tags}}
	c.done(result{effect: effect{op: opRead, id: 7, term: c.term}, began: began, instance: i})
}

// The tags were the same shortly before the write.
func TestAReadingOfBeforeAWriteOfTagsResolvesNothing(t *testing.T) {
	core, o := oneInstance(t)
	written := append(slices.Clone(o.Tags), "new")
	core.fails(effect{op: opTag, tags: written})
	for after, open := range map[time.Duration]bool{core.cfg.SettleTime - 1: true, core.cfg.SettleTime: false} {
		core.world.writes[7].tags = written
		core.reads(written, core.started.Add(after))
		if (core.world.writes[7].tags != nil) != open {
			t.Errorf("a reading %s after the write: open %t", after, !open)
		}
		o.read = time.Time{}
	}
}

func TestTagsThatLandedOutrankOlderReadings(t *testing.T) {
	core, o := oneInstance(t)
	old, written := slices.Clone(o.Tags), append(slices.Clone(o.Tags), "new")
	core.fails(effect{op: opTag, tags: written})
	core.now = core.now.Add(time.Minute)
	core.reads(written, core.now)
	core.reads(old, core.now.Add(time.Second))
	if !slices.Contains(o.Tags, "new") {
		t.Error("a reading from before they landed counts")
	}
	core.reads(old, core.now.Add(core.cfg.SettleTime))
	if slices.Contains(o.Tags, "new") {
		t.Error("a reading from after they landed does not count")
	}
}

// A creation may land at the end of LateEffect, and lists show it the list lag later.
func TestACreationCountsUntilAListMustShowIt(t *testing.T) {
	core, _ := oneInstance(t)
	core.cfg.MaxNodes = 5
	cl := core.claims.get(claims.ClaimID{Value: "b"}, "demo-b")
	core.done(result{effect: effect{op: opCreate, claim: cl, term: core.term, creation: Creation{Spec: Spec{InstanceType: "plan"}}},
		began: core.now, err: unanswered(opCreate)})
	cl.ambiguous = time.Time{}
	shown := core.now.Add(core.cfg.LateEffect + listLag)
	for _, c := range []struct {
		at, listed time.Time
		counts     int
	}{{shown.Add(-1), core.now, 1}, {shown.Add(time.Minute), shown.Add(-1), 1}, {shown.Add(time.Minute), shown, 0}} {
		core.now = c.at
		core.world.list.began = c.listed
		if n := core.owned(nil)["plan"]; n != c.counts {
			t.Errorf("%s after its failure, with a list of %s: counts %d", c.at.Sub(core.started), c.listed.Sub(core.started), n)
		}
	}
}

// A write of tags without the boot's effect on them: a user put the mark back, or an old
// reading did.
func TestAnInstanceThatRunsIsNotCollectedForItsMark(t *testing.T) {
	core, o := oneInstance(t)
	core.now = core.now.Add(time.Hour)
	o.build.ran, o.build.marked = true, true
	for range 2 {
		if orphans := core.orphans([]claims.ClaimID{o.who}); len(orphans) != 0 {
			t.Errorf("%v", orphans)
		}
		core.now = core.now.Add(core.cfg.OrphanTTL)
	}
	o.build.ran = false
	core.orphans([]claims.ClaimID{o.who})
	core.now = core.now.Add(core.cfg.OrphanTTL)
	if orphans := core.orphans([]claims.ClaimID{o.who}); len(orphans) != 1 {
		t.Errorf("one that was never started: %v", orphans)
	}
}

func TestWritesThatMayLandOutliveALead(t *testing.T) {
	core, o := oneInstance(t)
	core.fails(effect{op: opDelete})
	core.begin(claims.Ended)
	again := core.world.add(o.Instance, o.who)
	if !core.world.condemned(again) {
		t.Error("the removal is forgotten")
	}
	core.now = core.now.Add(core.cfg.LateEffect + core.cfg.SettleTime)
	if core.world.condemned(again) {
		t.Error("a removal of an earlier lead counts for ever")
	}
}

func TestAListRefutesAWrongProof(t *testing.T) {
	core, o := oneInstance(t)
	core.world.end(7)
	for _, after := range []time.Duration{listLag - 1, listLag} {
		core.now = core.started.Add(after)
		core.done(result{effect: effect{op: opList, term: core.term}, began: core.now, instances: []Instance{o.Instance}})
		if _, there := core.world.objects[7]; there != (after == listLag) {
			t.Errorf("a list %s after the proof: there %t", after, there)
		}
	}
}

// A thousand instances of others are read, claimants come and go, instances end.
func TestNothingIsRememberedForEver(t *testing.T) {
	core, o := oneInstance(t)
	for n := range 1000 {
		core.now = core.now.Add(10 * time.Second)
		id := 1000 + n
		core.readDirectly(id, core.now, core.seq, "test")
		core.done(result{effect: effect{op: opRead, id: id, term: core.term}, began: core.now,
			instance: Instance{Node: claims.Node{InstanceID: id}}})
		who := claims.ClaimID{Value: "churn", UID: string(rune(n))}
		core.world.add(Instance{Node: claims.Node{InstanceID: 5000 + n, Tags: core.cfg.own.claimTags(who)}}, who)
		core.done(result{effect: effect{op: opDelete, id: 5000 + n, term: core.term}, began: core.now, err: unanswered(opDelete)})
		core.world.end(5000 + n)
		cl := core.claims.get(who, "demo-churn")
		core.done(result{effect: effect{op: opCreate, claim: cl, term: core.term}, began: core.now, err: unanswered(opCreate)})
	}
	w := &core.world
	if sizes := []int{len(w.objects), len(w.byClaim), len(w.gone), len(w.reads), len(w.writes)}; slices.Max(sizes) > 70 {
		t.Errorf("sizes %v", sizes)
	}
	core.now = core.now.Add(time.Hour)
	core.prune()
	if sizes := []int{len(w.gone), len(w.reads), len(w.writes), len(core.claims)}; slices.Max(sizes) > 0 || w.objects[7] != o {
		t.Errorf("an hour later: sizes %v", sizes)
	}
}

// BenchmarkBurst measures what claimants that come at once cost the core, when each event wakes all of them.
func BenchmarkBurst(b *testing.B) {
	for _, n := range []int{500, 2000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				began := time.Now()
				burst(b, n)
				b.ReportMetric(time.Since(began).Seconds(), "core-s")
			}
		})
	}
}

func burst(b *testing.B, n int) {
	b.Helper()
	core, _ := oneInstance(b)
	core.world.list.began = core.now
	var tasks []*createTask
	for n := range n {
		task, err := newCreateTask(&core.cfg, Spec{Claimant: claims.Claimant{Name: fmt.Sprintf("c%d", n)}, InstanceType: "plan", Region: "region",
			Image: "image"})
		if err != nil {
			b.Fatal(err)
		}
		task.begin(core)
		tasks = append(tasks, task)
	}
	id := 1000
	for len(tasks) > 0 {
		var waiting []*createTask
		var sent []effect
		for _, task := range tasks {
			switch s := task.next(core); {
			case s.effect != nil:
				sent = append(sent, *s.effect)
				waiting = append(waiting, task)
			case s.end != nil:
				task.ended(core)
			default:
				waiting = append(waiting, task)
			}
		}
		tasks = waiting
		core.now = core.now.Add(time.Second)
		for _, e := range sent {
			r := result{effect: e, began: core.now}
			if e.op == opCreate {
				id++
				r.instance = Instance{Node: claims.Node{InstanceID: id, Name: e.creation.Label, Tags: e.creation.Tags}}
			}
			core.done(r)
		}
		if len(sent) == 0 && core.now.Sub(core.started) > time.Hour {
			b.Fatalf("%d are left", len(tasks))
		}
	}
}
