package core

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims/claimstest/schedule"
)

// simAgenda is an agenda whose time is a date.
type simAgenda struct {
	schedule.Agenda
	start, now time.Time
}

func (a *simAgenda) after(wait time.Duration, run func()) {
	a.After(wait, func() {
		a.now = a.start.Add(a.Now)
		run()
	})
}

// step advances the time to the next event and runs it, unless that is after end.
func (a *simAgenda) step(end time.Time) bool { return a.Step(end.Sub(a.start)) }
