package core

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/known"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/tuning"
)

// A reading that lacks an instance proves its end or not, depending on the time when the reading began. The doc of package known has the
// rule.
func TestProofThatAnInstanceIsGone(t *testing.T) {
	const settle, old = 4 * time.Second, 10 * time.Minute
	for name, c := range map[string]struct {
		age            time.Duration // since it was first seen
		made, accepted time.Duration // from the beginning of the readings, 0: not at all
		missed         []time.Duration
		lists          []time.Duration
		gone           bool
	}{
		"one 404":                     {age: old, missed: []time.Duration{0}, lists: []time.Duration{time.Minute}},
		"two, the settle time apart":  {age: old, missed: []time.Duration{0, settle}},
		"two and a list":              {age: old, missed: []time.Duration{0, settle}, lists: []time.Duration{settle}, gone: true},
		"two and a list from before":  {age: old, missed: []time.Duration{0, settle}, lists: []time.Duration{settle - 1}},
		"two and a list that may lag": {age: time.Second, missed: []time.Duration{0, settle}, lists: []time.Duration{time.Minute}},
		"two and a list that cannot lag": {
			age: time.Second, missed: []time.Duration{0, settle}, lists: []time.Duration{2 * time.Minute}, gone: true,
		},
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
			core := newCore(Settings{})
			if c.made == 0 {
				core.find()
			}
			core.wait(c.age)
			from := core.now()
			if c.made > 0 {
				core.known.At(from.Add(c.made))
				core.make()
			}
			if c.accepted > 0 {
				core.known.At(from.Add(c.accepted))
				core.ends(Effect{Op: OpDelete})
			}
			for _, at := range c.missed {
				core.known.At(from.Add(at))
				core.missed(core.now())
			}
			for _, at := range c.lists {
				core.known.At(from.Add(at))
				core.handle(Result{Effect: Effect{Op: OpList, Term: core.known.View().Term()}, Began: core.now()})
			}
			if _, gone := core.known.View().Gone(7); gone != c.gone {
				t.Errorf("gone: %t, want %t: %+v", gone, c.gone, core.node())
			}
		})
	}
}

// The first request waited 15 s in the client.
func TestAMissedInstanceCountsFromItsAnswer(t *testing.T) {
	core := oneInstance(t)
	sent := core.now()
	core.known.At(sent.Add(15 * time.Second))
	core.missed(sent)
	for _, again := range []time.Duration{120 * time.Millisecond, core.known.View().Settings().SettleTime} {
		core.known.At(sent.Add(15*time.Second + again))
		core.missed(core.now())
		if _, twice, _ := core.node().Missing(); twice != (again == core.known.View().Settings().SettleTime) {
			t.Errorf("another 404, sent %s after the first was answered: twice %t", again, twice)
		}
	}
}

// newCore returns a core that knows nothing, with the defaults of other settings.
func newCore(settings Settings) *Core {
	settings.Cluster = "demo"
	return New(settings.WithDefaults(), simOwn, time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
}

// oneInstance returns a core with one instance, of claimant a, that a list of its label has shown.
func oneInstance(t testing.TB) *Core {
	t.Helper()
	c := newCore(Settings{})
	c.find()
	return c
}

// owner is the claimant of the instance of oneInstance.
var owner = claims.ClaimID{Value: "a"}

// find shows the instance, with more tags, in a list of its label.
func (c *Core) find(more ...string) {
	i := Instance{Node: claims.Node{InstanceID: 7, Status: "offline", Tags: simOwn.ClaimTags(owner, more...)}}
	find := Effect{Op: OpFind, Who: owner, Text: "demo-a", Term: c.known.View().Term()}
	c.handle(Result{Effect: find, Began: c.now(), Instances: []Instance{i}})
}

// make answers the creation of the instance.
func (c *Core) make() {
	order := &Order{Who: owner, Label: "demo-a", Tags: simOwn.ClaimTags(owner)}
	c.handle(Result{
		Effect: Effect{Op: OpCreate, Who: owner, Order: order, Term: c.known.View().Term()}, Began: c.now(),
		Instance: Instance{Node: claims.Node{InstanceID: 7, Tags: order.Tags}},
	})
}

// node is the record of the instance, nil if it is not known.
func (c *Core) node() *known.Node { return c.known.View().Node(7) }

// tags are the tags of the instance, as they are known.
func (c *Core) tags() []string { return slices.Clone(c.node().Value().Tags) }

// now is the time of the record.
func (c *Core) now() time.Time { return c.known.View().Now() }

// wait lets time pass.
func (c *Core) wait(d time.Duration) { c.known.At(c.now().Add(d)) }

// ends answers a request about the instance with success.
func (c *Core) ends(e Effect) {
	e.ID, e.Term = 7, c.known.View().Term()
	c.handle(Result{Effect: e, Began: c.now()})
}

// handle is Handle at the time of the record.
func (c *Core) handle(r Result) { c.Handle(r, c.now()) }

// read begins a direct reading for a caller that came at a time, and reports whether the
// instance is gone, and whether a reading is under way.
func (c *Core) read(id int, since time.Time) (gone, reading bool) {
	now := c.now()
	call := c.Admit(Ask{Kind: AskGet, ID: id}, since)
	defer c.Dismiss(call, now)
	s := c.Next(call, now)
	return s.End != nil && claims.KindOf(s.End.Err) == claims.KindNotFound, s.Effect != nil
}

// missed answers a direct reading that began at a time with 404.
func (c *Core) missed(began time.Time) {
	c.known.Start(&Effect{Op: OpRead, ID: 7})
	gone := &claims.Error{Kind: claims.KindNotFound, Op: "read", Effect: claims.EffectNone}
	c.handle(Result{Effect: Effect{Op: OpRead, ID: 7, Term: c.known.View().Term()}, Began: began, Err: gone})
}

// A reading that began less than the settle time after a write of tags may show the tags before the write. Its status counts at once.
func TestOwnTagsOutrankOlderReadings(t *testing.T) {
	const settle = 4 * time.Second
	for after, believed := range map[time.Duration]bool{0: false, settle - 1: false, settle: true} {
		core := oneInstance(t)
		old, written := append(core.tags(), "old"), append(core.tags(), "new")
		core.handle(Result{Effect: Effect{Op: OpTag, ID: 7, Tags: written, Term: core.known.View().Term()}, Began: core.now()})
		core.wait(after)
		if _, reading := core.read(7, core.now()); !reading {
			t.Fatal("no reading is under way")
		}
		read := Instance{Node: claims.Node{InstanceID: 7, Status: "running", Tags: old}}
		core.handle(Result{Effect: Effect{Op: OpRead, ID: 7, Term: core.known.View().Term()}, Began: core.now(), Instance: read})
		if slices.Contains(core.tags(), "old") != believed {
			t.Errorf("%s after the write, a reading of the old Tags: %v", after, core.tags())
		}
		if status := core.node().Value().Status; status != "running" {
			t.Errorf("%s after the write, a reading that shows it running: %q", after, status)
		}
	}
}

// A reading may show an event that happened as late as its answer. So a list that began one list lag after the start of the reading, but
// before one list lag after its answer, may show the state before the event.
func TestAListChangesNothingThatWasReadLater(t *testing.T) {
	const took = 8 * time.Second
	for after, believed := range map[time.Duration]bool{1: false, took: false, took + 1: true} {
		core := oneInstance(t)
		began := core.now()
		old, written := append(core.tags(), "old"), append(core.tags(), "new")
		core.known.At(began.Add(took))
		core.reads(written, began)
		list := began.Add(core.known.View().Settings().ListLag + after)
		core.known.At(list.Add(took))
		core.handle(Result{Effect: Effect{Op: OpList, Term: core.known.View().Term()}, Began: list,
			Instances: []Instance{{Node: claims.Node{InstanceID: 7, Tags: old}}}})
		if slices.Contains(core.tags(), "old") != believed {
			t.Errorf("a list that began the list lag and %s after a reading of %s: tags %v", after, took, core.tags())
		}
	}
}

// A disk that a person has deleted is answered with 404, as often as it is read.
func TestADiskThatIsGoneProvesNothingOfItsInstance(t *testing.T) {
	core := oneInstance(t)
	gone := &claims.Error{Kind: claims.KindNotFound, Op: "read disk", Effect: claims.EffectNone}
	for range 2 {
		core.wait(time.Minute)
		core.ends(Effect{Op: OpDisks})
		core.handle(Result{Effect: Effect{Op: OpAddDisk, ID: 7, Disk: "data0"}, Began: core.now(), Disks: []DiskState{{ID: 3}}})
		core.handle(Result{Effect: Effect{Op: OpDisk, ID: 7, DiskID: 3, Term: core.known.View().Term()}, Began: core.now(), Err: gone})
		if core.node() == nil {
			t.Fatal("the instance counts as gone")
		}
		build := core.known.View().Build(core.node())
		making, _ := build.Making()
		if _, listed := build.Disks(); making != 0 || listed {
			t.Errorf("the disks are not listed again: %+v", build)
		}
	}
}

// A removal is answered with 404 while a reading is under way, which is answered
// with what was before.
func TestAReadingThatWasUnderWayRefutesNoProof(t *testing.T) {
	core := oneInstance(t)
	start, there := core.now(), core.node().Value()
	core.ends(Effect{Op: OpDelete})
	if _, reading := core.read(7, start); !reading {
		t.Fatal("no reading is under way")
	}
	gone := &claims.Error{Kind: claims.KindNotFound, Op: "delete", Effect: claims.EffectNone}
	for range 2 {
		core.handle(Result{Effect: Effect{Op: OpDelete, ID: 7, Term: core.known.View().Term()}, Began: core.now(), Err: gone})
		core.wait(core.known.View().Settings().SettleTime)
	}
	core.handle(Result{Effect: Effect{Op: OpRead, ID: 7, Term: core.known.View().Term()}, Began: start, Instance: there})
	if core.node() != nil {
		t.Error("it is there again")
	}
	if proven, _ := core.read(7, start); !proven {
		t.Error("the proof is forgotten")
	}
}

func unanswered(o Op) *claims.Error {
	return &claims.Error{Kind: claims.KindUnavailable, Op: string(o), Effect: claims.EffectUnknown}
}

// fails ends a write to the instance of oneInstance without an answer.
func (c *Core) fails(e Effect) {
	e.ID, e.Term = 7, c.known.View().Term()
	c.handle(Result{Effect: e, Began: c.now(), Err: unanswered(e.Op)})
}

// reads answers a direct reading of the instance with these tags.
func (c *Core) reads(tags []string, began time.Time) {
	c.known.Start(&Effect{Op: OpRead, ID: 7})
	i := Instance{Node: claims.Node{InstanceID: 7, Tags: tags}}
	c.handle(Result{Effect: Effect{Op: OpRead, ID: 7, Term: c.known.View().Term()}, Began: began, Instance: i})
}

// The tags were the same shortly before the write.
func TestAReadingOfBeforeAWriteOfTagsResolvesNothing(t *testing.T) {
	const settle = 4 * time.Second
	for after, open := range map[time.Duration]bool{settle - 1: true, settle: false} {
		core := oneInstance(t)
		written := append(core.tags(), "new")
		core.fails(Effect{Op: OpTag, Tags: written})
		core.reads(written, core.known.View().Started().Add(after))
		if core.known.View().Aside(core.node(), []string{"others"}) != open {
			t.Errorf("a reading %s after the write: open %t", after, !open)
		}
	}
}

func TestTagsThatLandedOutrankOlderReadings(t *testing.T) {
	core := oneInstance(t)
	old, written := core.tags(), append(core.tags(), "new")
	core.fails(Effect{Op: OpTag, Tags: written})
	core.wait(time.Minute)
	core.reads(written, core.now())
	core.reads(old, core.now().Add(time.Second))
	if !slices.Contains(core.tags(), "new") {
		t.Error("a reading from before they landed counts")
	}
	core.reads(old, core.now().Add(core.known.View().Settings().SettleTime))
	if slices.Contains(core.tags(), "new") {
		t.Error("a reading from after they landed does not count")
	}
}

// A person may give an instance to another claimant right before a write of tags, which takes the instance back, or right after the
// write. A reading soon after the write cannot distinguish the two: the next reading decides who may remove the instance.
func TestAReadingWithAnotherClaimSoonAfterTagsIsMadeAgain(t *testing.T) {
	another := simOwn.ClaimTags(claims.ClaimID{Value: "another"})
	for name, given := range map[string]bool{"given before the write": false, "given after it": true} {
		t.Run(name, func(t *testing.T) {
			core := oneInstance(t)
			own, settled := core.tags(), core.now().Add(core.known.View().Settings().SettleTime)
			core.handle(Result{Effect: Effect{Op: OpTag, ID: 7, Tags: own, Term: core.known.View().Term()}, Began: core.now()})
			core.known.At(settled.Add(-1))
			call := core.Admit(Ask{Kind: AskDelete, ID: 7, By: owner}, core.now())
			core.reads(another, core.now())
			if s := core.Next(call, core.now()); !s.Wait || !s.Until.Equal(settled) || !slices.Equal(core.tags(), own) {
				t.Fatalf("after a reading that tells nothing: %+v, tags %v", s, core.tags())
			}
			core.known.At(settled)
			if s := core.Next(call, settled); s.Effect == nil || s.Effect.Op != OpRead {
				t.Fatalf("when one tells: %+v", s)
			}
			shows := own
			if given {
				shows = another
			}
			core.reads(shows, settled)
			s := core.Next(call, settled)
			if conflict := s.End != nil && claims.KindOf(s.End.Err) == claims.KindConflict; conflict != given {
				t.Errorf("a removal goes on with %+v", s)
			}
		})
	}
}

// A creation may land at the end of LateEffect, and lists show it the list lag later.
func TestACreationCountsUntilAListMustShowIt(t *testing.T) {
	core := newCore(Settings{Ceilings: claims.Ceilings{MaxNodes: 5}})
	who := claims.ClaimID{Value: "b"}
	order := &Order{Who: who, Label: "demo-b", InstanceType: "plan"}
	core.handle(Result{
		Effect: Effect{Op: OpCreate, Who: who, Order: order, Term: core.known.View().Term()}, Began: core.now(),
		Err: unanswered(OpCreate),
	})
	core.known.Apply([]known.Note{known.NotMade(who)})
	shown := core.now().Add(core.known.View().Settings().LateEffect + core.known.View().Settings().ListLag)
	for _, c := range []struct {
		at, listed time.Time
		counts     int
	}{{shown.Add(-1), core.now(), 1}, {shown.Add(time.Minute), shown.Add(-1), 1}, {shown.Add(time.Minute), shown, 0}} {
		core.known.At(c.at)
		core.handle(Result{Effect: Effect{Op: OpList, Term: core.known.View().Term()}, Began: c.listed})
		if n := core.known.View().Owned(nil)["plan"]; n != c.counts {
			started := core.known.View().Started()
			t.Errorf("%s after its failure, with a list of %s: counts %d", c.at.Sub(started), c.listed.Sub(started), n)
		}
	}
}

// A write of tags without the boot's effect on them: a user put the mark back, or an old
// reading did.
func TestAnInstanceThatRunsIsNotCollectedForItsMark(t *testing.T) {
	for name, runs := range map[string]bool{"one that runs": true, "one that was never started": false} {
		t.Run(name, func(t *testing.T) {
			core := newCore(Settings{})
			core.find(simOwn.Unfinished)
			if runs {
				core.ends(Effect{Op: OpBoot})
			}
			core.wait(time.Hour)
			var orphans []claims.Node
			for range 2 {
				orphans = core.Survey([]claims.ClaimID{owner}, core.now()).Orphans
				core.wait(core.known.View().Settings().OrphanTTL)
			}
			if runs != (len(orphans) == 0) {
				t.Errorf("orphans %v", orphans)
			}
		})
	}
}

// The tags are sent again by a reading that began when the first ones could still land:
// that a later one shows them does not prove that nothing lands any more.
func TestTagsThatFollowAnOldReadingCountAsRepeated(t *testing.T) {
	core := newCore(Settings{})
	core.make()
	old, written := core.tags(), append(core.tags(), "new")
	core.fails(Effect{Op: OpTag, Tags: written})
	began := core.node().Record().Aside.Add(-1)
	core.known.At(began.Add(tuning.ReadValid))
	core.known.Prune()
	core.reads(old, began)
	now := core.now()
	call := core.Admit(Ask{Kind: AskTags, ID: 7, Add: []string{"new"}}, began)
	again := core.Next(call, now).Effect
	if again == nil || again.Op != OpTag {
		t.Fatalf("next is %+v", again)
	}
	core.fails(*again)
	core.wait(core.known.View().Settings().SettleTime)
	core.reads(written, core.now())
	if !core.known.View().Aside(core.node(), []string{"others"}) {
		t.Error("a reading resolves tags of which the first or the second ones may have landed")
	}
}

func TestWritesThatMayLandOutliveALead(t *testing.T) {
	core := oneInstance(t)
	core.fails(Effect{Op: OpDelete})
	core.Begin(claims.Ended, core.now())
	core.find()
	if !core.known.View().Removing(core.node()) {
		t.Error("the removal is forgotten")
	}
	core.wait(core.known.View().Settings().LateEffect + core.known.View().Settings().SettleTime)
	if core.known.View().Removing(core.node()) {
		t.Error("a removal of an earlier lead counts for ever")
	}
}

func TestAListRefutesAWrongProof(t *testing.T) {
	core := oneInstance(t)
	there := core.node().Value()
	core.ends(Effect{Op: OpDelete})
	for range 2 {
		core.wait(core.known.View().Settings().SettleTime)
		core.missed(core.now())
	}
	proven, gone := core.known.View().Gone(7)
	if !gone {
		t.Fatal("it is not gone")
	}
	lag := core.known.View().Settings().ListLag
	for _, after := range []time.Duration{lag - 1, lag} {
		core.known.At(proven.Add(after))
		list := Effect{Op: OpList, Term: core.known.View().Term()}
		core.handle(Result{Effect: list, Began: core.now(), Instances: []Instance{there}})
		if there := core.node() != nil; there != (after == lag) {
			t.Errorf("a list %s after the proof: there %t", after, there)
		}
	}
}

// A thousand instances of others are read, claimants come and go, instances end.
func TestNothingIsRememberedForEver(t *testing.T) {
	core := oneInstance(t)
	term := core.known.View().Term()
	var most known.Size
	for n := range 1000 {
		core.wait(10 * time.Second)
		id, other := 1000+n, 5000+n
		core.read(id, core.now())
		core.handle(Result{Effect: Effect{Op: OpRead, ID: id, Term: term}, Began: core.now(),
			Instance: Instance{Node: claims.Node{InstanceID: id}}})
		who := claims.ClaimID{Value: "churn", UID: string(rune(n))}
		order := &Order{Who: who, Label: "demo-churn"}
		core.handle(Result{Effect: Effect{Op: OpCreate, Who: who, Order: order, Term: term}, Began: core.now(),
			Instance: Instance{Node: claims.Node{InstanceID: other, Tags: simOwn.ClaimTags(who)}}})
		core.handle(Result{Effect: Effect{Op: OpDelete, ID: other, Term: term}, Began: core.now(), Err: unanswered(OpDelete)})
		core.handle(Result{Effect: Effect{Op: OpDelete, ID: other, Term: term}, Began: core.now()})
		for range 2 {
			core.wait(core.known.View().Settings().SettleTime)
			core.handle(Result{Effect: Effect{Op: OpDelete, ID: other, Term: term}, Began: core.now(), Err: notFound()})
		}
		if _, gone := core.known.View().Gone(other); !gone {
			t.Fatalf("%d is not gone", other)
		}
		core.handle(Result{Effect: Effect{Op: OpCreate, Who: who, Order: order, Term: term}, Began: core.now(), Err: unanswered(OpCreate)})
		size := core.known.Size()
		most = known.Size{
			Nodes: max(most.Nodes, size.Nodes), Claims: max(most.Claims, size.Claims), Reads: max(most.Reads, size.Reads),
			Writes: max(most.Writes, size.Writes),
		}
	}
	// Some that were read, and some that are gone.
	if most.Nodes > 2*70 || max(most.Claims, most.Reads, most.Writes) > 70 {
		t.Errorf("at most %+v", most)
	}
	core.wait(time.Hour)
	core.handle(Result{Effect: Effect{Op: OpTag}})
	if size := core.known.Size(); size != (known.Size{Nodes: 1, Claims: 1}) || len(core.callers.Known()) > 0 || core.node() == nil {
		t.Errorf("an hour later: %+v", size)
	}
}

func notFound() *claims.Error {
	return &claims.Error{Kind: claims.KindNotFound, Op: "read", Effect: claims.EffectNone}
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
	core := oneInstance(b)
	now, started := core.now(), core.now()
	core.handle(Result{Effect: Effect{Op: OpList, Term: core.known.View().Term()}, Began: now})
	var calls []*Call
	for n := range n {
		who := claims.ClaimID{Value: fmt.Sprintf("c%d", n)}
		order := &Order{Who: who, Label: simLabel(who.Value), InstanceType: "plan", Tags: simOwn.ClaimTags(who)}
		calls = append(calls, core.Admit(Ask{Kind: AskCreate, Order: order}, now))
	}
	id := 1000
	for len(calls) > 0 {
		var waiting []*Call
		var sent []Effect
		for _, call := range calls {
			switch s := core.Next(call, now); {
			case s.Effect != nil:
				sent = append(sent, *s.Effect)
				waiting = append(waiting, call)
			case s.End != nil:
				core.Dismiss(call, now)
			default:
				waiting = append(waiting, call)
			}
		}
		calls = waiting
		now = now.Add(time.Second)
		for _, e := range sent {
			r := Result{Effect: e, Began: now}
			if e.Op == OpCreate {
				id++
				r.Instance = Instance{Node: claims.Node{InstanceID: id, Name: e.Order.Label, Tags: e.Order.Tags}}
			}
			core.Handle(r, now)
		}
		if len(sent) == 0 && now.Sub(started) > time.Hour {
			b.Fatalf("%d are left", len(calls))
		}
	}
}

// Begin drops all readings, and also the readings that are under way, because they may show the state before it.
func TestAReadingFromBeforeAnElectionShowsNothing(t *testing.T) {
	core := oneInstance(t)
	there := core.node().Value()
	call := core.Admit(Ask{Kind: AskGet, ID: 7}, core.now())
	before := core.Next(call, core.now()).Effect
	core.Begin(claims.MayStillWrite, core.now())
	after := core.Next(call, core.now()).Effect
	if before == nil || after == nil {
		t.Fatalf("effects %+v, %+v, want two readings", before, after)
	}
	core.handle(Result{Effect: *before, Began: core.now(), Instance: there})
	if s := core.Next(call, core.now()); !s.Wait || core.node() != nil {
		t.Errorf("the reading from before counts: %+v, %+v", s, core.node())
	}
	core.handle(Result{Effect: *after, Began: core.now(), Instance: there})
	if s := core.Next(call, core.now()); s.End == nil || s.End.Err != nil {
		t.Errorf("the reading from after does not count: %+v", s)
	}
}

// The API refuses the label, and no list shows who has it: that is a conflict when it is
// refused again after lists that had to show it. A creation without an answer may have
// made the claimant's own instance, whose lists come later.
func TestALabelIsAConflictWhenItIsRefusedAfterTheLists(t *testing.T) {
	taken := &claims.Error{Kind: claims.KindConflict, Op: "create", Field: "label", Effect: claims.EffectNone, Err: ErrLabelTaken}
	for name, answers := range map[string][]error{
		"refused twice":                         {taken, taken},
		"one without an answer":                 {unanswered(OpCreate), taken, taken},
		"one without an answer after the lists": {taken, unanswered(OpCreate), taken, taken},
	} {
		t.Run(name, func(t *testing.T) {
			core := oneInstance(t)
			core.Begin(claims.Ended, core.now())
			order := &Order{Who: claims.ClaimID{Value: "b"}, Label: "demo-b", InstanceType: "plan"}
			call := core.Admit(Ask{Kind: AskCreate, Order: order}, core.now())
			var due, listed, searched time.Time // due: lists that begin then show who has the label
			for range 100 {
				s := core.Next(call, core.now())
				switch {
				case s.Wait:
					core.known.At(s.Until)
					continue
				case s.End != nil:
					if claims.KindOf(s.End.Err) != claims.KindConflict || len(answers) > 0 || listed.Before(due) || searched.Before(due) {
						t.Errorf("%v, with a list %s and a search %s too early", s.End.Err, due.Sub(listed), due.Sub(searched))
					}
					return
				}
				r := Result{Effect: *s.Effect, Began: core.now()}
				switch s.Effect.Op {
				case OpList:
					listed = r.Began
				case OpFind:
					searched = r.Began
				case OpCreate:
					if len(answers) == 0 {
						t.Fatal("it is created again")
					}
					r.Err, answers = answers[0], answers[1:]
					if len(answers) > 0 {
						due = known.Latest(due, core.now().Add(core.known.View().Settings().ListLag))
					}
					if claims.EffectOf(r.Err) == claims.EffectUnknown {
						due = core.now().Add(core.known.View().Settings().LateEffect + core.known.View().Settings().ListLag)
					}
				}
				core.handle(r)
			}
			t.Error("no answer")
		})
	}
}
