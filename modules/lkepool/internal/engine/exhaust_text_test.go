package engine_test

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine"
)

// Text describes a move.
func (w *smallWorld) Text(m smallMove) string {
	at := w.now.Sub(smallEpoch).String() + " "
	switch m.kind {
	case moveWait:
		return at + "time passes to " + w.next().Sub(smallEpoch).String()
	case moveComes, moveReleases:
		return at + w.claimants[m.claimant].who.Name + [...]string{moveComes: " comes", moveReleases: " releases its node"}[m.kind]
	case moveCrashes:
		return at + "the process dies, another leads"
	case moveEnds:
		return at + "the process ends cleanly, another leads"
	case moveLandsLate:
		return at + "LATE: " + describe(w.late[m.effect].action)
	}
	e := w.under[m.effect]
	text := at + describe(e.action) + [...]string{
		moveShows: " shows ", moveLands: " takes effect", moveAnswers: " is answered", moveFails: " FAILS without effect",
		moveLosesAnswer: " LOSES its answer", moveIsLate: " IS NOT ANSWERED and may take effect later", moveMissing: " is answered 404 WRONGLY",
		moveIsSlow: " is SLOW",
	}[m.kind]
	if m.kind == moveShows {
		views := w.viewsOf(&e)
		text += strconv.Itoa(len(views)-1-m.view) + " versions ago: " + describeView(e.action, views[m.view])
	}
	return text
}

func describe(a engine.Action) string {
	text := string(a.Op)
	if a.PoolID != 0 {
		text += " pool " + strconv.Itoa(a.PoolID)
	}
	if a.InstanceID != 0 {
		text += " instance " + strconv.Itoa(a.InstanceID)
	}
	if a.Count != 0 {
		text += " count " + strconv.Itoa(a.Count)
	}
	if who := smallTags.ClaimIn(a.Tags); !who.None() {
		text += " for " + who.Value
	}
	return text + " (" + a.Reason + ")"
}

// describeView describes what a read shows.
func describeView(a engine.Action, v smallView) string {
	d := v.read(a)
	if d.Err != nil {
		return "404"
	}
	var text []string
	for _, p := range append(d.Pools, d.Pool) {
		if p.ID != 0 {
			text = append(text, fmt.Sprint("pool ", p.ID, " count ", p.Count, " ", p.Slots))
		}
	}
	for _, i := range append(d.Instances, d.Instance) {
		if i.ID != 0 {
			text = append(text, fmt.Sprint(i.ID, " ", i.Status, " of ", smallTags.ClaimIn(i.Tags).Value))
		}
	}
	return strings.Join(text, ", ")
}
