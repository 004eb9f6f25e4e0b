package engine_test

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/claims/claimstest/explore/fate"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine"
)

// Text describes a move.
func (w *smallWorld) Text(m fate.Move) string {
	at := w.now.Sub(smallEpoch).String() + " "
	switch m.Kind {
	case fate.Waits:
		return at + m.Kind.String() + " to " + w.next().Sub(smallEpoch).String()
	case moveComes:
		return at + w.claimants[m.Claimant].who.Name + " comes"
	case moveReleases:
		return at + w.claimants[m.Claimant].who.Name + " releases its node"
	case fate.Crashes, fate.Ends:
		return at + m.Kind.String()
	case fate.LandsLate:
		return at + describe(w.requests.Late[m.Request].Action) + " " + m.Kind.String()
	}
	r := &w.requests.Under[m.Request]
	text := at + describe(r.Action) + " " + m.Kind.String()
	if m.Kind == fate.Shows {
		views := w.views(r)
		text += " " + strconv.Itoa(len(views)-1-m.View) + " versions ago: " + describeView(r.Action, views[m.View].State)
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
func describeView(a engine.Action, s *smallState) string {
	d := s.read(a)
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
