// Package callers records who waits for what: claimants with the key of the node that
// they want, and callers with any other request. It admits them, answers each token once,
// dismisses those whose context ends, and forgets claimants that do not come back.
//
// It reads events and the time that it is given, and writes its own records alone. What is
// known of the platform is none of its business: the reason why a caller waited in vain is
// passed to [Callers.Dismiss], and package decide chooses every other answer. That package
// also notes in a [Request] how far it has come, in Wrote and Sweep, because this ends
// with the request; it changes nothing else here.
//
// It imports event and tagging, never belief or decide.
package callers
