// Package record has the knowledge of both claim engines about one object of the platform: a pool, a Linode. There is one
// [Record] for all objects, and one rule for what a reading changes in it, [Record.Merge].
//
// Readings may be old. A direct read of an object lags behind writes by at most [Bounds].Settle, a list by at most Lag, and a write that
// was not answered with success may take effect for Late, after later writes and after its sender ended. Within these bounds:
//
//   - An own write outranks readings that may be older than it. Example, Settle 4 s: the API answers our PUT of count 3 at
//     10:00:00. A read that began at 10:00:03 shows 2, and changes nothing. One that began at 10:00:04 shows 2, and 2 is
//     true: another client lowered it.
//   - A reading that shows more counts at once. A direct reading that shows less than another one did counts only if it
//     began Settle after the answer of that one, a list only if it began Lag after it. A list counts for the value of an
//     object only if it began Lag after the newest direct reading and own write.
//   - Absence is no fact. [Record.Missing] is when the first 404 was answered. A direct read that began later and shows the
//     object takes it back, and so does a list that began Lag later. The object is gone when its removal was accepted and a
//     read that began after that is answered 404. It is also gone when a list that began Lag after the first 404 lacks it,
//     and a read that began Settle after that list is answered 404, too.
//
// Four words name the doubts: an object is missing, aside, removing or gone.
//
//	missing    a direct read was answered 404, and nothing newer has shown the object since
//	aside      a write of ours, or of the leader before, may still take effect: the object is not changed and not handed out
//	removing   a removal was sent: the object is not used again, and the removal is repeated until the object is gone
//	gone       it does not exist any more
//
// The package has no clock: the caller passes when requests began and when they were answered. It imports claims and time.
//
// Callers are the packages known and decide of modules lkepool and instances. A Record belongs to one goroutine.
package record
