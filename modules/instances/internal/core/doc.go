// Package core is the engine of package instances as a state machine, without goroutine, clock, lock, I/O or context. A caller is admitted
// ([Core.Admit]) and requests its next step ([Core.Next]) until it is answered; the end of an effect goes to [Core.Handle]. One order of
// events always has one result, so that a test can replay it. Package instances has the shell that runs it; nothing else imports this
// package.
//
// # Where things are
//
//	event      the input and the output of the core
//	known      the record of the platform, and the only code that changes it
//	callers    the waiting calls: admitted, queued, dismissed
//	decide     the next step of a call: a function of views of both, which changes neither
//	tagging    the tags of instances
//	byclaim    records found by their claimants
//	tuning     every constant, with its reason, and the settings
//
// [Core] connects these packages: it passes a result to known, the consequences for callers to callers, views of both to decide, and the
// notes of a decision back. event and tuning import no other of these packages, tagging and byclaim at most event. known and callers import
// these four, and decide imports all. The doc of each package lists what the package may read and write, and the tests of package instances
// check that.
//
// This engine decides for one call at a time, in the caller's own goroutine. The engine of package lkepool decides for all callers
// together. An instance has its claimant from its first moment, so no claimants have to be matched with instances. Calls share the
// record, the queue of creations, and readings that one of them has under way. Only a call for a claimant decides effects about the
// claimant's instance, so the image, the user data and the sizes of disks stay in the shell.
//
// # One request's way
//
// From Create to the request that makes the instance: Manager.Create, shell.call, Core.Admit, shell.step, Core.Next, decide.Next,
// creator.next, creator.make, Known.Start, shell.start, which calls Backend.Create. Its answer: shell.perform, Core.Handle, Known.Merge,
// showing.made.
//
// # Words
//
//	missing    a read was answered 404, and no newer answer shows the instance
//	aside      a write may still take effect: the engine does not write other tags, and does not request the same disk again
//	removing   a removal was sent, and may have been accepted: no claimant gets the instance any more
//	gone       it is proven that the instance does not exist
//	stripped   a user removed the tags of the instance's claim
//	disputed   the instance has the tags of another claimant
//
// A direct reading is a reading of a single object. A write has settled when the settle time has passed since its answer: direct readings
// that begin later show it.
package core
