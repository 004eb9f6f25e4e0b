package known

import (
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims/record"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// Pool has the record of one pool. Its value has the count, and the slots that were shown with the count. Only direct readings, own
// writes, and lists that cannot be older change them.
type Pool struct {
	rec record.Record[lkepool.Pool]
	// hash is the hash of the key that the pool was made for, "" for a pool of another owner.
	hash string
	// look: a list contradicts the record, so the engine has to read the pool.
	look bool
	// coming are the nodes on their way: places of the pool that no instance has taken.
	coming []coming
	first  time.Time
}

// coming is one node on its way: the time of its purchase, and the slot that it comes into, "" while the pool does not list the slot.
type coming struct {
	slot  string
	since time.Time
}

// ID is the platform's ID of the pool.
func (p *Pool) ID() int { return p.rec.Value.ID }

// Value is the pool as it is known.
func (p *Pool) Value() lkepool.Pool { return p.rec.Value }

// Count is the number of nodes that the platform keeps the pool at.
func (p *Pool) Count() int { return p.rec.Value.Count }

// Record is a copy of all that is known of the pool itself.
func (p *Pool) Record() record.Record[lkepool.Pool] { return p.rec }

// Ours reports whether this engine made the pool.
func (p *Pool) Ours() bool { return p.hash != "" }

// Hash is the hash of the key that the pool was made for.
func (p *Pool) Hash() string { return p.hash }

// Made reports whether this process made the pool.
func (p *Pool) Made() bool { return p.rec.Origin == record.Arrived }

// Look reports whether a list contradicts the record of the pool.
func (p *Pool) Look() bool { return p.look }

// Fits reports whether a node of the pool meets the key's requirements. A pool whose count the platform's autoscaler changes gets no new
// claimants either.
func (p *Pool) Fits(key lkepool.Key) bool {
	v := &p.rec.Value
	return !v.Autoscaled && v.InstanceType == key.InstanceType && v.Template.Fits(key.Template)
}

// SlotOf returns the node ID under which the pool lists an instance, "" for none.
func (p *Pool) SlotOf(instanceID int) string {
	for _, s := range p.rec.Value.Slots {
		if s.InstanceID == instanceID {
			return s.NodeID
		}
	}
	return ""
}

// slot returns the place with a node ID, nil for none.
func (p *Pool) slot(nodeID string) *lkepool.Slot {
	at := slices.IndexFunc(p.rec.Value.Slots, func(s lkepool.Slot) bool { return s.NodeID == nodeID })
	if at < 0 {
		return nil
	}
	return &p.rec.Value.Slots[at]
}

// Vacant returns the slots that have had no instance since the given time, or for longer.
func (p *Pool) Vacant(since time.Time) []string {
	var slots []string
	for _, c := range p.coming {
		if c.slot != "" && !c.since.After(since) {
			slots = append(slots, c.slot)
		}
	}
	return slots
}

// differ compares the record of a pool with a reading of it. With the same count, a slot that got its instance, or that is listed for
// the first time, is no difference: the node was on its way. A slot that lost its instance, or is not listed any more, is less.
func differ(known, read lkepool.Pool) record.Difference {
	if read.Count < known.Count || read.Autoscaled != known.Autoscaled || read.InstanceType != known.InstanceType ||
		!slices.Equal(read.Tags, known.Tags) || !read.Template.Equal(known.Template) {
		return record.Less
	}
	held := make(map[string]int, len(read.Slots))
	for _, s := range read.Slots {
		held[s.NodeID] = s.InstanceID
	}
	for _, s := range known.Slots {
		if id, listed := held[s.NodeID]; !listed || s.InstanceID != 0 && id != s.InstanceID {
			return record.Less
		}
	}
	if read.Count > known.Count {
		return record.More
	}
	return record.Same
}

// Usable reports whether nothing is in doubt about the pool at a time.
func (p *Pool) Usable(now time.Time) bool { return p.rec.Usable(now) }

// First is when this process learned of the pool.
func (p *Pool) First() time.Time { return p.first }

// Gone reports whether it is proven that the pool does not exist any more.
func (p *Pool) Gone() bool { return !p.rec.Gone.IsZero() }

// Removing reports whether the deletion of the pool was sent.
func (p *Pool) Removing() bool { return !p.rec.Removing.IsZero() }

// Doubtful reports whether a read has to show if the pool exists and is as it is recorded.
func (p *Pool) Doubtful() bool { return p.look || !p.rec.Missing.IsZero() }
