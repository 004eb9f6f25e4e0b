// Package engine is the claim engine of package lkepool as a state machine,
// without goroutine, clock, lock, I/O or context: [Core.Handle] takes an [Event]
// and the time, and returns [Action]s. One order of events always has one
// result, so that a test can replay it. Package lkepool/allocator has the shell that
// runs it; nothing else imports this package.
//
// # Where things are
//
//	event      what goes in and what comes out
//	belief     the facts about the platform; events in, facts out
//	decide     what to do about it, with reasons
//	callers    who waits for what: admitted, answered, dismissed
//	tagging    the tags of pools and claims
//	tuning     every constant, with its reason
//
// This package puts them together: [Core] passes an event to callers or belief, and what
// both know then to decide. event, tagging and tuning import none of the others; belief
// and callers import these three; decide imports all five. Each package's doc states what
// it may read and write, and the tests of package lkepool hold it.
//
// # One request's way
//
// From Claim to the request that buys: Allocator.Claim, shell.call, shell.loop,
// shell.step, Core.Handle, Callers.Admit, Decider.Decide, supplier.supply, buyer.buy,
// buyer.grow, shell.effect, which calls Backend.Scale or Backend.Create. To the one that
// writes the claim: claimer.match, claimer.finish and claimer.mark instead of buyer.buy and
// buyer.grow.
//
// # Words
//
// A directRead is one of a single object, a reading is any answer with an object
// in it. A node's phase is free, reserved for a claimant, writing, unsure after a write
// without an answer, held, condemned or gone; a pool's usable, frozen, doomed or ended.
// Phases only go forward. A condemned node or doomed pool is one whose removal was sent and
// may take effect; a frozen pool one whose count was sent without an answer and may take
// effect. To settle is to be older than a direct read may be out of date.
package engine
