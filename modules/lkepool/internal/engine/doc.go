// Package engine is the claim engine of package lkepool as a state machine,
// without goroutine, clock, lock, I/O or context: [Core.Handle] takes an [Event]
// and the time, and returns [Action]s. One order of events always has one
// result, and a test can play it. Package lkepool has the shell that runs it and
// the API for importers; nothing else imports this package.
//
// # Where things are
//
//	event.go     what goes in and what comes out
//	core.go      the state, and Handle
//	world.go     what is known: nodes, pools, claims, and since when; lookup.go
//	             finds it
//	merge*.go    the only code that changes what is known of the platform, and
//	             the rules about readings that are out of date: of pools, of
//	             nodes, and the answers to writes
//	decide.go    decide chooses what to do, for all keys together; demands and
//	             supply are what it goes by
//	claim.go     gives back, hands out, writes claims and writes them again
//	buy.go       buy is the only function that buys
//	remove.go    removes one node; sweep.go collects what nothing needs
//	poll.go      looks for what is on its way
//	read.go      asks for readings, once for all who need them
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
// A look is a direct read of one object, a reading is any answer with an object
// in it. A hold is the claim on a node; a node is free, reserved for a claimant,
// being written, unsure after a write without an answer, or held. A slot is a member
// slot of a pool. To settle is to be older than a direct read may be out of date.
package engine
