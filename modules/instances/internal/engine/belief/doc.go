// Package belief records facts about the platform, about the requests to it that are
// under way, and of writes that may still take effect. Events come in, facts come out. It
// is the only code that changes these records; package decide reads them.
//
// # What changes them
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
// What a direct reading shows is believed at once, unless an own write of tags is not older
// than the settle time; what it lacks is evidence for package absence. A list adds
// instances, and changes none that was read or written less than the list lag before.
// Existence ends by proof alone ([World.Gone]), and a list that must show the instance
// refutes it. A disk that was requested without an answer may exist until a list of the
// disks that began after it could be made lacks it. A write without an answer makes unknown
// only what it changes.
//
// # States
//
// A claimant is without a creation, has one under way (Busy), has one whose answer is not
// known (Ambiguous, LabelTaken), is refused a label that no list shows (Unshown), or has
// an instance. A [Node] is being built, finished,
// condemned when a removal was sent that was or may be accepted, and gone. Both only go
// forward, with two exceptions: a list refutes a wrong proof, and a removal without an
// answer of an earlier term condemns for no longer than it may take effect, because the
// process that led between may have returned the instance to its claimant.
//
// # Where things are
//
//	belief.go           all records; the times that bound what readings show
//	world.go, node.go   the instances, with what follows for one
//	building.go         the progress of an instance with data disks
//	read.go, write.go   readings, and writes that may still take effect
//	purchase.go         creations by claimant; pace.go: when the next may be sent
//	merge.go            the way of a result: first its end, then what it shows
//	requests.go         the end of a request: failures, and writes that may still land
//	evidence.go         what results show of instances, and the proof that one is gone
//	start.go            effects that begin
//
// # What it may read and write
//
// It reads events, the settings, the time that [Belief.At] sets, and Settings.Holder. It
// does not know who waits. It returns no step and no answer. Exported fields are for
// reading: a test fails when package decide assigns to one. It imports event, byclaim,
// tagging and tuning, never callers or decide.
package belief
