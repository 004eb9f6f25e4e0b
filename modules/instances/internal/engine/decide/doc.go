// Package decide chooses the next step of a call: a function of the record (package
// belief), of who waits (package callers) and of the time. It is the only code that chooses
// effects, each with its reason, and answers.
//
// # One step of one call
//
// A call requests its next step ([Decider.Next]) until it is answered: an effect, a wait,
// or the answer. Between two steps anything may have changed, so each step is decided
// from the beginning:
//
//	create   an instance of the claimant that is known: finish
//	         its label: inspectOwner, resolve, seek; in the first minutes a new list; the
//	         ceilings: fit; its turn, and a slot
//	finish   a current reading; disks, devices, boot: buildUp; tags that were removed
//	delete   a current reading, whose it is, the removal
//	tags     a current reading, whose it is, the write once none may land after it
//	list     a list, and readings of what it lacks
//
// # What it may read and write
//
// It reads belief and callers. It assigns to no field of a record of belief; an effect that
// it chooses is noted by [belief.Belief.Start] at once, so that what other calls choose next
// counts with it, and the rest by methods of the record, which package belief lists. It
// remembers nothing of its own. Nothing here reads a clock.
//
// # Where things are
//
//	decide.go   which step follows for which call
//	read.go     lists, direct readings, and whether an instance is gone
//	create.go   creation; build.go: disks, devices and boot
//	tags.go     writes of tags
//	remove.go   removals and reads of one instance
//	collect.go  lists for callers, and what nothing needs
//	waiting.go  why a caller waited in vain
package decide
