package decide

import (
	"cmp"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/record"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/known"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/tuning"
)

const sent = record.Sent

// supply finds the nodes that there are for a key.
func (t supplier) supply(d *demand) {
	d.unclear = !t.located()
	d.pools, d.edited = t.known.PoolsOf(d.key, d.hash)
	for _, p := range d.edited {
		if t.identify(d, p, time.Time{}, false) {
			d.unclear = true // it may be the instance of a claimant
		}
	}
	var hopeless []*known.Node
	unknown := false
	for _, p := range d.pools {
		coming, overdue, until := t.known.ComingTo(p)
		d.coming, d.overdue = d.coming+coming, d.overdue+overdue
		late := coming > 0 && !t.wait(until)
		if late {
			t.lookedLate(p, until)
		}
		unknown = t.identify(d, p, until, late) && !p.Made() || unknown
		switch {
		case t.deleting(p):
			d.unclear = true // instances that arrive in the pool meanwhile go with it
			continue
		case t.busy(countOf(p.ID())):
			d.unclear = true
		case p.Look() || !p.Record().Missing.IsZero():
			d.unclear = true
			t.readInDoubt(p, "a reading contradicts what is known of the pool")
		}
		if !p.Record().Missing.IsZero() {
			continue
		}
		hopeless = append(hopeless, t.supplyOf(d, p)...)
	}
	t.passOver(d, hopeless)
	if unknown { // an instance that the previous leader left may belong to a claimant
		d.soon, d.free = d.soon+len(d.free), nil
	}
	slices.SortStableFunc(d.free, t.handOut)
}

// passOver leaves out instances that cannot be read or tagged, unless there are so many that another instance would not help.
func (t supplier) passOver(d *demand, hopeless []*known.Node) {
	passed := len(hopeless)
	if passed == 0 {
		return
	}
	for _, claim := range d.waiting {
		passed += len(t.passedFor(claim.ID()))
	}
	if err, _, _ := t.known.Refused(); passed >= tuning.HopelessLimit || claims.KindOf(err) == claims.KindForbidden {
		d.free = append(d.free, hopeless...)
	}
}

// lookedLate reports whether a look at since or later has shown the late nodes of a pool: a read of the pool, and on LKE Enterprise also a
// list of instances. It sends the reads that are missing. It does not read a pool that was answered 404, which supply does.
func (t supplier) lookedLate(p *known.Pool, since time.Time) bool {
	switch r := p.Record(); {
	case !r.Missing.IsZero():
		return false
	case r.Read.Before(since):
		t.readPool(p.ID(), "its nodes are late")
		return false
	}
	return !t.limits.NodesLag || t.readList(instanceList, since, "nodes are late")
}

// identify reads instances that the pool lists and no list shows: such an instance may be free, or a person may have renamed it. After the
// first instance that does not exist it reads no more, because the other instances may be holes, too. It does read them if nodes of the
// pool are late. It returns whether it waits for a read.
func (t supplier) identify(d *demand, p *known.Pool, until time.Time, late bool) bool {
	for n := range t.known.Homed(p.ID()) {
		if !late && !n.Identified() && !n.Record().Missing.IsZero() {
			return false
		}
	}
	reads := 0
	for n := range t.known.Homed(p.ID()) {
		if reads == min(len(d.waiting), tuning.UnknownReads) || !t.known.Unread(p, n, until) {
			continue
		}
		reads++
		// On LKE Enterprise the first read comes VerifyAgain after the instance was met: then the next list shows the instance, and a
		// 404 cannot be older than the instance. On Standard it comes at once. Reads that are answered 404 keep the distance until the
		// pool is known to be late: a read every second would cost a hundred requests.
		read, since := t.known.Request(instance(n.ID())), later(n.First(), n.Record().Missing)
		if claims.KindOf(read.Err) == claims.KindNotFound {
			since = later(since, read.Ended)
		}
		if !t.limits.NodesLag && read.Err == nil || !t.wait(since.Add(tuning.VerifyAgain)) {
			t.readNode(n, "the pool lists the instance, and no list of instances shows it")
		}
	}
	return reads > 0
}

// supplyOf sorts the free instances of a pool, and returns the instances whose tags cannot be written. The instances of a pool that this
// process did not make wait for a direct read of the pool, whose tags may announce its deletion.
func (t supplier) supplyOf(d *demand, p *known.Pool) (hopeless []*known.Node) {
	unread := !p.Made() && p.Record().Read.Before(t.known.Settled())
	for n := range t.known.Homed(p.ID()) {
		switch {
		case !t.free(n):
		case t.known.Hopeless(n):
			hopeless = append(hopeless, n)
		case !n.Record().Missing.IsZero():
			t.prove(n)
		case !n.Usable(t.now):
			t.wait(n.Record().Aside)
		case t.now.Before(later(t.known.Request(instance(n.ID())).Until, t.known.Request(tagsOf(n.ID())).Until)):
			d.soon++
			t.wait(later(t.known.Request(instance(n.ID())).Until, t.known.Request(tagsOf(n.ID())).Until))
		case unread:
			d.soon++
			t.readPool(p.ID(), "look at the pool before its instances are handed out")
		default:
			d.free = append(d.free, n)
		}
	}
	return hopeless
}

// free reports whether an instance has no claimant, and can serve one as far as is known.
func (t supplier) free(n *known.Node) bool {
	if n.Claim().Source != record.None || !n.Identified() || n.Leaving() || t.busy(tagsOf(n.ID())) || t.known.Health(n) != claims.Healthy {
		return false
	}
	_, stored := t.known.Stored(n.ID())
	return !stored
}

// handOut orders free instances: the instances for which requests failed come last.
func (t supplier) handOut(a, b *known.Node) int {
	failing := func(n *known.Node) int {
		if t.known.Request(instance(n.ID())).Failed+t.known.Request(tagsOf(n.ID())).Failed > 0 {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(failing(a), failing(b)), cmp.Compare(a.ID(), b.ID()))
}
