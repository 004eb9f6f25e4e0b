package decide

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/callers"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/known"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/tuning"
)

// Choice is the next step of a call, with notes for the records. The core applies the notes before it returns the step. If the choice has
// notes and no step, the core decides again.
type Choice struct {
	event.Step
	Known   []known.Note
	Callers []callers.Note
}

// Next chooses the next step of a call.
func Next(k known.View, c callers.View, call *callers.Call) Choice {
	t := &turn{known: k, callers: c, call: call, ask: call.Ask()}
	t.chosen.Step = t.next()
	return t.chosen
}

func (t *turn) next() event.Step {
	r := reader{t}
	switch t.ask.Kind {
	case event.AskCreate:
		return creator{builder{tagger{r}}}.next()
	case event.AskGet:
		return remover{tagger{r}}.get()
	case event.AskList:
		return collector{r}.list()
	case event.AskTags:
		return tagger{r}.set()
	}
	return remover{tagger{r}}.next()
}

// turn is one decision: the views that it rests on, the call that it is for, and the choice so far.
type turn struct {
	known   known.View
	callers callers.View
	call    *callers.Call
	ask     event.Ask
	chosen  Choice
}

// The parts of a decision, each of which uses the one before it: reader chooses readings, tagger writes of tags, builder the disks and
// the boot of an instance, and creator creations. remover removes and reads one instance, collector finds instances that no claimant
// needs.
type (
	reader    struct{ *turn }
	tagger    struct{ reader }
	builder   struct{ tagger }
	creator   struct{ builder }
	remover   struct{ tagger }
	collector struct{ reader }
)

// do chooses an effect.
func (t *turn) do(e event.Effect) event.Step {
	e.Term = t.known.Term()
	switch {
	case e.Op == event.OpCreate:
		e.NotAfter = t.now().Add(tuning.CreateWithin)
	case e.Op.Write():
		e.NotAfter = t.now().Add(tuning.SendWithin)
	}
	return event.Step{Effect: &e}
}

// note adds conclusions that later decisions rest on.
func (t *turn) note(notes ...known.Note) { t.chosen.Known = append(t.chosen.Known, notes...) }

func (t *turn) now() time.Time { return t.known.Now() }

// delay returns a step if a call about an instance cannot go on yet: another effect about the instance is under way, or an effect has
// failed since the call began. n is nil for an unknown instance.
func (t *turn) delay(n *known.Node) event.Step {
	if n == nil {
		return event.Step{}
	}
	if t.known.Busy(n.ID()) {
		return event.Wait(time.Time{})
	}
	if err := t.known.FailedSince(n.ID(), t.call.Seq()); err != nil {
		return event.Refuse(err)
	}
	return event.Step{}
}
