package decide

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/callers"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/known"
)

// Decider decides what to do, from the record and the waiting callers.
type Decider struct {
	turn    *turn
	create  *creator
	build   *builder
	remove  *remover
	tags    *tagger
	collect *collector
}

// turn holds the facts that all decisions read.
type turn struct {
	known   *known.Known
	callers *callers.Callers
}

// New decides over the record, for the callers.
func New(known *known.Known, waiting *callers.Callers) *Decider {
	t := &turn{known: known, callers: waiting}
	r := &reader{turn: t}
	tags := &tagger{r}
	build := &builder{turn: t, tags: tags}
	collect := &collector{r}
	return &Decider{
		turn: t, build: build, tags: tags, collect: collect,
		create: &creator{reader: r, build: build, tags: tags},
		remove: &remover{reader: r, tags: tags, collect: collect},
	}
}

// Next returns the next step of a call.
func (d *Decider) Next(call *callers.Call) event.Step {
	switch call.Ask.Kind {
	case event.AskCreate:
		return d.create.next(call)
	case event.AskGet:
		return d.remove.get(call)
	case event.AskList:
		return d.collect.list(call)
	case event.AskTags:
		return d.tags.set(call)
	}
	return d.remove.next(call)
}

// do notes an effect that begins.
func (t *turn) do(e event.Effect) event.Step {
	t.known.Start(&e)
	return event.Step{Effect: &e}
}

func (t *turn) now() time.Time { return t.known.Now }

// node returns an instance of this cluster, nil if none is known.
func (t *turn) node(id int) *known.Node { return t.known.World.Nodes[id] }

// delay returns why a call about an instance cannot go on yet: another effect about it is
// under way, or one since the call's beginning failed.
func (t *turn) delay(call *callers.Call, n *known.Node) event.Step {
	switch {
	case n == nil:
		return event.Step{}
	case t.known.Busy[n.InstanceID]:
		return event.Wait(time.Time{})
	case n.Failed > call.Seq:
		return event.Refuse(n.Cause)
	}
	return event.Step{}
}
