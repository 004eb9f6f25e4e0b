// Package allocator has the [Allocator], which gives each claimant one Machine. It runs the state machine of
// package core: it serialises events, starts requests with package claims/effects, and has no knowledge of claims.
//
// The caller is package mode/clusterapi of module operator. Claim, Release, World, Get, List and Collect
// wait until their context ends; a purchase that was begun continues, and the next call finds it. Errors
// are *claims.Error: KindProvisioning means that the call has to be repeated, KindConflict that the
// Machine is another claimant's. A request may take 15 seconds. A process that is elected calls Begin,
// which forgets what was read. Claims are annotations on Machines, so nothing is lost with the process.
//
// A Request needs a claimant with a name and a UID, and at least one MachineDeployment; otherwise Claim
// returns KindInvalid, as Collect does without Sweep.Alive. At most 16 requests run at once. A write that
// has waited for ten seconds is not sent: KindUnavailable with EffectNone, and the next reading decides
// anew. Collect returns the removed Machines together with the errors of the others.
package allocator
