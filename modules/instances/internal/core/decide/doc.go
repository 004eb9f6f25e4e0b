// Package decide chooses the next step of a call: a function of the record (package known), of the waiting calls (package callers) and of
// the time. It is the only code that chooses effects, each with its reason, and answers.
//
// # One step of one call
//
// A call requests its next step ([Next]) until it is answered: an effect, a wait, or the answer. Between two steps anything may have
// changed, so each step is decided from the beginning:
//
//	create   if an instance of the claimant is known: finish it. Otherwise the label (inspectOwner, resolve, seek), in the first
//	         minutes a new list, the ceilings (fit), the claimant's turn, and a slot
//	finish   a current reading; disks, devices, boot (build); removed tags
//	delete   a current reading, a comparison of the owner, the removal
//	tags     a current reading, a comparison of the owner, and the write when no earlier write may still take effect
//	list     a list, and readings of the instances that the list lacks
//
// # Reads and writes
//
// The package gets views of known and callers, which cannot change them: the compiler ensures that a decision has no effect. If later
// decisions rest on a conclusion, such as that a disk is not ready, the [Choice] has a note of it, and the core applies the note. If a
// choice has notes and no step, the core decides again about the same call. The package has no state of its own and reads no clock.
//
// # Where things are
//
//	decide.go   which step follows for which call
//	read.go     lists, direct readings, and whether an instance is gone
//	create.go   creation; build.go: disks, devices and boot
//	tags.go     writes of tags
//	remove.go   removals and reads of one instance
//	collect.go  lists for callers, and instances that no claimant needs
//	waiting.go  the reason for a caller whose time ends
package decide
