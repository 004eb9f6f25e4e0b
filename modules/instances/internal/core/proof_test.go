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

// A reading that lacks an instance proves its end or not, depending on the time when the reading began. Package absence has the rule.
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
			core, o := oneInstance(t)
			core.known.Now = core.known.Now.Add(c.age)
			from := core.known.Now
			if c.made > 0 {
				o.Made = from.Add(c.made)
			}
			if c.accepted > 0 {
				o.Removal.Accepted = from.Add(c.accepted)
			}
			for _, at := range c.missed {
				core.known.Now = from.Add(at)
				core.missed(core.known.Now)
			}
			for _, at := range c.lists {
				core.known.Now = from.Add(at)
				core.handle(Result{Effect: Effect{Op: OpList, Term: core.known.Term}, Began: core.known.Now})
			}
			if _, known := core.known.World.Nodes[7]; known == c.gone {
				t.Errorf("gone: %t, want %t: %+v", !known, c.gone, core.known.World.Reads[7])
			}
		})
	}
}

// The first request waited 15 s in the client.
func TestAMissedInstanceCountsFromItsAnswer(t *testing.T) {
	core, _ := oneInstance(t)
	sent := core.known.Now
	core.known.Now = sent.Add(15 * time.Second)
	core.missed(sent)
	for _, again := range []time.Duration{120 * time.Millisecond, core.known.Settings.SettleTime} {
		core.missed(sent.Add(15*time.Second + again))
		if twice := core.known.World.Reads[7].Absence.Twice(); twice != (again == core.known.Settings.SettleTime) {
			t.Errorf("another 404, sent %s after the first was answered: twice %t", again, twice)
		}
	}
}

// oneInstance returns a core with one instance, of claimant a.
func oneInstance(t testing.TB) (*Core, *known.Node) {
	t.Helper()
	who := claims.ClaimID{Value: "a"}
	c := New(Settings{Cluster: "demo"}.WithDefaults(), simOwn, time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	return c, c.known.World.Discover(Instance{Node: claims.Node{InstanceID: 7, Tags: simOwn.ClaimTags(who)}}, who)
}

// handle is Handle at the time of the record.
func (c *Core) handle(r Result) { c.Handle(r, c.known.Now) }

// read begins a direct reading for a caller that came at a time, and reports whether the
// instance is gone, and whether a reading is under way.
func (c *Core) read(id int, since time.Time) (gone, reading bool) {
	call := c.Admit(Ask{Kind: AskGet, ID: id}, c.known.Now)
	call.Began = since
	defer c.Dismiss(call, c.known.Now)
	s := c.Next(call, c.known.Now)
	return s.End != nil && claims.KindOf(s.End.Err) == claims.KindNotFound, s.Effect != nil
}

// missed answers a direct reading that began at a time with 404.
func (c *Core) missed(began time.Time) {
	c.known.World.Reading(7)
	gone := &claims.Error{Kind: claims.KindNotFound, Op: "read", Effect: claims.EffectNone}
	c.handle(Result{Effect: Effect{Op: OpRead, ID: 7, Term: c.known.Term}, Began: began, Err: gone})
}

// A reading that began less than the settle time after a write of tags may show the state before the write.
func TestOwnTagsOutrankOlderReadings(t *testing.T) {
	const settle = 4 * time.Second
	for after, believed := range map[time.Duration]bool{0: false, settle - 1: false, settle: true} {
		core, o := oneInstance(t)
		old, written := slices.Clone(append(o.Tags, "old")), slices.Clone(append(o.Tags, "new"))
		core.handle(Result{Effect: Effect{Op: OpTag, ID: o.InstanceID, Tags: written, Term: core.known.Term}, Began: core.known.Now})
		core.known.Now = core.known.Now.Add(after)
		if _, reading := core.read(7, core.known.Now); !reading {
			t.Fatal("no reading is under way")
		}
		read := Instance{Node: claims.Node{InstanceID: 7, Tags: old}}
		core.handle(Result{Effect: Effect{Op: OpRead, ID: 7, Term: core.known.Term}, Began: core.known.Now, Instance: read})
		if slices.Contains(o.Tags, "old") != believed {
			t.Errorf("%s after the write, a reading of the old Tags: %v", after, o.Tags)
		}
	}
}

// A reading may show an event that happened as late as its answer. So a list that began one list lag after the start of the reading, but
// before one list lag after its answer, may show the state before the event.
func TestAListChangesNothingThatWasReadLater(t *testing.T) {
	const took = 8 * time.Second
	for after, believed := range map[time.Duration]bool{1: false, took: false, took + 1: true} {
		core, o := oneInstance(t)
		began := core.known.Now
		old, written := slices.Clone(append(o.Tags, "old")), slices.Clone(append(o.Tags, "new"))
		core.known.Now = began.Add(took)
		core.reads(written, began)
		list := began.Add(core.known.Settings.ListLag + after)
		core.known.Now = list.Add(took)
		core.handle(Result{Effect: Effect{Op: OpList, Term: core.known.Term}, Began: list,
			Instances: []Instance{{Node: claims.Node{InstanceID: 7, Tags: old}}}})
		if slices.Contains(o.Tags, "old") != believed {
			t.Errorf("a list that began the list lag and %s after a reading of %s: tags %v", after, took, o.Tags)
		}
	}
}

// A disk that a person has deleted is answered with 404, as often as it is read.
func TestADiskThatIsGoneProvesNothingOfItsInstance(t *testing.T) {
	core, o := oneInstance(t)
	gone := &claims.Error{Kind: claims.KindNotFound, Op: "read disk", Effect: claims.EffectNone}
	for range 2 {
		core.known.Now = core.known.Now.Add(time.Minute)
		o.Build.Making, o.Build.HasDisks = 3, true
		core.handle(Result{Effect: Effect{Op: OpDisk, ID: 7, DiskID: 3, Term: core.known.Term}, Began: core.known.Now, Err: gone})
		if core.known.World.Nodes[7] == nil {
			t.Fatal("the instance counts as gone")
		}
		if o.Build.Making != 0 || o.Build.HasDisks {
			t.Errorf("the disks are not listed again: %+v", o.Build)
		}
	}
}

// A removal is answered with 404 while a reading is under way, which is answered
// with what was before.
func TestAReadingThatWasUnderWayRefutesNoProof(t *testing.T) {
	core, o := oneInstance(t)
	start, there := core.known.Now, o.Instance
	o.Removal.Accepted = start
	if _, reading := core.read(7, start); !reading {
		t.Fatal("no reading is under way")
	}
	gone := &claims.Error{Kind: claims.KindNotFound, Op: "delete", Effect: claims.EffectNone}
	for range 2 {
		core.handle(Result{Effect: Effect{Op: OpDelete, ID: 7, Term: core.known.Term}, Began: core.known.Now, Err: gone})
		core.known.Now = core.known.Now.Add(core.known.Settings.SettleTime)
	}
	core.handle(Result{Effect: Effect{Op: OpRead, ID: 7, Term: core.known.Term}, Began: start, Instance: there})
	if core.known.World.Nodes[7] != nil {
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
	e.ID, e.Term = 7, c.known.Term
	c.handle(Result{Effect: e, Began: c.known.Now, Err: unanswered(e.Op)})
}

// reads answers a direct reading of the instance with these tags.
func (c *Core) reads(tags []string, began time.Time) {
	c.known.World.Reads[7] = &known.Read{Running: true}
	i := Instance{Node: claims.Node{InstanceID: 7, Tags: tags}}
	c.handle(Result{Effect: Effect{Op: OpRead, ID: 7, Term: c.known.Term}, Began: began, Instance: i})
}

// The tags were the same shortly before the write.
func TestAReadingOfBeforeAWriteOfTagsResolvesNothing(t *testing.T) {
	core, o := oneInstance(t)
	written := append(slices.Clone(o.Tags), "new")
	core.fails(Effect{Op: OpTag, Tags: written})
	for after, open := range map[time.Duration]bool{core.known.Settings.SettleTime - 1: true, core.known.Settings.SettleTime: false} {
		core.known.World.Writes[7].Tags = written
		core.reads(written, core.known.Started.Add(after))
		if (core.known.World.Writes[7].Tags != nil) != open {
			t.Errorf("a reading %s after the write: open %t", after, !open)
		}
		o.Read = time.Time{}
	}
}

func TestTagsThatLandedOutrankOlderReadings(t *testing.T) {
	core, o := oneInstance(t)
	old, written := slices.Clone(o.Tags), append(slices.Clone(o.Tags), "new")
	core.fails(Effect{Op: OpTag, Tags: written})
	core.known.Now = core.known.Now.Add(time.Minute)
	core.reads(written, core.known.Now)
	core.reads(old, core.known.Now.Add(time.Second))
	if !slices.Contains(o.Tags, "new") {
		t.Error("a reading from before they landed counts")
	}
	core.reads(old, core.known.Now.Add(core.known.Settings.SettleTime))
	if slices.Contains(o.Tags, "new") {
		t.Error("a reading from after they landed does not count")
	}
}

// A person may give an instance to another claimant right before a write of tags, which takes the instance back, or right after the
// write. A reading soon after the write cannot distinguish the two: the next reading decides who may remove the instance.
func TestAReadingWithAnotherClaimSoonAfterTagsIsMadeAgain(t *testing.T) {
	another := simOwn.ClaimTags(claims.ClaimID{Value: "another"})
	for name, given := range map[string]bool{"given before the write": false, "given after it": true} {
		t.Run(name, func(t *testing.T) {
			core, o := oneInstance(t)
			own, settled := slices.Clone(o.Tags), core.known.Now.Add(core.known.Settings.SettleTime)
			core.handle(Result{Effect: Effect{Op: OpTag, ID: 7, Tags: own, Term: core.known.Term}, Began: core.known.Now})
			core.known.Now = settled.Add(-1)
			call := core.Admit(Ask{Kind: AskDelete, ID: 7, By: o.Who}, core.known.Now)
			core.reads(another, core.known.Now)
			if s := core.Next(call, core.known.Now); !s.Wait || !s.Until.Equal(settled) || !slices.Equal(o.Tags, own) {
				t.Fatalf("after a reading that tells nothing: %+v, tags %v", s, o.Tags)
			}
			core.known.Now = settled
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
	core, _ := oneInstance(t)
	core.known.Settings.MaxNodes = 5
	who := claims.ClaimID{Value: "b"}
	order := &Order{Who: who, Label: "demo-b", InstanceType: "plan"}
	core.handle(Result{
		Effect: Effect{Op: OpCreate, Who: who, Order: order, Term: core.known.Term}, Began: core.known.Now,
		Err: unanswered(OpCreate),
	})
	core.known.Purchases.Of(who, order.Label).NotMade()
	shown := core.known.Now.Add(core.known.Settings.LateEffect + core.known.Settings.ListLag)
	for _, c := range []struct {
		at, listed time.Time
		counts     int
	}{{shown.Add(-1), core.known.Now, 1}, {shown.Add(time.Minute), shown.Add(-1), 1}, {shown.Add(time.Minute), shown, 0}} {
		core.known.Now = c.at
		core.known.World.List.Began = c.listed
		if n := core.known.Owned(nil)["plan"]; n != c.counts {
			t.Errorf("%s after its failure, with a list of %s: counts %d", c.at.Sub(core.known.Started), c.listed.Sub(core.known.Started), n)
		}
	}
}

// A write of tags without the boot's effect on them: a user put the mark back, or an old
// reading did.
func TestAnInstanceThatRunsIsNotCollectedForItsMark(t *testing.T) {
	core, o := oneInstance(t)
	core.known.Now = core.known.Now.Add(time.Hour)
	o.Build.Ran, o.Build.Marked = true, true
	for range 2 {
		if orphans := core.Survey([]claims.ClaimID{o.Who}, core.known.Now).Orphans; len(orphans) != 0 {
			t.Errorf("%v", orphans)
		}
		core.known.Now = core.known.Now.Add(core.known.Settings.OrphanTTL)
	}
	o.Build.Ran = false
	core.Survey([]claims.ClaimID{o.Who}, core.known.Now)
	core.known.Now = core.known.Now.Add(core.known.Settings.OrphanTTL)
	if orphans := core.Survey([]claims.ClaimID{o.Who}, core.known.Now).Orphans; len(orphans) != 1 {
		t.Errorf("one that was never started: %v", orphans)
	}
}

// The tags are sent again by a reading that began when the first ones could still land:
// that a later one shows them does not prove that nothing lands any more.
func TestTagsThatFollowAnOldReadingCountAsRepeated(t *testing.T) {
	core, o := oneInstance(t)
	old, written := slices.Clone(o.Tags), append(slices.Clone(o.Tags), "new")
	o.Made = core.known.Now
	core.fails(Effect{Op: OpTag, Tags: written})
	began := core.known.World.Writes[7].Until.Add(-1)
	core.known.Now = began.Add(tuning.ReadValid)
	core.known.Prune()
	core.reads(old, began)
	call := core.Admit(Ask{Kind: AskTags, ID: 7, Add: []string{"new"}}, core.known.Now)
	call.Began = began
	again := core.Next(call, core.known.Now).Effect
	if again == nil || again.Op != OpTag {
		t.Fatalf("next is %+v", again)
	}
	core.fails(*again)
	core.known.Now = core.known.Now.Add(core.known.Settings.SettleTime)
	core.reads(written, core.known.Now)
	if u := core.known.World.Writes[7]; u.Tags == nil {
		t.Error("a reading resolves tags of which the first or the second ones may have landed")
	}
}

func TestWritesThatMayLandOutliveALead(t *testing.T) {
	core, o := oneInstance(t)
	core.fails(Effect{Op: OpDelete})
	core.Begin(claims.Ended, core.known.Now)
	again := core.known.World.Discover(o.Instance, o.Who)
	if !core.known.World.Condemned(again) {
		t.Error("the removal is forgotten")
	}
	core.known.Now = core.known.Now.Add(core.known.Settings.LateEffect + core.known.Settings.SettleTime)
	if core.known.World.Condemned(again) {
		t.Error("a removal of an earlier lead counts for ever")
	}
}

func TestAListRefutesAWrongProof(t *testing.T) {
	core, o := oneInstance(t)
	core.known.World.End(7)
	for _, after := range []time.Duration{core.known.Settings.ListLag - 1, core.known.Settings.ListLag} {
		core.known.Now = core.known.Started.Add(after)
		core.handle(Result{Effect: Effect{Op: OpList, Term: core.known.Term}, Began: core.known.Now, Instances: []Instance{o.Instance}})
		if _, there := core.known.World.Nodes[7]; there != (after == core.known.Settings.ListLag) {
			t.Errorf("a list %s after the proof: there %t", after, there)
		}
	}
}

// A thousand instances of others are read, claimants come and go, instances end.
func TestNothingIsRememberedForEver(t *testing.T) {
	core, o := oneInstance(t)
	for n := range 1000 {
		core.known.Now = core.known.Now.Add(10 * time.Second)
		id := 1000 + n
		core.read(id, core.known.Now)
		core.handle(Result{Effect: Effect{Op: OpRead, ID: id, Term: core.known.Term}, Began: core.known.Now,
			Instance: Instance{Node: claims.Node{InstanceID: id}}})
		who := claims.ClaimID{Value: "churn", UID: string(rune(n))}
		core.known.World.Discover(Instance{Node: claims.Node{InstanceID: 5000 + n, Tags: simOwn.ClaimTags(who)}}, who)
		core.handle(Result{Effect: Effect{Op: OpDelete, ID: 5000 + n, Term: core.known.Term}, Began: core.known.Now, Err: unanswered(OpDelete)})
		core.known.World.End(5000 + n)
		order := &Order{Who: who, Label: "demo-churn"}
		core.handle(Result{
			Effect: Effect{Op: OpCreate, Who: who, Order: order, Term: core.known.Term}, Began: core.known.Now,
			Err: unanswered(OpCreate),
		})
	}
	w := &core.known.World
	if sizes := []int{len(w.Nodes), len(w.ByClaim), len(w.Gone), len(w.Reads), len(w.Writes)}; slices.Max(sizes) > 70 {
		t.Errorf("sizes %v", sizes)
	}
	core.known.Now = core.known.Now.Add(time.Hour)
	core.handle(Result{Effect: Effect{Op: OpTag}})
	sizes := []int{len(w.Gone), len(w.Reads), len(w.Writes), len(core.known.Purchases.All()), len(core.callers.Known())}
	if slices.Max(sizes) > 0 || w.Nodes[7] != o {
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
	now, started := core.known.Now, core.known.Now
	core.known.World.List.Began = now
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
	core, o := oneInstance(t)
	call := core.Admit(Ask{Kind: AskGet, ID: 7}, core.known.Now)
	before := core.Next(call, core.known.Now).Effect
	core.Begin(claims.MayStillWrite, core.known.Now)
	after := core.Next(call, core.known.Now).Effect
	if before == nil || after == nil {
		t.Fatalf("effects %+v, %+v, want two readings", before, after)
	}
	core.handle(Result{Effect: *before, Began: core.known.Now, Instance: o.Instance})
	if s := core.Next(call, core.known.Now); !s.Wait || core.known.World.Nodes[7] != nil {
		t.Errorf("the reading from before counts: %+v, %+v", s, core.known.World.Nodes[7])
	}
	core.handle(Result{Effect: *after, Began: core.known.Now, Instance: o.Instance})
	if s := core.Next(call, core.known.Now); s.End == nil || s.End.Err != nil {
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
			core, _ := oneInstance(t)
			core.Begin(claims.Ended, core.known.Now)
			order := &Order{Who: claims.ClaimID{Value: "b"}, Label: "demo-b", InstanceType: "plan"}
			call := core.Admit(Ask{Kind: AskCreate, Order: order}, core.known.Now)
			var due, listed, searched time.Time // due: lists that begin then show who has the label
			for range 100 {
				s := core.Next(call, core.known.Now)
				switch {
				case s.Wait:
					core.known.Now = s.Until
					continue
				case s.End != nil:
					if claims.KindOf(s.End.Err) != claims.KindConflict || len(answers) > 0 || listed.Before(due) || searched.Before(due) {
						t.Errorf("%v, with a list %s and a search %s too early", s.End.Err, due.Sub(listed), due.Sub(searched))
					}
					return
				}
				r := Result{Effect: *s.Effect, Began: core.known.Now}
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
						due = known.Latest(due, core.known.Now.Add(core.known.Settings.ListLag))
					}
					if claims.EffectOf(r.Err) == claims.EffectUnknown {
						due = core.known.Now.Add(core.known.Settings.LateEffect + core.known.Settings.ListLag)
					}
				}
				core.handle(r)
			}
			t.Error("no answer")
		})
	}
}
