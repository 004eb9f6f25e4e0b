package belief

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/tuning"
)

// Settled reports whether a direct read that began then shows a write of at.
func (t *terms) Settled(began, at time.Time) bool { return settled(began, at, t.cfg.SettleTime) }

// shows reports whether a reading that began then shows a write of at.
func (t *terms) shows(began, at time.Time, direct bool) bool {
	if direct {
		return t.Settled(began, at)
	}
	return listed(began, at)
}

func settled(began, at time.Time, settle time.Duration) bool { return !began.Before(at.Add(settle)) }

// listed reports the same of a list.
func listed(began, at time.Time) bool { return !began.Before(at.Add(tuning.ListLag)) }

func Latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
