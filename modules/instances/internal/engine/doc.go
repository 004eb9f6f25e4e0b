// Package engine is the engine of package instances as a state machine, without
// goroutine, clock, lock, I/O or context. A caller is admitted ([Core.Admit]) and requests
// its next step ([Core.Next]) until it is answered; the end of an effect goes to
// [Core.Handle]. One order of events always has one result, so that a test can replay it.
// Package instances has the shell that runs it; nothing else imports this package.
//
// # Where things are
//
//	event      what goes in and what comes out
//	belief     the record of the platform; results in, facts out
//	decide     the next step of a call, with its reason
//	callers    who waits for what: admitted, queued, dismissed
//	tagging    the tags of instances
//	byclaim    records found by their claimants
//	tuning     every constant, with its reason, and the settings
//
// This package puts them together: [Core] passes a result to belief, what it means to
// callers to these, and both to decide. event and tuning import none of the others,
// tagging and byclaim at most event; belief and callers import these four; decide imports
// all. Each package's doc states what it may read and write, and the tests of package
// instances hold it.
//
// Unlike the engine of package lkepool this one decides for one call at a time, in the
// caller's own goroutine. An instance has one claimant from its first moment, so there is
// nothing to match among claimants; calls share the record, the queue of
// creations, and readings that one of them has under way. An effect about a claimant's
// instance is decided only in a call for that claimant, so the image, the user data and
// the sizes of disks stay in the shell.
//
// # One request's way
//
// From Create to the request that makes the instance: Manager.Create, shell.call,
// Core.Admit, shell.step, Core.Next, Decider.Next, creator.next, creator.make,
// Belief.Start, shell.start, which calls Backend.Create. Its answer: shell.perform,
// Core.Handle, Belief.Merge, Belief.created.
//
// # Words
//
// A direct reading is one of a single object. A condemned instance is one whose removal
// was sent and may take effect; frozen tags were sent without an answer and may take
// effect. To settle is to be older than a direct reading may be out of date. A stripped
// instance lost the tags of its claim, a disputed one has the tags of another claimant.
package engine
