// Package explore searches small worlds completely, for the tests of engines whose core
// is deterministic. Random schedules find likely faults; this package finds every fault that
// is possible within a bound.
//
// A [World] is a model of the platform, the core itself, and the requests between them.
// The World lists its next moves, and the search makes each move on a [Clone] of the
// World. The search does not continue from a World with a known [Fingerprint], because it
// has seen everything that follows. Each violation comes with the moves that lead to it.
//
//	report := explore.Search[*world, move]{Start: newWorld, Workers: 2}.Run()
//
// [Report.Complete] is true if the search has seen every state. It is false if [Search.Most] states or [Search.Failures] violations (one by
// default) ended the search early. A panic of the core is a violation, too.
//
// # Limits
//
// Two Worlds with one fingerprint count as the same World. The fingerprint covers
// everything that is reachable from the World, also unexported fields of the core, except
// for the fields in [Search.Ignore]. It has 64 bits: among ten million states, two states
// collide with a probability of 3 in a million. The search then misses the states that only
// the second state leads to.
//
// [Search.Recheck] repeats the moves to every nth state from the beginning and compares
// the fingerprints. If the core is not deterministic, or a clone differs from its
// original, the search ends with an error.
//
// The counts of a report depend only on the World, and not on the number of workers or on time.
//
// # Imports
//
// The package depends on no claim, engine or platform, and imports only the standard
// library. With package unsafe it copies and reads unexported fields, so a core needs no
// code for the search.
package explore
