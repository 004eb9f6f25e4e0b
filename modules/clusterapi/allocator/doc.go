// Package allocator has the [Allocator], which gives each claimant one Machine. It runs the state machine of
// package core: it serialises events, starts requests with package claims/effects, and has no knowledge of claims.
package allocator
