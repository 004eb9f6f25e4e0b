// Package known records facts about the platform, requests that are under way, and writes
// that may still take effect. Events come in, facts come out. It is the only code that
// changes these records; package decide reads them.
//
// # What changes a record
//
//	Merge   the end of an effect: a reading, or the answer to a write
//	Start   an effect that was chosen
//	Begin   the beginning of a term of leadership: all readings are forgotten
//	At      the time
//	Prune   drops what has expired
//
// and the methods of a record by which a decision is noted at the object that it is about:
// Poll, Await, Later, Abandon, Unmark of a [Building]; Repeat and LookAgain of a [Write];
// NotMade, NotShown, Resolved and Freed of a [Purchase]; Again of a [Read]; Unneeded of a
// [Node].
//
// # What a reading changes
//
//   - A direct reading counts at once, except for tags that this process wrote within the
//     settle time. If it answers 404, that is evidence for package absence.
//   - A list adds instances. It changes no instance that was read or written less than the
//     list lag before.
//   - An instance counts as gone only after a proof ([World.Gone]). A list that shows the
//     instance later refutes the proof.
//   - A disk that was requested without an answer may exist until a list of the disks lacks
//     it that began after the last moment at which the disk could be made.
//   - A write without an answer makes only the written values unknown.
//
// # States
//
// A claimant has no creation, a creation under way (Busy), a creation without a known
// answer (Ambiguous, LabelTaken), a refused label that no list shows (Unshown), or an
// instance. A [Node] is being built, finished, condemned (a removal was sent, and was or may
// be accepted), and gone. Both only go forward, with two exceptions: a list refutes a wrong
// proof; and a removal of an earlier term without an answer condemns only for as long as it
// may take effect, because the process that led in between may have returned the instance
// to its claimant.
//
// # Where things are
//
//	known.go           all records; the times that bound what readings show
//	world.go, node.go   the instances, with what follows for one
//	building.go         the progress of an instance with data disks
//	read.go, write.go   readings, and writes that may still take effect
//	purchase.go         creations by claimant; pace.go: when the next may be sent
//	merge.go            the way of a result: first its end, then what it shows
//	requests.go         the end of a request: failures, and writes that may still land
//	evidence.go         what results show of instances, and the proof that one is gone
//	start.go            effects that begin
//
// # Reads and writes
//
// The package reads events, the settings, the time that [Known.At] sets, and
// Settings.Holder. It has no record of waiting calls, and returns no step and no answer.
// Exported fields are for reading: a test fails when package decide assigns to one. The
// package imports event, byclaim, tagging and tuning, never callers or decide.
package known
