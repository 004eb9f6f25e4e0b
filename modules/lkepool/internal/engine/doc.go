// Package engine is the claim engine of package lkepool as a state machine,
// without goroutine, clock, lock, I/O or context: [Core.Handle] takes an [Event]
// and the time, and returns [Action]s. One order of events always has one
// result, so that a test can replay it. Package lkepool/allocator has the shell that
// runs it; nothing else imports this package.
//
// # Where things are
//
//	event.go     what goes in and what comes out
//	core.go      the state, and Handle
//	world.go     what is known: nodes, pools, claims, and since when; lookup.go and
//	             index.go find it, prune.go forgets what is gone
//	merge*.go    the only code that changes what is known of the platform, and
//	             the rules about readings that are out of date: of pools, of
//	             nodes, and the answers to writes
//	decide.go    decide chooses what to do, for all keys together, from the
//	             results of demands and supply
//	claim.go     gives back, hands out, writes claims and writes them again
//	buy.go       buy is the only function that buys; ceiling.go bounds it
//	remove.go    removes one node; sweep.go collects what nothing needs
//	poll.go      looks for what is on its way
//	read.go      requests readings, once for all callers that need them
//	requests.go  admits callers and answers those that leave; answers.go serves
//	             what is not a claim
//	tuning.go    every constant, with its reason
//
// # One request's way
//
// From Claim to the request that buys: Allocator.Claim, shell.call, shell.loop,
// shell.step, Core.Handle, Core.decide, Core.buy, Core.grow, shell.effect, which
// calls Backend.Scale or Backend.Create. To the one that writes the claim:
// Core.match, Core.finish and Core.mark instead of Core.buy and Core.grow.
//
// # Words
//
// A directRead is one of a single object, a reading is any answer with an object
// in it. A node's claimState is free, reserved for a claimant, writing, unsure after a
// write without an answer, or held. A condemned node or pool is one whose removal was
// sent and may take effect; a frozen count one that was sent without an answer and may
// take effect. To settle is to be older than a direct read may be out of date.
package engine
