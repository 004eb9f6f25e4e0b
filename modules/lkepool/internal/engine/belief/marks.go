package belief

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/tuning"
)

// marks are the writes of claims to all instances together.
type marks struct {
	// Err is why the API refused one as forbidden or invalid, nil if it did not;
	// then one is tried at next, and after pauses that grow.
	Err   error
	pause time.Duration
	Next  time.Time
	// quarantined counts the instances that were quarantined since one was marked.
	quarantined int
}

// General reports whether it is not a single instance that cannot be marked:
// others would not do better.
func (m marks) General() bool { return m.quarantined >= tuning.QuarantineLimit }

// failed counts an attempt to claim the node that failed.
func (m *marks) failed(n *Node, now time.Time) {
	if n.Claim.Failed++; n.Claim.Failed == tuning.MarkAttempts {
		m.quarantined++
		m.longer(now)
	}
}

// refused follows a mark that the API refused as forbidden or invalid.
func (m *marks) refused(err error, now time.Time) {
	if m.Err == nil || !now.Before(m.Next) {
		m.longer(now)
	}
	m.Err = err
}

// longer doubles the pause before the next attempt.
func (m *marks) longer(now time.Time) {
	m.pause = min(max(2*m.pause, tuning.FirstProbe), tuning.LongestProbe)
	m.Next = now.Add(m.pause)
}
