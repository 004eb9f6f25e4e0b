package core

import (
	"fmt"
	"slices"
	"time"
)

// The invariants of every step of a small world. A write is judged when it takes effect, an answer when it is given.

// checkSent: no other write to the instance is under way.
func (w *smallWorld) checkSent(e *Effect) {
	for _, r := range w.requests.Under {
		other := &r.Action
		if e.Op.Write() && other.Op.Write() && e.ID == other.ID && (e.ID != 0 || e.Order.Label == other.Order.Label) {
			w.fail("%s of %d while %s is under way", e.Op, e.ID, other.Op)
		}
	}
}

// checkPlatform: no claimant has two instances at once, and no disk is made twice.
func (w *smallWorld) checkPlatform() {
	for n := range w.platform.instances {
		i := &w.platform.instances[n]
		if i.gone {
			continue
		}
		for _, other := range w.platform.instances[:n] {
			if !other.gone && other.who == i.who {
				w.fail("I2: %s has the instances %d and %d", i.who.Value, other.InstanceID, i.InstanceID)
			}
		}
		for d, disk := range i.disks {
			if slices.ContainsFunc(i.disks[:d], func(other DiskState) bool { return other.Label == disk.Label }) {
				w.fail("instance %d has the disk %s twice", i.InstanceID, disk.Label)
			}
		}
		if claim := simOwn.ClaimIn(i.Tags); claim != i.who {
			w.fail("I1: instance %d of %s/%s has the claim of %s/%s", i.InstanceID, i.who.Value, i.who.UID, claim.Value, claim.UID)
		}
	}
}

// checkRemoval is I6, when a removal takes effect: the instance has no claimant that exists
// and needs it, unless it was not finished in time.
func (w *smallWorld) checkRemoval(r *smallRequest) {
	i := w.platform.find(r.Action.ID)
	if i == nil {
		return
	}
	for n := range w.claimants {
		c := &w.claimants[n]
		overdue := c.handed == 0 && simOwn.IsUnfinished(i.Tags) && r.Sent.Sub(i.Created) > 9*time.Minute
		if c.lives() && !c.releasing && c.who == i.who && !overdue {
			w.fail("I6: instance %d of %s is removed (%s)", i.InstanceID, c.who.Value, r.Action.Reason)
		}
	}
}

// checkHanded: the instance exists, is the claimant's, and was started.
func (w *smallWorld) checkHanded(c *smallClaimant, i Instance) {
	is := w.platform.find(i.InstanceID)
	switch {
	case is == nil:
		w.fail("%s is given instance %d, which does not exist", c.who.Value, i.InstanceID)
	case is.who != c.who:
		w.fail("I1: %s/%s is given instance %d of %s/%s", c.who.Value, c.who.UID, i.InstanceID, is.who.Value, is.who.UID)
	case !is.ran:
		w.fail("%s is given instance %d, which was never started", c.who.Value, i.InstanceID)
	}
}

// disorder reports a state that I3 does not allow at rest.
func (w *smallWorld) disorder() string {
	for n := range w.claimants {
		c := &w.claimants[n]
		i := w.platform.find(c.handed)
		switch {
		case !c.lives():
		case i == nil:
			return fmt.Sprintf("I3: %s/%s has no instance", c.who.Value, c.who.UID)
		case i.Status != "running" || simOwn.IsUnfinished(i.Tags):
			return fmt.Sprintf("instance %d is %s, with the tags %v", i.InstanceID, i.Status, i.Tags)
		case len(i.disks) != 1+len(c.order.Data) || len(i.config.Devices) != len(i.disks):
			return fmt.Sprintf("instance %d has the disks %v and the devices %v", i.InstanceID, i.disks, i.config.Devices)
		case w.bound.edits && !w.tagged(c, i):
			return fmt.Sprintf("instance %d has the tags %v after %d edits", i.InstanceID, i.Tags, c.edits)
		}
	}
	for _, i := range w.platform.instances {
		if !i.gone && !slices.ContainsFunc(w.claimants, func(c smallClaimant) bool { return c.lives() && c.handed == i.InstanceID }) {
			return fmt.Sprintf("I3: instance %d has no claimant", i.InstanceID)
		}
	}
	return ""
}

// tagged reports whether the instance has the tag of the last edit, and of no other.
func (w *smallWorld) tagged(c *smallClaimant, i *smallInstance) bool {
	for n := range smallEdits + 1 {
		if slices.Contains(i.Tags, smallTag(n)) != (n == c.edits && n > 0) {
			return false
		}
	}
	return true
}
