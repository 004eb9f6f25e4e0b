// Package decide chooses what to do: a function of the record (package known), of who waits (package callers) and of the time. It gets
// views of both, which have no way to change them: [Decide] has no effect, and each action has a reason that a person understands.
//
// # The order of a turn
//
//	hear         refusals, for the claimants that they concern
//	restore      claims whose tag names another claimant
//	finish       removals that may not have had their effect
//	giveBack     claimants that have an instance, or whose claim is being written
//	match        free instances, to claimants in the order in which they came
//	buy          what is missing then; nothing else buys
//	watch        looks for what is on its way
//	serve        requests other than claims
//
// # Where things are
//
//	decide.go    the order above
//	turn.go      what a turn has chosen so far
//	read.go      readings, once for all that need them
//	supply.go    what there is for a key
//	claim.go     gives back, hands out, has claims written
//	buy.go       buys
//	remove.go    removes one node; sweep.go collects what nothing needs
//	serve.go     releases, reads, lists, changes of tags
package decide
