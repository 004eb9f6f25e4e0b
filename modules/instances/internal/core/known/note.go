package known

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
)

// Note is a conclusion of a decision that later decisions rest on. The decision itself changes nothing: see [Known.Apply].
type Note struct{ apply func(*Known) }

// Apply applies the conclusions of a decision.
func (k *Known) Apply(notes []Note) {
	for _, n := range notes {
		n.apply(k)
	}
}

// ofPurchase returns a note that changes the record of the creations for a claimant.
func ofPurchase(who claims.ClaimID, change func(*Purchase)) Note {
	return Note{func(k *Known) {
		if p, known := k.purchases.Get(who); known {
			change(p)
		}
	}}
}

// NotMade notes that a search did not find the label of a creation without an answer.
func NotMade(who claims.ClaimID) Note {
	return ofPurchase(who, func(p *Purchase) { p.ambiguous = time.Time{} })
}

// Resolved notes that it is known who has the label.
func Resolved(who claims.ClaimID) Note { return ofPurchase(who, (*Purchase).resolved) }

// NotShown notes that no list shows who has the label, although a list had to show it.
func NotShown(who claims.ClaimID) Note {
	return ofPurchase(who, func(p *Purchase) {
		p.resolved()
		p.unshown = true
	})
}

// Freed notes that the instance no longer has the label.
func Freed(who claims.ClaimID) Note { return ofPurchase(who, func(p *Purchase) { p.labelOwner = 0 }) }

// ofBuilding returns a note that changes the progress of an instance.
func ofBuilding(id int, change func(*Building, *Known)) Note {
	return Note{func(k *Known) {
		if b := k.builds[id]; b != nil {
			change(b, k)
		}
	}}
}

// Awaits notes a disk that is not ready. From now on only this disk is read.
func Awaits(id int, disk event.DiskState) Note {
	return ofBuilding(id, func(b *Building, k *Known) {
		b.making, b.polls = disk.ID, 0
		b.observe(disk, k.now)
	})
}

// Polls notes that the disks and configurations are read again, at growing intervals: see [Building.NextPoll].
func Polls(id int) Note {
	return ofBuilding(id, func(b *Building, k *Known) {
		b.since = b.NextPoll(k.now)
		b.polls++
		b.hasDisks, b.hasConfigs = false, false
	})
}

// ListsLater notes that the disks are listed again: see [NextList].
func ListsLater(id int, until time.Time) Note {
	return ofBuilding(id, func(b *Building, k *Known) {
		b.since, b.hasDisks, b.hasConfigs = NextList(k.now, until), false, false
	})
}

// Abandons notes that the instance was not finished in time.
func Abandons(id int) Note { return ofBuilding(id, func(b *Building, _ *Known) { b.abandoned = true }) }

// Unmarks notes that an instance that runs has no tag of unfinished instances any more.
func Unmarks(id int) Note { return ofBuilding(id, func(b *Building, _ *Known) { b.marked = false }) }

// Looks notes that the tags of an instance are read again, at growing intervals: see [Requests.NextLook].
func Looks(id int) Note {
	return Note{func(k *Known) {
		if u := k.unanswered[id]; u != nil && !k.now.Before(u.look) {
			u.look = u.nextLook(k.nodes[id].rec.Aside, k.now)
			u.polls++
		}
	}}
}
