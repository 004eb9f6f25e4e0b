package record_test

import (
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/record"
)

var (
	start  = time.Date(2026, time.March, 1, 10, 0, 0, 0, time.UTC)
	bounds = record.Bounds{Settle: 4 * time.Second, Lag: 2 * time.Minute, Late: 2 * time.Minute}
)

func at(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }

// counts compares two counts as the counts of pools: a lower one lacks something.
func counts(known, read int) record.Difference {
	switch {
	case read == known:
		return record.Same
	case read > known:
		return record.More
	}
	return record.Less
}

func direct(value int, began float64) record.Reading[int] {
	return record.Reading[int]{Began: at(began), Answered: at(began + 0.2), Direct: true, Value: value}
}

func list(value int, began float64) record.Reading[int] {
	return record.Reading[int]{Began: at(began), Answered: at(began + 0.2), Value: value}
}

func TestAReadingChangesWhatItMay(t *testing.T) {
	wrote := func(r *record.Record[int]) { r.Answer(3, at(0)) }
	lost := func(r *record.Record[int]) { wrote(r); r.Lose(at(10), bounds) }
	read := func(r *record.Record[int]) { r.Merge(direct(3, 0), bounds, counts) }
	listed := func(r *record.Record[int]) { r.Merge(list(3, 0), bounds, counts) }
	for _, c := range []struct {
		name  string
		known func(*record.Record[int])
		in    record.Reading[int]
		want  record.Verdict
		value int
	}{
		{"the first reading is believed", func(*record.Record[int]) {}, list(3, 0), record.Replaced, 3},
		{"a read that began 3.9 s after an own write may be older", wrote, direct(2, 3.9), record.Ignored, 3},
		{"a read that began 4 s after an own write is newer", wrote, direct(2, 4), record.Replaced, 2},
		{"also one that shows more may be older than an own write", wrote, direct(4, 3.9), record.Ignored, 3},
		{"a list must begin 2 minutes after an own write", wrote, list(2, 119), record.Ignored, 3},
		{"such a list is newer", wrote, list(2, 120), record.Replaced, 2},
		{"a read agrees with an own write at once", wrote, direct(3, 0.5), record.Agreed, 3},
		{"a write without an answer outranks what began less than 4 s after it", lost, direct(4, 13), record.Ignored, 3},
		{"its effect is believed then", lost, direct(4, 14), record.Replaced, 4},
		{"what a read shows more counts at once", read, direct(4, 1), record.Replaced, 4},
		{"what a read lacks counts 4 s after the answer that showed it", read, direct(2, 4), record.Contradicted, 3},
		{"and then it does", read, direct(2, 4.2), record.Replaced, 2},
		{"a list that may be older than a read makes the engine look", read, list(4, 60), record.Contradicted, 3},
		{"a list that cannot be older is believed", read, list(2, 121), record.Replaced, 2},
		{"a list follows a list", listed, list(4, 1), record.Replaced, 4},
		{"one with less may be older than the one before", listed, list(2, 1), record.Contradicted, 3},
		{"two minutes later it cannot be", listed, list(2, 121), record.Replaced, 2},
		{"a read follows a list with more", listed, direct(5, 1), record.Replaced, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r record.Record[int]
			c.known(&r)
			if got := r.Merge(c.in, bounds, counts); got != c.want || r.Value != c.value {
				t.Errorf("verdict %d, value %d; want %d, %d", got, r.Value, c.want, c.value)
			}
		})
	}
}

// A person deletes an object at 10:00:10. The first 404 makes it missing. A list that begins two minutes later lacks it. The first 404
// that begins 4 s after this list makes it gone.
func TestAbsenceIsProvenByTwo404sAndAListBetweenThem(t *testing.T) {
	var r record.Record[int]
	r.Merge(direct(1, 0), bounds, counts)
	none := time.Time{}
	r.Miss(at(10), at(10.2), none, bounds)
	if r.Missing != at(10.2) {
		t.Fatalf("missing since %s", r.Missing)
	}
	for _, c := range []struct {
		name          string
		began, listed float64
		gone          bool
	}{
		{"seconds later, although a list lacks it", 20, 15, false},
		{"two minutes later, after an early list", 140, 100, false},
		{"less than 4 s after the list", 134, 130.2, false},
		{"4 s after the list", 134.3, 130.3, true},
	} {
		miss := r
		if miss.Miss(at(c.began), at(c.began+0.2), at(c.listed), bounds); !miss.Gone.IsZero() != c.gone {
			t.Errorf("%s: gone is %t", c.name, !c.gone)
		}
	}
	r.Merge(list(1, 60), bounds, counts)
	if r.Missing.IsZero() {
		t.Error("a list that may be older than the first 404 took it back")
	}
	later, now := r, r
	if later.Merge(list(1, 131), bounds, counts); !later.Missing.IsZero() {
		t.Error("a list showed it, and it is still missing")
	}
	if now.Merge(direct(1, 11), bounds, counts); !now.Missing.IsZero() {
		t.Error("a read showed it, and it is still missing")
	}
}

func TestA404ProvesThatWhatWasRemovedIsGone(t *testing.T) {
	var r record.Record[int]
	r.Merge(direct(1, 0), bounds, counts)
	r.Accept(at(10))
	if r.Miss(at(9.9), at(10.1), time.Time{}, bounds); !r.Gone.IsZero() {
		t.Error("a read that began before the removal was accepted proves nothing")
	}
	if r.Miss(at(10), at(10.1), time.Time{}, bounds); r.Gone.IsZero() {
		t.Error("it is not gone")
	}
	if r.Merge(direct(1, 14), bounds, counts); r.Gone.IsZero() {
		t.Error("a read that may be older than the proof took it back")
	}
	if r.Merge(list(1, 130), bounds, counts); r.Gone.IsZero() {
		t.Error("a list that may be older than the proof took it back")
	}
	if r.Merge(direct(1, 14.2), bounds, counts); !r.Gone.IsZero() || r.Removing.IsZero() {
		t.Error("a later sight takes the proof back, and the object is still to be removed")
	}
}

func TestA404SaysNothingAgainstANewerSight(t *testing.T) {
	var r record.Record[int]
	r.Merge(direct(1, 10), bounds, counts)
	r.Miss(at(9), at(10.5), time.Time{}, bounds)
	if r.Answer(2, at(20)); !r.Missing.IsZero() {
		t.Error("it is missing")
	}
	if r.Miss(at(23), at(23.2), time.Time{}, bounds); !r.Missing.IsZero() {
		t.Error("a 404 that may be older than the own write counts")
	}
}

func TestAWriteWithoutAnAnswerSetsTheObjectAside(t *testing.T) {
	var r record.Record[int]
	r.Answer(1, at(0))
	r.Lose(at(10), bounds)
	r.Lose(at(5), bounds)
	if r.Aside != at(134) || r.Usable(at(133)) || !r.Usable(at(134)) {
		t.Errorf("aside until %s", r.Aside)
	}
	if r.Remove(at(140)); r.Usable(at(150)) {
		t.Error("what is being removed is used")
	}
}

func TestARightBeforeReadFollowsEveryWrite(t *testing.T) {
	var r record.Record[int]
	r.Merge(direct(1, 10), bounds, counts)
	if !r.Seen(at(10)) || r.Seen(at(10.1)) {
		t.Error("it was read at 10 s")
	}
	if r.Answer(2, at(11)); r.Seen(at(10)) {
		t.Error("the write was after the read")
	}
	if r.Merge(direct(2, 11), bounds, counts); !r.Seen(at(10)) {
		t.Error("the next read agrees with the write")
	}
}

func TestRecordsOutrankTagsAndOwnWritesBoth(t *testing.T) {
	who := claims.ClaimID{Value: "a", UID: "1"}
	sent, tag := record.Claim{Claimant: who, Source: record.Sent}, record.Claim{Claimant: who, Source: record.Tag}
	stored, own := record.Claim{Claimant: who, Source: record.Stored}, record.Claim{Claimant: who, Source: record.Own}
	if sent.Held() || !tag.Held() || tag.Vouched() || !stored.Vouched() || !own.Vouched() {
		t.Error("what was only sent is held, or a tag alone is vouched for")
	}
	if !stored.Outranks(record.Tag) || !own.Outranks(record.Stored) || tag.Outranks(record.Tag) || tag.Outranks(record.Stored) {
		t.Error("the order is tag, record, own write")
	}
	if !sent.Of(who) || sent.Of(claims.ClaimID{Value: "a", UID: "2"}) || (record.Claim{}).Of(claims.ClaimID{}) {
		t.Error("a claim is of its claimant alone")
	}
}
