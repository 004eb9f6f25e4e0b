// Package allocator has the [Allocator], which gives each claimant one Machine. It runs the state machine of
// package core: it serialises events, starts requests with package claims/effects, and has no knowledge of claims.
//
// The caller is package mode/clusterapi of module operator. Claim and Release wait until they succeed or their context ends; World, Get,
// List and Collect wait for one reading. The end of a context cancels no write: if Claim has begun to raise replicas, the raise continues,
// and the next Claim finds the Machine.
//
// A process that is elected calls Begin. Claims are annotations on Machines, so a crash loses none: a
// Machine that a crashed process has bought is free or claimed in the next reading.
//
// # Errors
//
// Errors of calls are *claims.Error; Collect joins several. World, Get, List and Collect return the error of a failed reading at
// once. Claim and Release go on after a failed request, unless its error is KindForbidden or KindInvalid, which only a user can cure.
//
//	KindProvisioning                   ctx ended first; repeat the call
//	KindUnavailable, KindRateLimited   ctx ended first, and the last request failed; repeat the call
//	KindConflict                       the Machine has another claimant, or no MachineDeployment of the call can be used
//	KindInsufficientCapacity           no Machine has come two minutes after replicas was raised (Config.StuckTimeout)
//	KindNotFound                       a reading of all Machines lacks the Machine
//	KindForbidden, KindInvalid         the API server refuses a request; or the call or the Config is not complete
//
// If a Machine cannot be made, Claim returns the Machine's Failure with the kind that package kube describes.
//
// # Limits
//
// At most 16 requests run at once, and a request may take 15 seconds. A write that has waited for ten
// seconds for its turn is not sent. This counts as a failed request with KindUnavailable and EffectNone,
// and the next reading decides anew.
package allocator
