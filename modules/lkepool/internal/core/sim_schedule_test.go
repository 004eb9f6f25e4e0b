package core

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/claimstest/schedule"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/tuning"
)

// simSchedule is one life of a cluster as data: who comes when, what people and
// the platform do, and which requests go wrong. Everything random that is not
// in it is drawn from seed, so one schedule has one course.
type simSchedule struct {
	seed       uint64
	enterprise bool
	// calm: no faults, edits, deaths, nor anything else that is not exact.
	calm bool
	// known: the caller stores its claims (Config.Records). Situations without records have it off.
	known bool
	world simWeather
	lives []simLife
	steps []simStep
	fates []simFate
	simHarshness
}

// simHarshness holds what only schedules with all faults have; writes that land
// late are among the fates.
type simHarshness struct {
	harsh bool
	gaps  []simGap
	// holderLag and aliveLag are how much out of date the caller's own records are.
	holderLag, aliveLag time.Duration
	maxNodes, poolSize  int
	// maxPrice bounds the hourly price: see simPrices.
	maxPrice float64
	// listLag is the bound on the lag of lists that the engine is told, lateEffect that on
	// how long after its failure a write takes effect; 0 is two minutes. Where one
	// bound is taken for another, that shows only if they differ.
	listLag, lateEffect time.Duration
	// settleTime is that on direct reads, 0 for four seconds.
	settleTime time.Duration
}

// simLease is how long another process waits for a Lease that was not given back.
const simLease = 15 * time.Second

// simWeather is how the platform behaves all the time.
type simWeather struct {
	// stale and lag are how far single reads and lists may be out of date,
	// latency how long a request takes at most.
	stale, lag, latency time.Duration
	idLeast, idMost     time.Duration
	repairs             bool
	room                int
	full                claims.Kind
	orphanTTL           time.Duration
	// exact: every reading is as much out of date as it may be.
	exact bool
}

// simLife is one claimant.
type simLife struct {
	key int
	at  time.Duration
	// patience is how long one call waits, again the pause before the next.
	patience, again time.Duration
	// quits and keeps are how long it waits in all, and how long it has its
	// node; 0 is for ever.
	quits, keeps time.Duration
	// forgets: the first answer is lost, so it calls Claim again.
	forgets bool
	// heir takes the name of the claimant before it.
	heir bool
}

// simStep is one thing that happens at a time: an edit, or a death.
type simStep struct {
	at   time.Duration
	kind simStepKind
	edit simEdit
	pick int
	// gap is how long no process leads, clock how far the next process's clock is off.
	gap, clock time.Duration
	// orderly: the process that dies gives its Lease back, if it may.
	orderly bool
}

type simStepKind int

const (
	stepEdit simStepKind = iota
	stepDeath
	// stepUnjoined and stepJoined report about a node of the key that pick chooses.
	stepUnjoined
	stepJoined
)

// simFate assigns a fault to the first requests of a kind after from; times counts
// the remaining ones.
type simFate struct {
	op    Op
	from  time.Duration
	times int
	kind  simFault
	pick  int
	takes time.Duration
	// instance is the only one that it happens to, 0 for any.
	instance int
	// late is how long after its answer a write may land.
	late time.Duration
}

// simChaos is when faults, edits and deaths end; claimants come until then.
const simChaos = 6 * time.Minute

func (s *simSchedule) String() string {
	text := fmt.Sprintf("seed %d, enterprise %t, calm %t, holder %t\nworld %+v\n", s.seed, s.enterprise, s.calm, s.known, s.world)
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

// simDice draws a schedule. rand.Rand is one; rapid is another, which shrinks.
type simDice interface {
	schedule.Dice
	// Many draws how many of something there are.
	Many(name string, least, most int) int
}

type simSeed struct{ *rand.Rand }

func (s simSeed) Many(_ string, least, most int) int { return least + s.IntN(most-least+1) }

// fromSeed returns the schedule of a seed.
func fromSeed(seed uint64) *simSchedule {
	dice := simSeed{rand.New(rand.NewPCG(seed, 11))}
	s := drawSchedule(dice)
	s.seed = seed
	return s
}

// harshFromSeed returns the schedule of a seed with all faults.
func harshFromSeed(seed uint64) *simSchedule {
	s := fromSeed(seed)
	s.worsen(simSeed{rand.New(rand.NewPCG(seed, 13))})
	return s
}

// endOrderly makes some processes end in order. It draws from dice of its own, so that a
// seed has the same deaths without it.
func (s *simSchedule) endOrderly() *simSchedule {
	d := rand.New(rand.NewPCG(s.seed, 17))
	for i := range s.steps {
		s.steps[i].orderly = s.steps[i].kind == stepDeath && d.IntN(3) == 0
	}
	return s
}

// retire lets half of the faults of deletions be faults of the tags that are written before. It draws from a stream of its own.
func (s *simSchedule) retire() *simSchedule {
	d := rand.New(rand.NewPCG(s.seed, 23))
	for i := range s.fates {
		if s.fates[i].op == OpDrop && d.IntN(2) == 0 {
			s.fates[i].op = OpRetire
		}
	}
	return s
}

// worsen adds what a schedule without late effects lacks.
func (s *simSchedule) worsen(d simDice) {
	s.harsh = true
	if s.calm && d.IntN(4) == 0 {
		return // the new model is exact without faults, too
	}
	s.calm = false
	writes := [...]Op{OpScale, OpScale, OpCreate, OpMark, OpRemove, OpDrop}
	for range d.Many("late", 0, 4) {
		s.fates = append(s.fates, simFate{
			op: writes[d.IntN(len(writes))], from: schedule.Moment(d, simChaos), times: [...]int{1, 1, 2, 5}[d.IntN(4)], kind: faultLate,
			pick: 1, takes: schedule.OneOf(d, time.Second, 1, 5, 30), late: schedule.OneOf(d, time.Second, 10, 45, 2, 120),
		})
	}
	for range d.Many("gaps", 0, 2) {
		g := simGap{Gap: schedule.Gap{From: schedule.Moment(d, simChaos), Length: schedule.OneOf(d, time.Second, 10, 5, 30)}}
		g.pools, g.instances = d.IntN(2) == 0, d.IntN(3) > 0
		g.Share = 1 + d.IntN(2)
		s.gaps = append(s.gaps, g)
	}
	if len(s.gaps) > 0 {
		s.keepListsRight()
	}
	s.holderLag, s.aliveLag = schedule.OneOf(d, time.Second, 0, 2, 10), schedule.OneOf(d, time.Second, 0, 2, 10)
	if d.IntN(6) == 5 {
		s.maxNodes = 1 + d.IntN(8)
	}
	if d.IntN(3) == 2 {
		s.poolSize = 2 + d.IntN(3)
	}
	if d.IntN(3) == 2 {
		for range d.Many("more lives", 1, 16) {
			s.lives = append(s.lives, drawLife(d, s, len(s.lives)))
		}
	}
	for range d.Many("more steps", 0, 3) {
		step := simStep{at: schedule.Moment(d, simChaos), pick: d.IntN(64), edit: editRecycle}
		step.kind = [...]simStepKind{stepEdit, stepUnjoined, stepJoined}[d.IntN(3)]
		s.steps = append(s.steps, step)
	}
}

// widen adds a ceiling on the price, bounds that are hardly above what they bound, and late
// writes that the process has waited for in vain. It draws from dice of its own, so that a seed has the same schedule without it.
func (s *simSchedule) widen() *simSchedule {
	d := simSeed{rand.New(rand.NewPCG(s.seed, 19))}
	if s.calm {
		return s
	}
	if d.IntN(8) == 7 {
		s.maxPrice = float64(2 + d.IntN(10))
	}
	if d.IntN(4) == 3 {
		s.listLag = s.world.lag + time.Second
	}
	if d.IntN(4) == 3 {
		s.settleTime = s.world.stale + 100*time.Millisecond
	}
	if d.IntN(4) == 3 {
		s.lateEffect = schedule.OneOf(d, time.Second, 10, 30, 1)
	}
	for i := range s.fates {
		f := &s.fates[i]
		if f.kind == faultLate && d.IntN(4) == 3 {
			f.takes = tuning.WriteTimeout
		}
		f.late = min(f.late, s.latest())
		if f.kind == faultWithoutEffect && f.op == OpMark && s.holderLag > 0 {
			f.kind = faultNoEffect // until the caller's own records show the claim, it would be in none
		}
	}
	return s
}

// settle is how far a direct read may lag at most.
func (s *simHarshness) settle() time.Duration { return cmp.Or(s.settleTime, 4*time.Second) }

// latest is how long after its failure a write may take effect.
func (s *simHarshness) latest() time.Duration { return cmp.Or(s.lateEffect, 2*time.Minute) }

// keepListsRight takes away what lists lack: together with a group of wrong 404s
// it would be proof.
func (s *simSchedule) keepListsRight() {
	for i := range s.fates {
		if f := &s.fates[i]; f.kind == faultLacksOne || f.kind == faultEmpty {
			f.kind = faultFails
		}
	}
	for i := range s.steps {
		if e := &s.steps[i].edit; *e == editRename || *e == editStripAll {
			*e = editPowerOff
		}
	}
}

func drawSchedule(d simDice) *simSchedule {
	s := &simSchedule{
		calm: d.IntN(3) == 0, enterprise: d.IntN(2) == 1, known: d.IntN(4) > 0,
		world: drawWeather(d),
	}
	s.known = true
	// One third has exact lists, so that purchases are exact under faults too.
	if s.calm || d.IntN(2) == 0 {
		s.world.lag = min(s.world.lag, 3*time.Second)
	}
	for i := range d.Many("lives", 1, 8) {
		s.lives = append(s.lives, drawLife(d, s, i))
	}
	if s.calm {
		s.world.room, s.world.stale = 0, 0
		return s
	}
	for range d.Many("steps", 0, 5) {
		s.steps = append(s.steps, drawStep(d, s))
	}
	for range d.Many("fates", 0, 4) {
		s.fates = append(s.fates, drawFate(d, s))
	}
	return s
}

func drawWeather(d simDice) simWeather {
	ids := [...][2]int{{5, 5}, {1, 3}, {2, 10}, {30, 30}, {5, 60}}[d.IntN(5)]
	w := simWeather{
		stale:   schedule.OneOf(d, time.Millisecond, 0, 1500, 3900),
		lag:     schedule.OneOf(d, time.Second, 0, 1, 3, 10, 30, 119),
		latency: schedule.OneOf(d, time.Millisecond, 80, 300, 2000),
		idLeast: time.Duration(ids[0]) * time.Second, idMost: time.Duration(ids[1]) * time.Second,
		repairs:   d.IntN(2) == 0,
		orphanTTL: schedule.OneOf(d, time.Minute, 5, 1),
	}
	if d.IntN(8) == 7 {
		w.room, w.full = 2+d.IntN(5), [...]claims.Kind{claims.KindQuotaExceeded, claims.KindInsufficientCapacity}[d.IntN(2)]
	}
	return w
}

func drawLife(d simDice, s *simSchedule, i int) simLife {
	l := simLife{
		key: d.IntN(1 + min(i, 2)), at: schedule.Moment(d, simChaos),
		patience: schedule.OneOf(d, time.Second, 60, 5, 20, 180),
		again:    time.Duration(1+d.IntN(20)) * time.Second,
	}
	if i > 0 && d.IntN(3) > 0 {
		// Part of the burst of the one before.
		l.at = s.lives[i-1].at + time.Duration(d.IntN(1500))*time.Millisecond
	}
	if d.IntN(3) == 1 {
		l.keeps = time.Duration(1+d.IntN(200)) * time.Second
	}
	if s.calm {
		return l
	}
	l.forgets, l.heir = d.IntN(6) == 1, d.IntN(6) == 1
	if d.IntN(6) == 1 {
		l.quits = time.Duration(1+d.IntN(60)) * time.Second
	}
	return l
}

func drawStep(d simDice, s *simSchedule) simStep {
	step := simStep{at: schedule.Moment(d, simChaos)}
	if d.IntN(3) == 1 {
		step.kind = stepDeath
		step.gap = schedule.OneOf(d, time.Second, 1, 5, 16)
		step.clock = time.Duration(d.IntN(1800)-900) * time.Second * time.Duration(d.IntN(2))
		return step
	}
	step.edit, step.pick = simEdit(d.IntN(int(editKinds))), d.IntN(64)
	if !s.known && (step.edit == editStripClaim || step.edit == editStripAll || step.edit == editCopyClaim) {
		// A claim that is nowhere else cannot be known once its tag is gone.
		step.edit = editRename
	}
	return step
}

func drawFate(d simDice, s *simSchedule) simFate {
	ops := [...]Op{OpScale, OpCreate, OpMark, OpRemove, OpDrop, OpListPools, OpListInstances, OpGetPool, OpGetInstance}
	f := simFate{
		op: ops[d.IntN(len(ops))], from: schedule.Moment(d, simChaos), times: [...]int{1, 1, 2, 3, 40}[d.IntN(5)], pick: d.IntN(64),
		takes: schedule.OneOf(d, time.Second, 1, 5, 30, 60, 600),
	}
	if f.op.Write() {
		f.kind = writeFaults[d.IntN(len(writeFaults))]
	} else {
		f.kind = readFaults[d.IntN(len(readFaults))]
	}
	if f.kind == faultWithoutEffect && f.op == OpMark && !s.known {
		f.kind = faultNoEffect
	}
	return f
}
