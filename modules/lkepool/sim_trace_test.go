package lkepool

import (
	"fmt"
	"strings"
	"time"
)

// note writes a line of the trace.
func (s *sim) note(format string, args ...any) {
	if s.trace != nil {
		fmt.Fprintf(s.trace, "%9.3f %s\n", s.now.Seconds(), fmt.Sprintf(format, args...))
	}
}

// describe writes an event and what followed from it.
func (s *sim) describe(event string, actions []action) {
	if s.trace == nil {
		return
	}
	wake := "never"
	if at := s.process.core.wake(); !at.IsZero() {
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
func (s *sim) describeEvent(e event) string {
	if s.trace == nil {
		return ""
	}
	switch e := e.(type) {
	case asked:
		return fmt.Sprintf("asked %d: %s%s", e.token, e.ask.kind, describeAsk(e.ask))
	case left:
		return fmt.Sprintf("left %d", e.token)
	case done:
		return fmt.Sprintf("done: %s%s", s.describeAction(e.action), describeDone(e))
	}
	return "tick"
}

func describeAsk(a ask) string {
	switch a.kind {
	case askClaim:
		return fmt.Sprintf(" for %s, %s %s", a.request.Claimant.Name, a.request.Key.NodePool, a.request.Key.InstanceType)
	case askGet, askRelease, askTags:
		return fmt.Sprintf(" of instance %d by %q", a.id, a.by.Name)
	case askEvict:
		return fmt.Sprintf(" %v", a.orphans)
	}
	return ""
}

func (s *sim) describeAction(a action) string {
	text := string(a.op)
	if a.poolID != 0 {
		text += fmt.Sprintf(" p%d", a.poolID)
	}
	if a.instanceID != 0 {
		text += fmt.Sprintf(" i%d", a.instanceID)
	}
	if a.nodeID != "" {
		text += " " + a.nodeID
	}
	switch a.op {
	case opScale, opCreate:
		text += fmt.Sprintf(" count %d", a.count)
	case opMark:
		text += fmt.Sprintf(" for %q", claimIn(a.tags).value)
	case opAnswer:
		text += fmt.Sprintf(" %d: instance %d, %d nodes, %v", a.token, a.answer.node.InstanceID, len(a.answer.nodes), a.answer.err)
	}
	if a.reason != "" {
		text += " (" + a.reason + ")"
	}
	return text
}

func describeDone(d done) string {
	if d.err != nil {
		return fmt.Sprintf(" = %v, effect %q", d.err, effectOf(d.err))
	}
	text := " ="
	switch d.action.op {
	case opListPools:
		for _, p := range d.pools {
			text += describePool(p)
		}
	case opListInstances:
		for _, i := range d.instances {
			text += describeInstance(i)
		}
	case opGetPool, opCreate, opScale:
		text += describePool(d.pool)
	case opGetInstance, opMark:
		text += describeInstance(d.instance)
	default:
		return ""
	}
	return text
}

func describePool(p Pool) string {
	var slots []string
	for _, slot := range p.Slots {
		slots = append(slots, fmt.Sprintf("%s:%d", slot.NodeID, slot.InstanceID))
	}
	return fmt.Sprintf(" p%d[%d: %s]", p.ID, p.Count, strings.Join(slots, " "))
}

func describeInstance(i Instance) string {
	return fmt.Sprintf(" i%d[%q %s]", i.ID, claimIn(i.Tags).value, i.Status)
}

func outcome(e *simEffect) string {
	text := ""
	if e.fate.kind != faultNone {
		text = "FAULT " + e.fate.kind.String() + ": "
	}
	if e.result.err != nil {
		return text + e.result.err.Error()
	}
	return text + "ok"
}
