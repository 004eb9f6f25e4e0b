// Package world models the account behind the simulator: clusters, pools, nodes and
// Linodes, the rules for changing them, and what the platform does with them as time
// passes. It handles no HTTP; package linodesim puts the API in front of it and
// describes the model.
//
// Each subject has a type (Pools, Linodes, Firewalls, ...), which a Moment returns.
// Each operation of the API is the method with the operation's name: it takes the
// values of the path and the body, and returns the answer, in the types of package api.
// Clusters and Linodes have types of their own; other objects are kept as the API shows
// them. The package knows which fields and operations only one tier or only v4beta has.
//
// Begin takes the time from the Clock of the Config. It first carries out, in order,
// the changes that were planned for that time or earlier. Drawn values come from the
// seed, in the order of the calls, so the same calls at the same times give the same
// world. A refused change changes nothing and returns a *Refusal with status, fields
// and reasons in the API's shape. One lock guards the whole world, from Begin to its
// end, and is never held across a wait. Answers may point into the world, so they are
// written before the end; Snapshot, Audit and events are copies.
//
// Units: MB (MiB) for memory and disks; times as time.Time and time.Duration.
//
// A cluster of Standard has at most 250 nodes and its pools 100; a pool of Enterprise has
// at most 500 nodes. IDs begin with recorded numbers and grow.
package world
