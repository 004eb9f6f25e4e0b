package instances

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/absence"
)

// lead holds the time, and since when and after whom this process leads.
type lead struct {
	now time.Time
	// started is the time of the last Begin, term counts them.
	started time.Time
	term    int
	// landing is the time after started in which writes of the process before may
	// still take effect.
	landing time.Duration
	// seq counts results and tasks. A task compares it to ignore failures from before
	// its beginning.
	seq int
}

// settledAt returns the time from which direct readings show every write of the
// process that led before.
func (l *lead) settledAt(settle time.Duration) time.Time { return l.started.Add(l.landing + settle) }

// shownAt returns the time from which lists show every instance made by the process
// that led before.
func (l *lead) shownAt() time.Time { return l.started.Add(l.landing + listLag) }

// world caches the latest state of the cluster's instances. Its methods change it in
// merge.go alone.
type world struct {
	*lead
	cfg     *settings
	objects map[int]*object
	// byClaim contains the objects by ClaimID.Value.
	byClaim map[string][]*object
	// gone maps instances that are proven gone to the time of the proof.
	gone  map[int]time.Time
	reads map[int]*directRead
	list  listing
	// unclaimed contains instances with the tag of the cluster and without a claim.
	unclaimed []claims.Node
	// writes contains the writes that may still take effect, by instance. They outlive
	// a Begin.
	writes map[int]*unresolved
}

// listing is the list of the cluster's instances.
type listing struct {
	running bool
	began   time.Time // of the last one that succeeded; zero: none
	failed  int       // seq of the last failure
	err     error
}

func newWorld(cfg *settings, l *lead, writes map[int]*unresolved) world {
	return world{
		lead: l, cfg: cfg, objects: map[int]*object{}, byClaim: map[string][]*object{}, gone: map[int]time.Time{},
		reads: map[int]*directRead{}, writes: writes,
	}
}

// object records one instance of this cluster.
type object struct {
	Instance
	// who is the claimant. It stays, whatever tags are read later.
	who claims.ClaimID
	// claimedTags contains the tags last seen or written together with the claim. They
	// are written again when a user removes the claim.
	claimedTags []string
	// first is the time of the first reading by this process, made of the answer to
	// its creation, tagged of the last write of its tags. An own write outranks readings
	// begun less than SettleTime after it.
	first, made, tagged time.Time
	// read is the beginning of the latest direct reading that shows it, listed of the
	// latest list.
	read, listed time.Time
	// removal is the latest accepted removal.
	removal removal
	// orphan is the time since which it is unneeded.
	orphan time.Time
	failure
	build building
}

// removal records an accepted removal: when, and its seq.
type removal struct {
	accepted time.Time
	seq      int
}

// failure is the last failed write: its seq, and the error.
type failure struct {
	failed int
	err    error
}

// unresolved contains the writes to one instance that may still take effect.
type unresolved struct {
	// condemned: a removal was sent that the platform may have accepted, in term. The
	// removal is repeated until the instance is gone.
	condemned bool
	term      int
	// tags were sent without an answer, last at sent. repeated: more than once.
	tags     []string
	sent     time.Time
	repeated bool
	// disks contains labels of disks that were requested without an answer, and until
	// when each may still be made.
	disks map[string]time.Time
	// until is the end of the time in which any of the writes may take effect.
	until time.Time
	polls int
	look  time.Time
}

// claimState records one claimant of Create.
type claimState struct {
	id    claims.ClaimID
	label string
	// callers counts the waiting callers; left is the time at which the last one left.
	callers int
	left    time.Time
	queued  bool
	// busy is true while a creation is under way, of instanceType.
	busy         bool
	instanceType string
	// lands is the last creation without a known effect.
	lands landing
	// ambiguous is the time of the last creation without a known effect, labelTaken of
	// the last one refused because the label exists.
	ambiguous, labelTaken time.Time
	labelSearch
	// labelOwner is an instance that has the label and is not the claimant's.
	labelOwner int
	// failure ends calls, lastFailure is the reason of the wait.
	failure
	lastFailure error
}

// labelSearch records the lists of a claimant's label: whether one is under way, the
// beginning of the last one, and their number in a row.
type labelSearch struct {
	searching bool
	searched  time.Time
	searches  int
}

// landing is a creation that may still take effect, or may have without a list that
// shows it, until a time.
type landing struct {
	until        time.Time
	instanceType string
}

// resolving reports whether the owner of the label must be found first.
func (cl *claimState) resolving() bool {
	return !cl.ambiguous.IsZero() || !cl.labelTaken.IsZero() || cl.labelOwner != 0
}

// directRead records the direct readings of one instance.
type directRead struct {
	running  bool
	began    time.Time // of the latest that shows it
	instance Instance
	// absence contains the readings since then that lack it.
	absence   absence.Proof
	notBefore time.Time
	failure
	// tried is the time of the latest attempt, again counts those after two 404s.
	used, tried time.Time
	again       int
}

// state classifies an instance's status.
type state int

const (
	up state = iota
	down
	leaving
)

// stateOf classifies busy instances as up. A new instance is provisioning.
func stateOf(status string) state {
	switch status {
	case "deleting":
		return leaving
	case "offline", "stopped", "shutting_down", "billing_suspension":
		return down
	}
	return up
}

// started reports whether an instance with this status has been booted.
func started(status string) bool {
	return stateOf(status) == up && status != "provisioning" && status != "busy"
}

// sorted returns the objects in the order of their IDs.
func (w *world) sorted() []*object {
	return slices.SortedFunc(maps.Values(w.objects), func(a, b *object) int { return cmp.Compare(a.InstanceID, b.InstanceID) })
}

// has returns the instances of a claimant. The one in the caller's own records is
// first, then finished ones, then those that are not being removed.
func (w *world) has(who claims.ClaimID) []*object {
	var own []*object
	for _, o := range w.byClaim[who.Value] {
		if o.who.Is(who) {
			own = append(own, o)
		}
	}
	if len(own) < 2 {
		return own
	}
	rank := func(o *object) int {
		holder, held := w.holder(o.InstanceID)
		switch {
		case held && holder.Is(who):
			return 0
		case w.condemned(o):
			return 3
		case !w.unfinished(o):
			return 1
		}
		return 2
	}
	slices.SortFunc(own, func(a, b *object) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.InstanceID, b.InstanceID))
	})
	return own
}

// holder returns the claimant of an instance according to the caller's own records.
func (w *world) holder(id int) (claims.ClaimID, bool) {
	if w.cfg.Holder == nil {
		return claims.ClaimID{}, false
	}
	claimant, held := w.cfg.Holder(id)
	return w.cfg.own.ID(claimant), held
}

// stripped reports whether the tags that make the instance its claimant's were
// removed. Tags of another claimant are a conflict instead.
func (w *world) stripped(o *object) bool {
	return !w.cfg.own.ours(o.Instance) && !o.Foreign && w.cfg.own.ClaimIn(o.Tags).None()
}

// condemned reports whether a removal was sent that was accepted, or that may have
// been. A removal of an earlier lead without an answer counts for as long as it may take effect.
func (w *world) condemned(o *object) bool {
	if !o.removal.accepted.IsZero() {
		return true
	}
	u := w.writes[o.InstanceID]
	return u != nil && u.condemned && (u.term == w.term || w.now.Before(u.until))
}

// leaving reports whether the instance is being removed.
func (w *world) leaving(o *object) bool { return w.condemned(o) || stateOf(o.Status) == leaving }

// unfinished reports whether the instance still lacks disks, its configuration or its
// boot. The mark counts also when a user has removed it.
func (w *world) unfinished(o *object) bool { return o.build.marked || w.cfg.own.isUnfinished(o.Tags) }

// inherited returns the time from which readings show every write to the instance of
// the process that led before, zero if this process made it.
func (w *world) inherited(o *object) time.Time {
	if !o.made.IsZero() {
		return time.Time{}
	}
	return w.settledAt(w.cfg.SettleTime)
}

// disputed reports whether the instance has tags of another claimant than its own.
func (w *world) disputed(o *object) bool {
	now := w.cfg.own.ClaimIn(o.Tags)
	return o.Foreign || !now.None() && !now.Is(o.who)
}

// restored returns the tags of an instance, and with them those that it had with its
// claim if that was removed.
func (w *world) restored(o *object) []string {
	tags := slices.Clone(o.Tags)
	if w.stripped(o) {
		tags = claims.Union(tags, o.claimedTags)
	}
	switch {
	case o.build.ran:
		return w.cfg.own.finished(tags)
	case w.unfinished(o):
		return claims.Union(tags, []string{w.cfg.own.unfinished})
	}
	return tags
}

// frozen reports whether tags may not be written yet, because others were sent that
// may still take effect, after these.
func (w *world) frozen(o *object, tags []string) bool {
	u := w.writes[o.InstanceID]
	return u != nil && u.tags != nil && w.now.Before(u.until) && !slices.Equal(u.tags, tags)
}

// view returns a copy of the instance for callers, with its health.
func (w *world) view(o *object) Instance {
	i := o.Instance
	i.Tags, i.IPv4 = slices.Clone(i.Tags), slices.Clone(i.IPv4)
	i.Claim = o.who.Value
	switch {
	case w.leaving(o):
		i.Health = claims.Deleting
	case w.unfinished(o):
		i.Health = claims.Unfinished
	case i.Status != "running" && w.now.Sub(o.first) > w.cfg.BootTimeout:
		i.Health = claims.Stopped
	}
	return i
}

// known returns the time from which an instance has existed at the latest. One that
// this process did not see was made by the one before.
func (w *world) known(id int) time.Time {
	if o := w.objects[id]; o != nil {
		return o.first
	}
	return w.started
}
