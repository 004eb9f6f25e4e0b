package core_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/claimstest/schedule"
	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi"
	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi/internal/core"
)

// life is one random life of a cluster: a platform, the core of one process after another, claimants, and what goes wrong.
type life struct {
	agenda   *schedule.Agenda
	random   *rand.Rand
	platform *platform
	cfg      clusterapi.Config
	scene    scene

	core *core.Core
	// process counts take-overs; an answer to an earlier process answers no call.
	process int
	token   int
	waiting map[int]func(core.Answer)
	ticks   int

	claimants []*claimant
	// needs counts the Machines that claimants needed, excuses counts the Machines that may exist beside them, by cause.
	needs   int
	excuses map[string]int
	quiet   bool // nothing goes wrong any more
	trace   *[]string
	landed  map[clusterapi.Op]int
}

// scene has the parameters that a seed draws.
type scene struct {
	deployments int
	claimants   int
	horizon     time.Duration
	// Chances in percent of a write: refused without effect, answered late or not, landing after its failure.
	lost, late int
	outage     bool
	takeovers  int
	hands      int // edits by hand
	autoscaler bool
	templates  int // new templates
	failures   int // machines that cannot be made
}

type claimant struct {
	id          claims.Claimant
	deployments []string
	// born claimants exist, released ones are being deleted, dead ones are gone.
	born, releasing, dead bool
	given                 string // UID of the Machine that it was given
	kept                  time.Duration
}

func newLife(seed uint64, trace *[]string) *life {
	random := rand.New(rand.NewPCG(seed, 27))
	l := &life{agenda: &schedule.Agenda{}, random: random, waiting: map[int]func(core.Answer){}, excuses: map[string]int{}, trace: trace,
		landed: map[clusterapi.Op]int{}}
	l.platform = &platform{agenda: l.agenda, random: random}
	l.platform.deleted = l.deleted
	l.scene = scene{deployments: 1 + random.IntN(3), claimants: 1 + random.IntN(12), horizon: time.Duration(30+random.IntN(300)) * time.Second}
	if seed%4 != 0 { // every fourth is without faults
		l.scene.lost, l.scene.late = random.IntN(30), random.IntN(20)
		l.scene.outage, l.scene.autoscaler = random.IntN(3) == 0, random.IntN(4) == 0
		l.scene.takeovers, l.scene.hands = random.IntN(3), random.IntN(4)
		l.scene.templates, l.scene.failures = random.IntN(3), random.IntN(4)
	}
	l.cfg = clusterapi.Config{Holder: l.holder}.WithDefaults()
	return l
}

func (l *life) now() time.Time { return time.Unix(0, int64(l.agenda.Now)).UTC() }

func (l *life) note(format string, args ...any) {
	if l.trace != nil {
		*l.trace = append(*l.trace, fmt.Sprintf("%9.3f ", l.agenda.Now.Seconds())+fmt.Sprintf(format, args...))
	}
}

func (l *life) violated(format string, args ...any) {
	l.platform.violation = cmp.Or(l.platform.violation, fmt.Sprintf(format, args...))
	l.note("VIOLATION "+format, args...)
}

// holder returns the claimant whose status names a machine, from a record that is complete.
func (l *life) holder(providerID string) (claims.Claimant, bool) {
	for _, c := range l.claimants {
		if c.given != "" && !c.dead && "linode://"+c.given == providerID {
			return c.id, true
		}
	}
	return claims.Claimant{}, false
}

// run plays the life and returns the first violation.
func (l *life) run() string {
	var names []string
	for i := range l.scene.deployments {
		names = append(names, l.platform.add(fmt.Sprintf("d%d", i), true).name)
	}
	l.platform.add("foreign", false)
	l.core = core.New(l.cfg)
	for i := range l.scene.claimants {
		c := &claimant{id: claims.Claimant{Name: fmt.Sprintf("claim-%d", i), UID: fmt.Sprintf("u%d", i)}, kept: l.between(0, l.scene.horizon)}
		c.deployments = slices.Clone(names[l.random.IntN(len(names)):])
		l.claimants = append(l.claimants, c)
		l.agenda.After(l.between(0, l.scene.horizon), func() { l.born(c) })
	}
	l.trouble()
	l.agenda.After(l.between(0, time.Minute), l.sweep)
	l.agenda.After(l.scene.horizon, func() {
		l.quiet = true
		l.note("quiet")
	})
	end := l.scene.horizon + 30*time.Minute
	for l.platform.violation == "" && l.agenda.Step(end) {
	}
	if l.platform.violation == "" {
		l.atRest()
	}
	return l.platform.violation
}

func (l *life) between(low, high time.Duration) time.Duration { return l.platform.between(low, high) }

// trouble puts what goes wrong on the agenda.
func (l *life) trouble() {
	for range l.scene.takeovers {
		l.agenda.After(l.between(0, l.scene.horizon), l.takeOver)
	}
	for range l.scene.hands {
		l.agenda.After(l.between(0, l.scene.horizon), l.edit)
	}
	for range l.scene.templates {
		l.agenda.After(l.between(0, l.scene.horizon), func() {
			d := l.pool()
			d.revision, d.generation = d.revision+1, d.generation+1
			l.platform.changedDeployment(d)
			l.excuses["template"] += 2 * len(l.claimants)
			l.note("template of %s: revision %d", d.name, d.revision)
		})
	}
	for range l.scene.failures {
		l.agenda.After(l.between(0, l.scene.horizon), func() { l.pool().failing++ })
	}
	if l.scene.autoscaler {
		for range 3 {
			l.agenda.After(l.between(0, l.scene.horizon), l.autoscale)
		}
	}
}

func (l *life) pool() *deployment { return l.platform.pools[l.random.IntN(l.scene.deployments)] }

// autoscale is another autoscaler on the same deployment: it raises the count, or marks a Machine and lowers it.
func (l *life) autoscale() {
	d := l.pool()
	if l.random.IntN(2) == 0 {
		d.replicas += 1 + l.random.IntN(2)
		l.excuses["autoscaler"] += 2
	} else if d.replicas > 0 {
		d.replicas--
		d.foreign += 1 + len(d.sets)
		l.excuses["autoscaler"] += 2 + len(d.sets)
	}
	d.generation++
	l.platform.changedDeployment(d)
	l.note("autoscaler: %s replicas %d", d.name, d.replicas)
}

// edit is a user who edits a Machine.
func (l *life) edit() {
	all := slices.DeleteFunc(l.platform.machines(), func(m *machine) bool { return m.deleting })
	if len(all) == 0 {
		return
	}
	m := all[l.random.IntN(len(all))]
	l.excuses["hand"]++
	switch l.random.IntN(4) {
	case 0:
		l.note("hand: claim of %s removed", m.name)
		m.claim = ""
		l.platform.touched(m)
	case 1:
		l.note("hand: %s deleted", m.name)
		l.platform.delete(m, "hand")
	case 2:
		if m.mark == "" {
			l.note("hand: %s marked", m.name)
			m.mark, m.handMarked, m.handUnmarked = "true", l.agenda.Now, time.Hour
			l.platform.touched(m)
			l.agenda.After(l.between(time.Second, time.Minute), func() {
				if m.mark == "true" {
					m.mark, m.handUnmarked = "", l.agenda.Now
					l.platform.touched(m)
				}
			})
		}
	case 3:
		l.note("hand: version of %s changed", m.name)
		l.platform.touched(m)
	}
}

// takeOver ends the process, with its writes under way, and starts another one.
func (l *life) takeOver() {
	l.note("take-over")
	l.process++
	l.waiting = map[int]func(core.Answer){}
	l.core = core.New(l.cfg)
	l.excuses["take-over"] += len(l.claimants)
	for _, c := range l.claimants {
		if c.born && !c.dead {
			l.agenda.After(l.between(0, 5*time.Second), func() { l.resume(c) })
		}
	}
	l.agenda.After(l.between(0, time.Minute), l.sweep)
}

// handle passes an event to the core and carries out its actions.
func (l *life) handle(e core.Event) {
	for _, a := range l.core.Handle(e, l.now()) {
		switch a.Op {
		case core.ActionAnswer:
			if to, waits := l.waiting[a.Token]; waits {
				delete(l.waiting, a.Token)
				l.agenda.After(0, func() { to(a.Answer) })
			}
		case core.ActionRead:
			l.read(a)
		case core.ActionWrite:
			l.send(a)
		}
	}
	l.ticks++
	if wake := l.core.Wake(); !wake.IsZero() {
		tick, process := l.ticks, l.process
		l.agenda.After(wake.Sub(l.now()), func() {
			if tick == l.ticks && process == l.process {
				l.handle(core.Tick{})
			}
		})
	}
}

var errDown = &claims.Error{Kind: claims.KindUnavailable, Op: "read", Err: errors.New("no answer")}

func (l *life) down() bool {
	return l.scene.outage && !l.quiet && l.agenda.Now > l.scene.horizon/3 && l.agenda.Now < l.scene.horizon/2
}

// read reads deployments and then Machines, in the order that a Backend guarantees.
func (l *life) read(a core.Action) {
	process := l.process
	ends := func(e core.Read) {
		if process == l.process {
			l.handle(e)
		}
	}
	if l.down() || !l.quiet && l.random.IntN(100) < l.scene.lost/4 {
		l.agenda.After(l.between(time.Millisecond, 10*time.Second), func() { ends(core.Read{Err: errDown, Epoch: a.Epoch}) })
		return
	}
	var w clusterapi.World
	l.agenda.After(l.between(time.Millisecond, 100*time.Millisecond), func() { w.Deployments = l.platform.deploymentsAsRead() })
	l.agenda.After(l.between(100*time.Millisecond, 250*time.Millisecond), func() { w.Machines = l.platform.machinesAsRead() })
	l.agenda.After(l.between(250*time.Millisecond, 400*time.Millisecond), func() { ends(core.Read{World: w, Epoch: a.Epoch}) })
}

// send draws the fate of a write: done; lost before or after its effect; or landing after its failure was reported.
func (l *life) send(a core.Action) {
	process := l.process
	answer := func(after time.Duration, err error) {
		l.agenda.After(after, func() {
			if process == l.process {
				l.note("  answer %s %s: %v", a.Write.Op, a.Write.Object, err)
				l.handle(core.Written{Write: a.Write, Err: err, Epoch: a.Epoch})
			}
		})
	}
	l.note("write %s %s version %s value %q replicas %d (%s)", a.Write.Op, a.Write.Object, a.Write.ResourceVersion, a.Write.Value,
		a.Write.Replicas, a.Write.Reason)
	unknown := &claims.Error{Kind: claims.KindUnavailable, Op: string(a.Write.Op), Err: errors.New("no answer")}
	decided := l.agenda.Now - 400*time.Millisecond // when its reading began
	sent, draw := l.between(time.Millisecond, 150*time.Millisecond), l.random.IntN(100)
	if l.quiet {
		draw = 99
	}
	switch {
	case l.down() || draw < l.scene.lost/2:
		answer(l.between(sent, 10*time.Second), unknown)
	case draw < l.scene.lost:
		l.agenda.After(sent, func() { _ = l.land(a.Write, decided) })
		answer(sent+l.between(time.Millisecond, 10*time.Second), unknown)
	case draw < l.scene.lost+l.scene.late:
		answered := l.between(sent, 10*time.Second)
		l.agenda.After(schedule.Lands(l.random, answered, 2*time.Minute), func() { _ = l.land(a.Write, decided) })
		answer(answered, unknown)
	default:
		l.agenda.After(sent, func() { answer(l.between(time.Millisecond, 100*time.Millisecond), l.land(a.Write, decided)) })
	}
}

// land carries out a write and checks what it did.
func (l *life) land(w clusterapi.Write, decided time.Duration) error {
	err := l.platform.land(w)
	if err == nil {
		l.landed[w.Op]++
	}
	for _, d := range l.platform.pools {
		if err == nil && d.name == w.Object && w.Bought == 0 {
			d.lowered = decided
		}
	}
	l.note("  lands %s %s: %v", w.Op, w.Object, err)
	if err == nil && w.Op == clusterapi.OpRelease {
		l.checkMark(w.Object)
	}
	if err == nil && w.Op == clusterapi.OpClaim {
		l.check()
	}
	return err
}

// checkMark: no Machine of a live claimant is marked, unless it released it or the Machine failed.
func (l *life) checkMark(name string) {
	for _, m := range l.platform.machines() {
		if m.name != name || m.claim == "" || m.failed {
			continue
		}
		if c := l.claimantOf(m); c != nil && c.born && !c.dead && !c.releasing {
			l.violated("I6: %s of %s is marked, which did not release it", m.name, c.id.Name)
		}
	}
}

func (l *life) claimantOf(m *machine) *claimant {
	for _, c := range l.claimants {
		if clusterapi.ClaimValue(c.id) == m.claim || m.claim == "" && c.given == m.uid {
			return c
		}
	}
	return nil
}

// deleted checks a Machine that begins to be deleted.
func (l *life) deleted(m *machine, by string) {
	c := l.claimantOf(m)
	l.note("  deletes %s of %q by %s", m.name, m.claim, by)
	// A mark that came after the reading, or that the controller's cache may still show, is nothing that the engine can see.
	unseen := m.handUnmarked > 0 && (m.handMarked >= m.pool.lowered || m.handUnmarked < time.Hour &&
		l.agenda.Now-m.handUnmarked < 3*time.Second+2*cacheLag)
	if by == "hand" || unseen || m.pool.foreign > 0 && m.mark != clusterapi.ReleasedValue {
		m.pool.foreign = max(0, m.pool.foreign-1)
		if c != nil && c.given == m.uid {
			c.given = ""
			if c.born && !c.dead && !c.releasing {
				l.agenda.After(l.between(0, 5*time.Second), func() { l.resume(c) })
			}
		}
		return
	}
	if c != nil && c.born && !c.dead && !c.releasing && !m.failed {
		l.violated("I6: %s of %s is deleted, which did not release it", m.name, c.id.Name)
	}
}

// check holds after every claim: no claimant has two Machines.
func (l *life) check() {
	if l.platform.violation != "" {
		return
	}
	held := map[string]string{}
	for _, m := range l.platform.machines() {
		if m.claim == "" || m.deleting || m.mark == clusterapi.ReleasedValue {
			continue
		}
		if other, twice := held[m.claim]; twice {
			l.violated("I2: %s has %s and %s", m.claim, other, m.name)
		}
		held[m.claim] = m.name
	}
}

// atRest holds when nothing has gone wrong for 30 minutes: each live claimant has its Machine, and there is no other one.
func (l *life) atRest() {
	live := 0
	for _, c := range l.claimants {
		if c.born && !c.dead {
			live++
			if c.given == "" {
				l.violated("I10: %s was not served", c.id.Name)
			}
		}
	}
	machines, replicas := l.platform.machines(), 0
	for _, d := range l.platform.pools {
		replicas += d.replicas
		if d.pauseAnnotated {
			l.violated("I3: %s is paused at rest", d.name)
		}
	}
	if len(machines) != live || replicas != live {
		var names []string
		for _, m := range machines {
			names = append(names, fmt.Sprintf("%s(%s mark %q set %s)", m.name, m.claim, m.mark, m.set.name))
		}
		l.violated("I3: %d claimants live at rest, with %d Machines and %d replicas: %s", live, len(machines), replicas, strings.Join(names, " "))
	}
	excused := 0
	for _, n := range l.excuses {
		excused += n
	}
	if l.platform.made > l.needs+excused {
		l.violated("I5: %d Machines were made for %d needs, %v", l.platform.made, l.needs, l.excuses)
	}
}
