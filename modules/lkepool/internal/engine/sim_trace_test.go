package engine

import (
	"fmt"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// note writes a line of the trace.
func (s *sim) note(format string, args ...any) {
	if s.trace != nil {
		fmt.Fprintf(s.trace, "%9.3f %s\n", s.Now.Seconds(), fmt.Sprintf(format, args...))
	}
}

// describe writes an event and what followed from it.
func (s *sim) describe(event string, actions []Action) {
	if s.trace == nil {
		return
	}
	wake := "never"
	if at := s.process.core.Wake(); !at.IsZero() {
		wake = fmt.Sprintf("in %s", at.Sub(s.local()).Round(time.Millisecond))
	}
	if event != "tick" || len(actions) > 0 {
		s.note("%s, tick %s", event, wake)
	}
	for _, a := range actions {
		s.note("  -> %s", s.describeAction(a))
	}
}

// describeEvent is made before the core has it, which may not change it.
func (s *sim) describeEvent(e Event) string {
	if s.trace == nil {
		return ""
	}
	switch e := e.(type) {
	case Asked:
		return fmt.Sprintf("asked %d: %s%s", e.Token, e.Ask.Kind, describeAsk(e.Ask))
	case Left:
		return fmt.Sprintf("left %d", e.Token)
	case Done:
		return fmt.Sprintf("done: %s%s", s.describeAction(e.Action), describeDone(e))
	}
	return "tick"
}

func describeAsk(a Ask) string {
	switch a.Kind {
	case AskClaim:
		return fmt.Sprintf(" for %s, %s %s", a.Request.Claimant.Name, a.Request.Key.NodePool, a.Request.Key.InstanceType)
	case AskGet, AskRelease, AskTags:
		return fmt.Sprintf(" of instance %d by %q", a.ID, a.By.Name)
	case AskEvict:
		return fmt.Sprintf(" %v", a.Orphans)
	}
	return ""
}

func (s *sim) describeAction(a Action) string {
	text := string(a.Op)
	if a.PoolID != 0 {
		text += fmt.Sprintf(" p%d", a.PoolID)
	}
	if a.InstanceID != 0 {
		text += fmt.Sprintf(" i%d", a.InstanceID)
	}
	if a.NodeID != "" {
		text += " " + a.NodeID
	}
	switch a.Op {
	case OpScale, OpCreate:
		text += fmt.Sprintf(" count %d", a.Count)
	case OpMark:
		text += fmt.Sprintf(" for %q", simTags.ClaimIn(a.Tags).Value)
	case OpAnswer:
		text += fmt.Sprintf(" %d: instance %d, %d nodes, %v", a.Token, a.Answer.Node.InstanceID, len(a.Answer.Nodes), a.Answer.Err)
	}
	if a.Reason != "" {
		text += " (" + a.Reason + ")"
	}
	return text
}

func describeDone(d Done) string {
	if d.Err != nil {
		return fmt.Sprintf(" = %v, effect %q", d.Err, claims.EffectOf(d.Err))
	}
	text := " ="
	switch d.Action.Op {
	case OpListPools:
		for _, p := range d.Pools {
			text += describePool(p)
		}
	case OpListInstances:
		for _, i := range d.Instances {
			text += describeInstance(i)
		}
	case OpGetPool, OpCreate, OpScale:
		text += describePool(d.Pool)
	case OpGetInstance, OpMark:
		text += describeInstance(d.Instance)
	default:
		return ""
	}
	return text
}

func describePool(p lkepool.Pool) string {
	var slots []string
	for _, slot := range p.Slots {
		slots = append(slots, fmt.Sprintf("%s:%d", slot.NodeID, slot.InstanceID))
	}
	return fmt.Sprintf(" p%d[%d: %s]", p.ID, p.Count, strings.Join(slots, " "))
}

func describeInstance(i lkepool.Instance) string {
	return fmt.Sprintf(" i%d[%q %s]", i.ID, simTags.ClaimIn(i.Tags).Value, i.Status)
}

func outcome(e *simEffect) string {
	text := ""
	if e.fate.kind != faultNone {
		text = "FAULT " + e.fate.kind.String() + ": "
	}
	if e.result.Err != nil {
		return text + e.result.Err.Error()
	}
	return text + "ok"
}
