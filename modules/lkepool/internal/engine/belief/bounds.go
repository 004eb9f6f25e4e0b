package belief

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims/absence"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/event"
)

// bounds are how much out of date readings may be.
func (t *terms) bounds() absence.Bounds {
	return absence.Bounds{Settle: t.cfg.SettleTime, Lag: t.cfg.ListLag}
}

// direct returns the evidence of a direct read for the existence of its object. The function listing returns the evidence of a list.
func (t *terms) direct(d event.Done, shows bool) absence.Fact {
	return absence.Fact{Began: d.Began, Answered: t.now, Direct: true, Shows: shows}
}

func (t *terms) listing(d event.Done, shows bool) absence.Fact {
	return absence.Fact{Began: d.Began, Answered: t.now, Shows: shows}
}

// Settled reports whether a direct read that began then shows a write of at.
func (t *terms) Settled(began, at time.Time) bool { return t.shows(began, at, true) }

// shows reports whether a reading that began then shows a write of at.
func (t *terms) shows(began, at time.Time, direct bool) bool {
	return absence.Fact{Began: began, Direct: direct}.Covers(at, t.bounds())
}

// listed reports whether a list that began then shows a write of at.
func (t *terms) listed(began, at time.Time) bool { return t.shows(began, at, false) }

// Attributed reports whether a reading of the instance's tags shows all claims that were
// answered to the process before.
func (t *terms) Attributed(n *Node) bool {
	return t.listed(n.Tagged, t.StartedAt) || n.Vouched && t.Settled(n.Direct.Began, t.StartedAt)
}

// Latest returns the later of two times.
func Latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
