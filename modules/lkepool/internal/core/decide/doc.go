// Package decide chooses the next actions. [Decide] is a function of the record (package known), of the callers that wait (package
// callers) and of the time. It gets views, which cannot change the record or the callers, so it has no effect. Each action has a reason
// for people.
//
// # The order of a turn
//
//	hear         refusals, for the claimants that they concern
//	restore      claims whose tag names another claimant
//	finish       removals that may not have had their effect
//	giveBack     claimants that have an instance, or whose claim is being written
//	match        free instances, to claimants in the order in which they came
//	buy          the nodes that are still missing; no other step buys
//	watch        looks for nodes on their way
//	serve        requests other than claims
//
// # Where things are
//
//	decide.go    the order above
//	turn.go      what a turn has chosen so far
//	read.go      readings, once for all that need them
//	supply.go    the nodes that there are for a key
//	claim.go     gives back, hands out, has claims written
//	buy.go       buys
//	remove.go    removes one node; sweep.go collects nodes, slots and pools that no claimant needs
//	serve.go     releases, reads, lists, changes of tags
package decide
