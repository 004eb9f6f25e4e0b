// Package decide chooses what to do: a function of the known facts (package belief), of who
// waits (package callers) and of the time. It is the only code that chooses actions, each
// with its reason, and answers, except for those of callers that cannot be admitted or
// have left.
//
// # What it may read and write
//
// It reads belief and callers. It assigns to none of their fields; an action that it
// chooses is noted by [belief.Belief.Start] at once, so that the next choice counts
// with it, and an answer by callers. Of its own it remembers two things between events:
// when nodes that are on their way are looked for next ([watcher]), and whether the first
// full reading of this leadership was complete ([surveyor]). Nothing here reads a clock;
// what has to wait schedules a tick.
//
// # The order of a turn
//
//	hear            refusals, for the claimants that they concern
//	restoreTags     claims whose tags were taken away
//	finishRemovals  removals whose effect is not known
//	giveBack        claimants that have a node, or whose claim is being written
//	informed        what has to be read before anything is handed out or bought
//	supply          what there is for each key
//	match           free nodes, to claimants in the order in which they came
//	buy             the missing nodes; nothing else buys
//	watch           nodes that are on their way
//	serve           requests other than claims
//
// # Where things are
//
//	decide.go    the order above
//	turn.go      the time, actions and ticks of one turn
//	read.go      chooses readings, once for all that need them
//	survey.go    the full readings that all else rests on
//	supply.go    what there is for a key
//	claim.go     gives back, hands out, has claims written
//	buy.go       buys
//	remove.go    removes one node; sweep.go collects what nothing needs
//	serve.go     releases, reads, lists, changes of tags
//	watch.go     when to look for nodes on their way
package decide
