package known

import (
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/tuning"
)

// Write contains the writes to one instance that may still take effect.
type Write struct {
	// condemned: a removal was sent that the platform may have accepted, in term. The
	// removal is repeated until the instance is gone.
	condemned bool
	term      int
	// Tags were sent without an answer, last at sent. repeated: more than once, so that
	// a reading does not show which of them it is of.
	Tags     []string
	sent     time.Time
	repeated bool
	// disks contains labels of disks that were requested without an answer, and until
	// when each may still be made.
	disks map[string]time.Time
	// Until is the end of the time in which any of the writes may take effect.
	Until time.Time
	polls int
	look  time.Time
}

// open reports whether the writes to an instance (nil: an unknown instance) still count when
// none of them may take effect any more: a removal is repeated until the instance is gone,
// and only a list that began later shows whether disks were made.
func (u *Write) open(n *Node) bool {
	return n != nil && (u.condemned || len(u.disks) > 0 && n.Build.Listed.Before(u.Until))
}

// Frozen reports whether tags may not be written yet, because others were sent that
// may still take effect, after these.
func (w *World) Frozen(n *Node, tags []string) bool {
	u := w.Writes[n.InstanceID]
	return u != nil && u.Tags != nil && w.Now.Before(u.Until) && !slices.Equal(u.Tags, tags)
}

// Repeat notes that tags are sent once more.
func (u *Write) Repeat() {
	if u != nil {
		u.repeated = true
	}
}

// LookAgain returns when the tags of an instance are read next, at growing intervals.
func (u *Write) LookAgain(now time.Time) time.Time {
	if !now.Before(u.look) {
		u.look = now.Add(tuning.Growing(tuning.FirstPoll, tuning.LongestPoll, u.polls))
		u.polls++
		if u.Until.Before(u.look) {
			u.look = u.Until
		}
	}
	return u.look
}

// LooksAt returns the time of the next reading of an instance whose tags may still
// change.
func (w *World) LooksAt(id int) time.Time {
	if u := w.Writes[id]; u != nil && u.Tags != nil && w.Now.Before(u.Until) {
		return u.look
	}
	return time.Time{}
}

// Comes returns until when a disk may still be made by a request without an answer,
// which is not repeated before: a label of a disk is not unique.
func (w *World) Comes(n *Node, label string) time.Time {
	if u := w.Writes[n.InstanceID]; u != nil {
		return u.disks[label]
	}
	return time.Time{}
}
