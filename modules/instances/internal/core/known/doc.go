// Package known has the records of instances, of the requests to the platform, and of the creations for each claimant. Events come in,
// facts come out. It is the only code that changes these records. Package decide gets a [View], whose records have no exported fields:
// the compiler ensures that a decision changes nothing.
//
// # What changes a record
//
//	Merge   the end of an effect: a reading, or the answer to a write
//	Start   an effect that was chosen
//	Apply   a [Note] of a decision, such as that a disk is waited for
//	Begin   the beginning of a term of leadership: all readings are forgotten
//	At      the time
//	Prune   drops what has expired
//
// # What a reading changes
//
// One [Node] has everything that is known of one instance, in a record.Record. The record's rule for direct readings and own writes is the
// rule of this engine. In addition:
//
//   - If the tags in a reading may be older than an own write of tags, the written tags replace them before the rule is applied. The
//     status and the addresses in the same reading count at once.
//   - A list adds instances. It changes no instance that was shown by a direct reading or an own write less than the list lag before.
//   - An instance is missing after a 404. It is gone after a second 404, at least the settle time later, if a list lacks the instance. The
//     list must begin after the second 404, and it must be a list that has to show the instance. After an accepted removal, a second 404
//     is enough, or a list that began after the acceptance. The first 404 is timed from its answer. A list that shows the instance, and
//     that began the list lag after the proof, ends the proof.
//   - A disk whose request had no answer may exist until a list of the disks lacks it. The list must begin after the last moment at which
//     the request could make the disk.
//
// # Doubts
//
//	missing    a read was answered 404, and no newer answer shows the instance
//	aside      a write without an answer may still take effect: other tags and the same disk wait for that
//	removing   a removal was accepted, or may have been: it is repeated until the instance is gone, and no claimant gets the instance.
//	           A removal of an earlier term without an answer counts only for as long as it may take effect, because the process that
//	           led in between may have returned the instance to its claimant.
//	gone       it is proven that the instance does not exist
//
// A claimant has no creation, a creation under way (Busy), a creation without a known answer (Ambiguous, LabelTaken), a refused label
// that no list shows (Unshown), or an instance.
//
// # Where things are
//
//	known.go      all records together; the times that bound what readings show
//	node.go       the record of an instance
//	building.go   the progress of an instance with data disks
//	request.go    readings and lists: under way, failed, tried
//	writes.go     writes without an answer
//	purchase.go   creations by claimant; pace.go: when the next may be sent
//	merge.go      effects that begin and that end
//	instances.go  what results show of instances, and the proof that one is gone
//	note.go       what a decision notes
//	view.go       questions about instances; questions.go: about times, requests and creations
//
// The package imports event, byclaim, tagging and tuning, never callers or decide.
package known
