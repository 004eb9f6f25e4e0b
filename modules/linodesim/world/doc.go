// Package world is the model behind the simulator: clusters, pools, nodes and
// Linodes, the rules for changing them, and what the platform does with them as
// time passes. It knows nothing of HTTP; package linodesim puts the API in
// front of it and describes the model.
//
// Methods take the time from the Clock of the Config and let first happen what
// was planned until then, in order. What is drawn comes from the seed, in the
// order of the calls, so the same calls at the same times give the same world.
// A refused change changes nothing and gives a *Refusal with status, fields and
// reasons in the API's shape. Results are copies. All methods are safe for
// concurrent use; one lock guards the whole world and is never held across a
// wait.
//
// Units: MB (MiB) for memory and disks; times as time.Time and time.Duration.
package world
