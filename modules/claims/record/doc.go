// Package record has the knowledge of both claim engines about one object of the platform: a pool, a Linode. There is one
// [Record] for all objects, and one rule for what a reading changes in it, [Record.Merge].
//
// Readings may be old. A direct read of an object lags behind writes by at most [Bounds].Settle, a list by at most Lag. A write that was
// not answered with success may take effect until Late after its failure, also after later writes and after its sender ended. Within these
// bounds:
//
//   - An own write outranks readings that may be older than it. Example, Settle 4 s: the API answers our PUT of count 3 at 10:00:00. A
//     read that began at 10:00:03 shows 2, and changes nothing. A read that began at 10:00:04 shows 2: another client has lowered the
//     count, and the count is 2.
//   - A reading that shows more counts at once. A direct reading that shows less than an earlier reading counts only if it began Settle
//     after the answer of the earlier reading, a list only if it began Lag after that answer. A list changes the value of an object only
//     if it began Lag after the newest direct reading and Lag after the newest own write. Example: a read that is answered at 10:00:02
//     shows four Linodes. A read that begins at 10:00:03 and shows two decides nothing, a read that begins at 10:00:06 and shows two
//     counts.
//   - Absence is no fact. [Record.Missing] is when the first 404 was answered. A direct read that began later and shows the object resets
//     it, and so does a list that began Lag later. The object is gone when its removal was accepted and a read that began after that is
//     answered 404. It is also gone when a list that began Lag after the first 404 lacks it, and a read that began Lag plus Settle after
//     the first 404 is answered 404, too.
//
// Four words name the doubts: an object is missing, aside, removing or gone.
//
//	missing    a direct read was answered 404, and no newer answer has shown the object since
//	aside      a write of this process, or of the previous leader, may still take effect: the engine neither changes the object nor
//	           hands it out
//	removing   a removal was sent, or the object's tags announce one: the engine never uses the object again, and repeats the removal
//	           until the object is gone
//	gone       it is proven that the object does not exist any more
//
// The package has no clock: the caller passes when requests began and when they were answered. It imports claims and time.
//
// Callers are the packages known and decide of modules lkepool and instances. A Record belongs to one goroutine.
package record
