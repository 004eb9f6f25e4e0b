package decide

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/record"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/known"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/tuning"
)

// The targets of readings.
var (
	poolList     = known.Target{Op: event.OpListPools}
	instanceList = known.Target{Op: event.OpListInstances}
)

func instance(id int) known.Target { return known.Target{Op: event.OpGetInstance, ID: id} }
func pool(id int) known.Target     { return known.Target{Op: event.OpGetPool, ID: id} }
func tagsOf(id int) known.Target   { return known.Target{Op: event.OpMark, ID: id} }
func countOf(id int) known.Target  { return known.Target{Op: event.OpScale, ID: id} }
func dropOf(id int) known.Target   { return known.Target{Op: event.OpDrop, ID: id} }
func retireOf(id int) known.Target { return known.Target{Op: event.OpRetire, ID: id} }

// readNode reads an instance directly, unless a read is under way or has to wait: after a read that failed or was answered 404.
func (t reader) readNode(n *known.Node, reason string) {
	due := readDue(t, t.known.Request(instance(n.ID())), n.Record())
	if t.busy(instance(n.ID())) || t.known.Busy(event.OpGetInstance)+t.chosenReads() >= tuning.ParallelReads || t.wait(due) {
		return
	}
	t.do(event.Action{Op: event.OpGetInstance, InstanceID: n.ID(), Reason: reason})
}

// readDue is the end of the pause before the next direct read of an object: after a read that failed, that was answered 404, or that was
// not believed. Without the pause the engine would repeat the read at once, for as long as the API gives an answer that is older than the
// record.
func readDue[V any](t reader, last known.Request, r record.Record[V]) time.Time {
	switch {
	case last.Err != nil:
		return later(last.Until, last.Ended.Add(tuning.ReadAgain))
	case unbelieved(last, r):
		return later(last.Until, later(r.Shown, r.Wrote).Add(t.cfg.SettleTime))
	}
	return last.Until
}

// unbelieved reports whether the newest answered read left the record as it was, because the read may be older than the record. A read
// that began before the last write ended tells less than the answer to that write, so that it raises no doubt.
func unbelieved[V any](last known.Request, r record.Record[V]) bool {
	return last.Err == nil && last.Began.After(r.Read) && !last.Began.Before(r.Wrote)
}

func (t reader) chosenReads() int {
	n := 0
	for target := range t.sent {
		if target.Op == event.OpGetInstance {
			n++
		}
	}
	return n
}

// readPool does the same for a pool.
func (t reader) readPool(id int, reason string) {
	var r record.Record[lkepool.Pool]
	if p, known := t.known.Pool(id); known {
		r = p.Record()
	}
	if t.busy(pool(id)) || t.wait(readDue(t, t.known.Request(pool(id)), r)) {
		return
	}
	t.do(event.Action{Op: event.OpGetPool, PoolID: id, Reason: reason})
}

// lastList is when the newest answered list began.
func (t reader) lastList(list known.Target) time.Time {
	if list == instanceList {
		return t.known.InstanceList()
	}
	return t.known.PoolList()
}

// readList reads a list unless a list that began at since or later was answered, and reports whether such a list was answered.
func (t reader) readList(list known.Target, since time.Time, reason string) bool {
	began := t.lastList(list)
	if !began.IsZero() && !began.Before(since) {
		return true
	}
	if !t.busy(list) && !t.wait(t.known.Request(list).Until) {
		t.do(event.Action{Op: list.Op, Reason: reason})
	}
	return false
}

// readLists does the same for both lists.
func (t reader) readLists(since time.Time, reason string) bool {
	pools := t.readList(poolList, since, reason)
	return t.readList(instanceList, since, reason) && pools
}

// informed reads both lists, on which everything else rests, and reports whether they were read. If the first lists are incomplete,
// both are read once more.
func (t reader) informed(demands []*demand) bool {
	if t.settling() {
		return false
	}
	since := later(t.known.Settled(), t.now.Add(-tuning.FullReadEvery))
	t.refuseUnread(demands)
	if !t.readLists(since, "claimants wait") {
		return false
	}
	if t.known.Relists() {
		return t.readLists(t.known.FirstLists(), "the first lists are not complete")
	}
	return true
}

// refuseUnread answers all claimants with the reason why lists cannot be read, if waiting does not help.
func (t reader) refuseUnread(demands []*demand) {
	for _, list := range []known.Target{poolList, instanceList} {
		if r := t.known.Request(list); r.Busy == 0 && known.Lasting(r.Err) && r.Ended.Equal(t.now) {
			for _, d := range demands {
				t.refuse(d.waiting, r.Err)
			}
		}
	}
}

// seenNode reports whether an instance was read right before, and the read began after the last write to it. If its claim was only
// sent, the read has to begin the settle time after that write.
func (t reader) seenNode(n *known.Node) bool {
	r := n.Record()
	since := t.known.Settled()
	if !r.Wrote.IsZero() && n.Claim().Source == sent {
		since = later(since, r.Wrote.Add(t.cfg.SettleTime))
	}
	return r.Seen(since) && t.lately(instance(n.ID()), r.Read)
}

// seenPool reports whether a pool was read right before, and the read began after every own write and after the time until which the pool
// was aside.
func (t reader) seenPool(p *known.Pool) bool {
	r := p.Record()
	return r.Seen(later(t.known.Settled(), later(r.Aside, time.Time{}))) && t.lately(pool(p.ID()), r.Read)
}

// lately reports whether the newest answered read of a target began then, and ended a moment ago.
func (t reader) lately(target known.Target, began time.Time) bool {
	r := t.known.Request(target)
	return r.Err == nil && !r.Ended.IsZero() && !began.Before(r.Began) && t.fresh(r)
}

// fresh reports whether a read ended within ReadValid. When the last writes of the previous leader have become visible, the read must also
// show them: an action that waited for these writes does not rest on an older read.
func (t reader) fresh(r known.Request) bool {
	shown := t.known.LateShown()
	return t.now.Sub(r.Ended) <= tuning.ReadValid && (t.now.Before(shown) || !r.Began.Before(shown))
}

// again is why an instance that is missing is read.
const again = "the instance was answered 404; a second 404 is needed"

// prove sends the next read of the proof that an instance is gone: the instance again after the settle time, then a list of instances,
// and ListLag after the first 404 a list and the instance once more. A reading that shows the instance refutes the proof.
func (t reader) prove(n *known.Node) {
	r, read := n.Record(), t.known.Request(instance(n.ID()))
	switch lacks := r.Missing.Add(t.cfg.ListLag); {
	case !r.Gone.IsZero():
	case r.Missing.IsZero():
		if read.Err != nil && !t.wait(later(r.Wrote, n.First()).Add(t.cfg.SettleTime)) {
			t.readNode(n, again) // the 404 may be older than the record
		}
	case !r.Removed.IsZero():
		t.readNode(n, "it was removed, and a read has to show that it is gone")
	case claims.KindOf(read.Err) != claims.KindNotFound, read.Began.Before(r.Missing.Add(t.cfg.SettleTime)):
		if !t.wait(r.Missing.Add(t.cfg.SettleTime)) {
			t.readNode(n, again)
		}
	case !t.known.AbsentNode(n) && t.now.Before(lacks):
		t.readMissing(n)
	case t.wait(lacks):
	case t.listMissing(instanceList, lacks) && !t.wait(lacks.Add(t.cfg.SettleTime)):
		t.readNode(n, again)
	}
}

// listMissing reads a list unless a list that began at since or later was answered. It keeps NearList between two lists, which serve
// all missing objects.
func (t reader) listMissing(list known.Target, since time.Time) bool {
	reason := "reads of a pool are answered 404"
	if list == instanceList {
		reason = "reads of an instance are answered 404"
	}
	if began := t.lastList(list); began.Before(since) && t.wait(began.Add(tuning.NearList)) {
		return false
	}
	return t.readList(list, since, reason)
}

// readMissing follows two 404s of an instance. It reads a list, which may lack the instance, too. Until a list lacks it, it also reads
// the instance itself, with pauses of MissingAgain.
func (t reader) readMissing(n *known.Node) {
	read := t.known.Request(instance(n.ID()))
	since := later(read.Ended, n.First().Add(t.cfg.ListLag))
	if (t.wait(since) || t.listMissing(instanceList, since)) && !t.wait(read.Ended.Add(tuning.MissingAgain)) {
		t.readNode(n, again)
	}
}

// readInDoubt reads a pool that a list lacks or contradicts, or that a read did not find.
func (t reader) readInDoubt(p *known.Pool, reason string) {
	r := p.Record()
	read := t.known.Request(pool(p.ID()))
	due := later(r.Shown, r.Wrote).Add(t.cfg.SettleTime)
	if !r.Missing.IsZero() {
		due = r.Missing.Add(t.cfg.SettleTime)
		if claims.KindOf(read.Err) == claims.KindNotFound && !read.Began.Before(due) { // twice: a list decides, and then another read
			since := later(read.Ended, p.First().Add(t.cfg.ListLag))
			if !t.wait(since) {
				t.listMissing(poolList, since)
			}
			due = read.Ended.Add(tuning.MissingAgain)
		}
	} else if read.Began.Before(r.Wrote) || r.Shown.After(read.Ended) {
		due = r.Wrote.Add(t.cfg.SettleTime)
	}
	if !t.wait(due) {
		t.readPool(p.ID(), reason)
	}
}

// failed returns the error of a read that was tried since a request came, nil without an error.
func (t reader) failed(target known.Target, since time.Time) error {
	if r := t.known.Request(target); r.FailedSince(since) && !t.sent[target] {
		return r.Err
	}
	return nil
}

// located reads the pools that instances name and that no list has shown: such a pool may be of any key. It reports whether no such
// pool is left.
func (t reader) located() bool {
	all := true
	for n := range t.known.Nodes() {
		id := n.Home()
		if _, known := t.known.Pool(id); id == 0 || known || n.Leaving() || t.known.Absent(id) || t.known.AbsentNode(n) {
			continue
		}
		if !n.Record().Missing.IsZero() {
			t.prove(n) // an old list showed it, and its pool may have gone with it
		}
		r, first := t.known.Sought(id)
		read := t.known.Request(pool(id))
		switch due := r.Missing.Add(t.cfg.SettleTime); {
		case read.Hopeless():
		case !r.Missing.IsZero() && !read.Began.Before(due) && claims.KindOf(read.Err) == claims.KindNotFound:
			all = false
			if since := later(read.Ended, first.Add(t.cfg.ListLag)); !t.wait(since) {
				t.listMissing(poolList, since)
			}
		default:
			all = false
			if r.Missing.IsZero() || !t.wait(due) {
				t.readPool(id, "an instance names the pool, and no list shows it")
			}
		}
	}
	return all
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func sooner(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
