// Package world models the account behind the simulator: clusters, pools, nodes
// and Linodes, the rules for changing them, and what the platform does with them
// as time passes. It depends on nothing of HTTP; package linodesim puts the API in
// front of it and describes the model.
//
// Each subject has a type (Pools, Linodes, Firewalls, ...), which a Moment
// returns. The operations of the API are its methods that have their names: each
// takes the values of the path and the body, and returns the answer, in the types
// of package api. Objects beside clusters and Linodes are kept as the API shows
// them. What a tier or v4beta has and others have not is decided here.
//
// Begin takes the time from the Clock of the Config and lets first happen what
// was planned until then, in order. Drawn values come from the seed, in the
// order of the calls, so the same calls at the same times give the same world.
// A refused change changes nothing and gives a *Refusal with status, fields and
// reasons in the API's shape. One lock guards the whole world, from Begin to its
// end, and is never held across a wait. Answers may point into the world, so they
// are written before the end; Snapshot, Audit and events are copies.
//
// Units: MB (MiB) for memory and disks; times as time.Time and time.Duration.
//
// A cluster of Standard has at most 250 nodes and its pools 100; a pool of Enterprise has
// at most 500 nodes. IDs begin with recorded numbers and grow.
package world
