// Package explore searches small worlds completely, for the tests of engines whose core
// is deterministic. Random schedules find likely faults; this package finds every fault that
// is possible within a bound.
//
// A [World] is a model of the platform, the core itself, and the requests between them.
// It says what may happen next, and each of these moves is made on a [Clone] of the
// world. A world that was met before, by its [Fingerprint], is not searched again: all
// that may follow is known. Every violation comes with the moves that lead to it.
//
//	report := explore.Search[*world, move]{Start: newWorld, Workers: 2}.Run()
//
// # Sound as far as this goes
//
// Two worlds with one fingerprint are taken for one. It covers everything that is
// reachable from the world, unexported fields of the core included, but for what
// [Search.Ignore] names. It has 64 bits: of ten million states two collide with a
// probability of 3 in a million, and what only the second one leads to is not seen then.
// [Search.Recheck] repeats the moves to every nth state from the beginning and compares
// the fingerprints: a core that is not deterministic, or that a clone does not reproduce,
// ends the search.
//
// The counts of a report depend on the world alone, not on workers or on time.
//
// # What it may know
//
// It knows nothing of claims, engines or platforms, and imports the standard library
// alone. Package unsafe lets it copy and read fields that the core does not export: a
// core need not be written for it.
package explore
