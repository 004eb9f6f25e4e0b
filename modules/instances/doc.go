// Package instances makes exactly one Linode for each claimant and removes it
// again, for controllers that need one machine per object: a Karpenter cloud
// provider for self-managed clusters, a build farm, a fleet of runners. It needs
// no Kubernetes type. Claimants, errors and sweeps are types of module claims.
// Package linodeapi implements [Backend] over the Linode API, package bootstrap
// renders user data with which a node joins a cluster.
//
//	backend, err := linodeapi.New(client)
//	...
//	manager, err := instances.New(backend, instances.Config{Cluster: "demo"})
//	...
//	instance, err := manager.Create(ctx, instances.Spec{
//		Claimant:     claims.Claimant{Name: "default-x7k2p", UID: uid},
//		InstanceType: "g6-standard-2", Region: "us-ord", Image: "linode/ubuntu24.04",
//		UserData:     instances.UserData{Content: cloudInit},
//	})
//
// # How one claimant gets one instance
//
// The label of an instance is made from the names of the cluster and of the
// claimant ([Label]), and labels are unique on an account: the API itself
// refuses a second instance. Cluster, claimant and a hash of the claimant's UID
// are tags that go with the same request, so there is no moment at which an
// instance has no owner, and a new process finds everything in the API.
//
// A request whose answer was lost, and one that is refused because its label is
// taken, are followed by a list of that label. An instance with the tags of this
// cluster and claimant is adopted; any other is a claims.KindConflict.
//
// # Shape
//
// The engine is a state machine without goroutine, clock, I/O or context, in
// internal/engine: the record of the platform (belief), who waits (callers), and what
// follows (decide) are packages, whose docs state what each may read and write. A call
// requests its next step until it is answered: an effect, a wait, or the answer. This
// package has the vocabulary and the shell: order.go turns a Spec into what the engine
// has to know of it, shell.go runs calls and, with package claims/effects, effects, and
// requests.go makes calls of the [Backend] of them.
//
// # Guarantees
//
// Direct readings are out of date by at most Config.SettleTime, and lists by Config.ListLag. A
// write that was not answered with success takes effect within Config.LateEffect of its
// failure, or of the death of its sender, or never. Direct reads may answer 404 for
// many instances that exist, in groups. Under these bounds:
//
//   - A claimant has one instance: none is created while one with its label exists,
//     or one that was read under another label.
//   - A label that is taken is a claims.KindConflict if the instance that has it is read
//     and is another's. If no list shows it, it is one only if it is refused again after
//     a search and a list that must show it.
//   - An instance that a list lacks, or that answered 404, still counts.
//     claims.KindNotFound means: two direct reads at least SettleTime apart answered
//     404, and a list lacks the instance that began after them and ListLag after it was
//     first seen; or its removal was accepted, and two such reads, or one and a later
//     list, lack it. The first 404 counts from its answer. See package claims/absence.
//   - An instance whose removal was sent, and may have been or be accepted, is returned to
//     no claimant any more. The removal is repeated.
//   - Tags are not replaced while another write of them may still take effect, unless it
//     has the same tags or a reading shows that it did. A data disk that was requested
//     without an answer is requested again only if a list of the disks that began after
//     that time lacks it.
//   - Ceilings count what exists until it is proven gone, and creations without an answer
//     until a list must show them. A process that begins to lead creates nothing under
//     ceilings for ListLag, and LateEffect longer if the one before may still write.
//   - Only instances with the exact tag of this cluster and a claim are modified.
//     Cluster, claimant and UID are read again right before each removal, and
//     Delete is refused when the claim is another's, a later claimant of the same
//     name included.
//   - A claim that a user removed from an instance is written again if this process
//     read it before, with all tags that the instance had beside it. A tag of the
//     caller that was removed alone stays away until SetTags adds it.
//   - A write of tags loses none that this cluster's processes have written: a
//     process that begins to lead writes none to what it did not make for SettleTime,
//     and LateEffect longer if the one before may still write.
//   - Creations are paced to 20 in 15 seconds (Config.Creations), in the order of
//     arrival; a claimant keeps its position for a while when its caller leaves,
//     and one whose label is being searched lets the others pass.
//     claims.KindProvisioning names the position and the time of the next slot.
//   - Disks and the boot are steps that continue from what the API has, each after
//     a reading of the instance, whether the tag of unfinished instances is there or
//     not. One without an answer is repeated after SettleTime, and only what it changes is
//     read again. An instance that has it, and was not started within Config.FinishTimeout, is removed.
//   - A write that waited for 5 s to be sent, a creation 20 s, is decided again.
//   - State is bounded by the instances and claimants that exist, and by the requests of
//     the last ten minutes.
//   - A call returns when its context ends, with the reason. No goroutine, timer
//     or request is left after the last caller, but for writes under way.
//
// # Not guaranteed
//
//   - An instance that a user renames before this process has read it, within 2 minutes of
//     its creation and before lists show it, when the process that made it has ended or the
//     creation had no answer, may be made twice. Collect removes one.
//   - Tags that a user removed before this process started are lost: Collect reports
//     the instance if it still has the cluster's tag.
//   - An accepted removal without effect, and then two wrong 404s, prove together
//     that an instance is gone which is not. So do wrong 404s of one whose tags a user
//     removed. A list shows it later, and Collect finds it.
//   - A write that takes effect later than LateEffect may undo later tags, make a disk
//     twice, or exceed a ceiling. Direct reads older than SettleTime may undo tags that another
//     process or a user wrote, and two 404s that come together prove then that an instance
//     is gone. Lists older than ListLag may complete such a proof, exceed a ceiling after a
//     start, as a list that lacks an instance may, and hide a renamed instance, which is made again then. Labels prevent a
//     second instance otherwise, at any time.
//   - Nothing is drained. Collect calls Sweep.Vacate before it removes an instance.
//   - A password is made where neither keys nor users are given. It is not kept.
//
// # What the tests show, and how far
//
// Random lives on the state machine have every fault above together. Small worlds (one
// claimant or two, one other process, two faults at most, a data disk, changes of tags, an
// heir of a name) are searched completely: every order of requests, every fate of each,
// and every version that a reading may show within its bound. docs/claiming.md of the repository lists which worlds are
// complete, with the numbers of states, and what they leave out: Linodes of others that have
// a label, ceilings, wrong clocks, lists that lack entries, and more faults.
//
// # Cost
//
// One request for each instance, and one list for all at the start of the
// process, with a second one when it has led for two minutes, and a third one after
// LateEffect if the process before may still write. In the first two minutes a creation
// follows a list that is at most 15 s old, which is eight lists at most. Data disks cost
// five requests more for all, two of them lists, one write for each, and reads of
// one object while instance and disks become ready. Delete is a read and a write,
// and two reads prove its end; List is one list for 500 instances. Proof without a
// removal costs a list, which all callers share.
//
// # Errors
//
// Errors are *claims.Error: Kind classifies them by what a caller can do, Effect
// reports whether the platform changed (none, applied, or unknown), Field names the
// field of the request at fault, and RetryAfter the shortest useful pause.
//
// # Concurrency and leading
//
// A [Manager] is safe for concurrent use. New begins to lead; a standby process
// calls Begin when it is elected, with whether the process before may still write, which
// drops what was read and keeps the callers.
// Before the first creation all instances of the cluster are listed. Ages are
// measured on Config.Clock, from when this process first saw an object. Sizes are
// MB as the API counts them, times UTC.
package instances
