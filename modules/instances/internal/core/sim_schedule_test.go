package core

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"time"
)

// simSchedule describes one life of a cluster: arrivals of claimants, edits by users,
// and failing requests. Everything random that is not in it is drawn
// from seed, so one schedule has one course.
type simSchedule struct {
	seed uint64
	// stale and lag bound the age of reads of one instance and of lists, latency the
	// duration of a request.
	stale, lag, latency time.Duration
	boot, orphanTTL     time.Duration
	creations, room     int
	// holder makes the caller's own records contain the instances.
	holder bool
	lives  []simLife
	steps  []simStep
	fates  []simFate
	simHarshness
}

// simHarshness holds what only schedules with all faults have; writes that land
// late are among the fates.
type simHarshness struct {
	harsh bool
	gaps  []simGap
	// holderLag and aliveLag are how much out of date the caller's own records are.
	holderLag, aliveLag time.Duration
	maxNodes            int
	// maxPrice bounds the hourly price; a small plan costs 1, a large one 2.
	maxPrice float64
	// settleTime, listLag and lateEffect are the engine's bounds, 0 for its defaults. Code that confuses two of them fails only if they
	// differ.
	settleTime, listLag, lateEffect time.Duration
}

// latest is how long after its answer, or the death of its process, a write may land.
func (s *simHarshness) latest() time.Duration { return cmp.Or(s.lateEffect, 2*time.Minute) }

// simGap is a time in which direct reads of many objects answer 404, although
// they exist and lists show them.
type simGap struct {
	from, length time.Duration
	// share: every share-th instance is concerned, 1 for all.
	share int
}

// simLife describes one claimant.
type simLife struct {
	at time.Duration
	// timeout bounds one call, again is the pause before the next.
	timeout, again time.Duration
	// quits bounds its wait in all, and keeps the time with its instance; 0 means for
	// ever.
	quits, keeps time.Duration
	// forgets loses the first answer, so that it calls again.
	forgets bool
	// heir takes the name of the claimant before it, when that is gone.
	heir  bool
	disks int
	// edits counts the changes of its instance's tags.
	edits int
	// large requests the larger plan.
	large bool
	// given: before it is released, a person gives it to another claimant, for a while; only
	// with all faults.
	given bool
}

type simStepKind int

const (
	stepDeath  simStepKind = iota // the process dies, another begins after gap
	stepBegin                     // the process leads again
	stepRename                    // a person renames an instance
	stepStrip                     // a person takes its tags away
	stepRemove                    // a person deletes an instance
	stepOff                       // a person powers it off
	stepThief                     // a person's Linode has the label of a claimant to come, for a while
	stepKinds
	stepGive // a person gives an instance to another claimant, for a while; only with all faults
)

type simStep struct {
	at   time.Duration
	kind simStepKind
	pick int
	gap  time.Duration
}

// simFault names a failure of a request.
type simFault int

const (
	faultLost    simFault = iota // no answer after the effect
	faultUnsent                  // no answer before the effect
	faultHang                    // no answer until the timeout, after the effect
	faultDeaf                    // no answer until the timeout, before the effect
	faultLate                    // no answer, and the effect comes later
	faultRefused                 // refused for now, certainly without effect
	faultLimited                 // 429
	faultForbidden
	faultNoEffect // answered with success, and nothing happens
	faultGone     // a wrong 404
	faultMissing  // a list lacks an entry
	faultDeath    // the process dies before the answer; only with all faults
)

var (
	simWriteFaults = []simFault{faultLost, faultUnsent, faultHang, faultDeaf, faultLate, faultRefused, faultLimited, faultForbidden,
		faultNoEffect, faultGone}
	simReadFaults = []simFault{faultRefused, faultDeaf, faultLimited, faultGone, faultMissing, faultForbidden}
	simOps        = []Op{OpCreate, OpCreate, OpCreate, OpDelete, OpTag, OpRead, OpRead, OpList, OpFind, OpDisks, OpDisk, OpConfigs, OpAddDisk,
		OpAttach, OpBoot}
)

// simFate assigns a fault to the first request of an op after from, and to as many
// after it.
type simFate struct {
	op    Op
	from  time.Duration
	times int
	kind  simFault
	takes time.Duration
	// late is how long after its answer a write may land.
	late time.Duration
}

// simChaos is the time of the last fault, edit or death.
const simChaos = 6 * time.Minute

func (s *simSchedule) String() string {
	text := fmt.Sprintf("seed %d: stale %s, lag %s, latency %s, boot %s, orphan TTL %s, creations %d, room %d, holder %t\n",
		s.seed, s.stale, s.lag, s.latency, s.boot, s.orphanTTL, s.creations, s.room, s.holder)
	if s.harsh {
		text += fmt.Sprintf("all faults: %+v\n", s.simHarshness)
	}
	for _, l := range s.lives {
		text += fmt.Sprintf("life %+v\n", l)
	}
	for _, step := range s.steps {
		text += fmt.Sprintf("step %+v\n", step)
	}
	for _, f := range s.fates {
		text += fmt.Sprintf("fate %+v\n", f)
	}
	return text
}

type simDice struct{ *rand.Rand }

func (d simDice) oneOf(unit time.Duration, of ...int) time.Duration {
	return time.Duration(of[d.IntN(len(of))]) * unit
}

// moment draws a time, more of them early.
func (d simDice) moment() time.Duration {
	bound := [...]int{10, 60, int(simChaos / time.Second)}[d.IntN(3)]
	return time.Duration(d.IntN(bound*20)) * 50 * time.Millisecond
}

// fromSeed returns the schedule of a seed.
func fromSeed(seed uint64) *simSchedule {
	d := simDice{rand.New(rand.NewPCG(seed, 11))}
	s := &simSchedule{
		seed:      seed,
		stale:     d.oneOf(time.Millisecond, 0, 1500, 3900),
		lag:       d.oneOf(time.Second, 0, 1, 3, 10, 30, 119),
		latency:   d.oneOf(time.Millisecond, 80, 300, 2000),
		boot:      d.oneOf(time.Second, 2, 20, 60),
		orphanTTL: d.oneOf(time.Minute, 5, 1),
		creations: []int{20, 20, 2, 1}[d.IntN(4)],
		holder:    d.IntN(2) == 0,
	}
	for i := range 1 + d.IntN(8) {
		s.lives = append(s.lives, d.life(s, i))
	}
	if d.IntN(8) == 0 {
		s.room = 4 + d.IntN(4)
	}
	for range d.IntN(5) {
		s.steps = append(s.steps, simStep{
			at: d.moment(), kind: simStepKind(d.IntN(int(stepKinds))), pick: d.IntN(64), gap: d.oneOf(time.Second, 1, 5, 16),
		})
	}
	for range d.IntN(5) {
		f := simFate{
			op: simOps[d.IntN(len(simOps))], from: d.moment(), times: [...]int{1, 1, 2, 3, 40}[d.IntN(5)],
			takes: d.oneOf(time.Second, 1, 3, 10, 30),
		}
		f.kind = simReadFaults[d.IntN(len(simReadFaults))]
		if f.op.Write() {
			f.kind = simWriteFaults[d.IntN(len(simWriteFaults))]
		}
		if f.kind == faultLate {
			f.takes, f.late = 0, f.takes
		}
		s.fates = append(s.fates, f)
	}
	return s
}

func (d simDice) life(s *simSchedule, i int) simLife {
	l := simLife{
		at: d.moment(), timeout: d.oneOf(time.Second, 60, 5, 10, 180),
		again:   time.Duration(1+d.IntN(20)) * time.Second,
		forgets: d.IntN(6) == 1, heir: d.IntN(6) == 1,
	}
	if i > 0 && d.IntN(3) > 0 { // part of the burst of the previous claimant
		l.at = s.lives[i-1].at + time.Duration(d.IntN(1500))*time.Millisecond
	}
	if d.IntN(3) == 1 {
		l.keeps = time.Duration(1+d.IntN(200)) * time.Second
	}
	if d.IntN(6) == 1 {
		l.quits = time.Duration(1+d.IntN(60)) * time.Second
	}
	if d.IntN(3) == 1 {
		l.disks = 1 + d.IntN(2)
	}
	if d.IntN(3) == 1 {
		l.edits = 1 + d.IntN(4)
	}
	return l
}

// harshFromSeed returns the schedule of a seed with all faults.
func harshFromSeed(seed uint64) *simSchedule {
	s := fromSeed(seed)
	s.worsen(simDice{rand.New(rand.NewPCG(seed, 13))})
	s.tighten(simDice{rand.New(rand.NewPCG(seed, 19))})
	return s
}

// tighten draws bounds that are hardly above the use that they bound. It draws from separate dice, so that a seed has the same schedule
// without it.
func (s *simSchedule) tighten(d simDice) {
	if d.IntN(4) == 3 {
		s.settleTime = s.stale + 100*time.Millisecond
	}
	if d.IntN(4) == 3 {
		s.listLag = s.lag + time.Second
	}
	if d.IntN(4) == 3 {
		s.lateEffect = d.oneOf(time.Second, 10, 30, 1)
	}
	for i := range s.fates {
		s.fates[i].late = min(s.fates[i].late, s.latest())
	}
}

// worsen adds what a schedule without late effects lacks.
func (s *simSchedule) worsen(d simDice) {
	s.harsh = true
	writes := [...]Op{OpCreate, OpCreate, OpDelete, OpDelete, OpTag, OpTag, OpAddDisk, OpAttach, OpBoot}
	for range d.IntN(5) {
		s.fates = append(s.fates, simFate{
			op: writes[d.IntN(len(writes))], from: d.moment(), times: [...]int{1, 1, 2, 5}[d.IntN(4)], kind: faultLate,
			takes: d.oneOf(time.Second, 1, 5, 30, 600), late: d.oneOf(time.Second, 10, 45, 2, 120),
		})
	}
	for range d.IntN(3) {
		s.gaps = append(s.gaps, simGap{from: d.moment(), length: d.oneOf(time.Second, 10, 5, 30), share: 1 + d.IntN(2)})
	}
	s.holderLag, s.aliveLag = d.oneOf(time.Second, 0, 2, 10), d.oneOf(time.Second, 0, 2, 10)
	switch d.IntN(8) {
	case 6:
		s.maxNodes = 1 + d.IntN(8)
	case 7:
		s.maxPrice = float64(2 + d.IntN(8))
	}
	if d.IntN(3) == 2 {
		for range 1 + d.IntN(16) {
			s.lives = append(s.lives, d.life(s, len(s.lives)))
		}
	}
	for i := range s.lives {
		s.lives[i].large = d.IntN(3) == 0
	}
	if d.IntN(3) == 0 {
		s.steps = append(s.steps, simStep{at: d.moment(), kind: stepGive, pick: d.IntN(64)})
	}
	if d.IntN(3) == 0 {
		for range 1 + d.IntN(2) {
			s.fates = append(s.fates, simFate{op: writes[d.IntN(len(writes))], from: d.moment(), times: 1, kind: faultDeath})
		}
	}
	for i := range s.lives {
		l := &s.lives[i]
		if l.given = l.keeps > 0 && d.IntN(4) == 0; l.given {
			l.keeps, l.edits = 10*time.Second+l.keeps/10, max(1, l.edits)
		}
	}
	if len(s.gaps) > 0 {
		s.keepListsRight()
	}
}

// keepListsRight takes away what lists lack and removals without effect: together
// with a group of wrong 404s they would be proof.
func (s *simSchedule) keepListsRight() {
	for i := range s.fates {
		if f := &s.fates[i]; f.kind == faultMissing || f.kind == faultNoEffect {
			f.kind = faultRefused
		}
	}
	for i := range s.steps {
		if k := &s.steps[i].kind; *k == stepStrip {
			*k = stepOff
		}
	}
}
