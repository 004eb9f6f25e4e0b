// Package core is the engine of package clusterapi as a state machine without goroutine, clock, lock, I/O or
// context: [Core.Handle] takes an [Event] and the time, and returns [Action]s. One order of events
// has one result. Package clusterapi/allocator runs it; nothing else imports this package.
//
// # Why it is small
//
// Each write has the resourceVersion of the reading from which it was decided as its precondition, and readings
// come from the quorum, one after another. Of all writes with one version at most one takes effect, at any time
// and from any process. There is no settle time, no bound on late effects, no proof of absence and no frozen
// count: a reading with another version proves that no earlier write can take effect any more.
//
// # Where things are
//
//	core.go      events to actions; when to read; requests under way
//	callers.go   the calls that wait; admitted and answered
//	memory.go    knowledge that outlives a reading: ages, attempts, claims that were seen, refusals
//	decide.go    one reading and its indexes, and the order of decisions
//	claim.go     which claimant gets which Machine, and how many are missing
//	release.go   which Machines are marked for deletion
//	remove.go    how counts are lowered so that only marked Machines go
//
// The files decide, claim, release and remove are functions of a reading, the callers and the memory: they return writes
// and answers and change nothing else.
//
// # How Cluster API shrinks
//
// A MachineSet with more Machines than spec.replicas deletes Machines with a deletion timestamp first, then Machines with
// DeleteMachineAnnotation, then unhealthy Machines (machineset_deletion_order.go of v1.14). Machines that are being deleted count
// until they are gone (machineset_controller.go, syncReplicas). If the replicas of a MachineDeployment with strategy OnDelete are
// lowered, the oldest MachineSet shrinks first, whichever MachineSet has the annotated Machine
// (machinedeployment_rollout_ondelete.go). If another set has that Machine, this engine pauses the deployment, shrinks the set by
// itself, and resumes the deployment: see remove.go.
//
// # Times and errors
//
//	one reading at a time      a second after the last one began (Config.ReadInterval), at once for a new call, two seconds after an error
//	a write is answered 409    or 404: nothing is remembered, and the next reading decides anew
//	another error              the object is tried again after a reading; Forbidden and Invalid go to the callers
//	no Machine comes           two minutes after replicas was raised (Config.StuckTimeout): KindInsufficientCapacity
//	no usable deployment       KindConflict with the reason of each
//	the infrastructure fails   its error goes to the caller, and the Machine is marked for deletion
//
// After Begin the version of every Machine that is free is changed first, because a write of the previous leader
// may still take effect; claimants wait for that. A Core is for one goroutine, and keeps nothing on disk: claims
// are annotations.
package core
