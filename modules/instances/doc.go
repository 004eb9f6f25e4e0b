// Package instances makes exactly one Linode for each claimant and removes it
// again, for controllers that need one machine per object: a Karpenter cloud
// provider for self-managed clusters, a build farm, a fleet of runners. It needs
// no Kubernetes type. Claimants, errors and sweeps are types of module claims.
// Package linodeapi implements [Backend] over the Linode API, package bootstrap
// renders user data with which a node joins a cluster.
//
//	backend, err := linodeapi.New(client)
//	...
//	manager, err := instances.New(backend, instances.Config{Cluster: "demo", Records: &claims.RecordMap{}})
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
// If the answer to a creation was lost, or the API refuses the creation because the label is
// taken, the engine lists that label. It adopts an instance with the tags of this cluster
// and claimant; any other instance is a claims.KindConflict.
//
// # Shape
//
// The engine is a state machine without goroutine, clock, I/O or context, in internal/core. Its
// parts are packages: the record of the platform (known), the waiting calls (callers), and the
// decisions (decide). A call requests its next step until it is answered: an effect, a wait, or
// the answer. This package has the vocabulary and the shell. order.go takes from a Spec the
// part that the engine needs. shell.go runs calls, and runs effects with package
// claims/effects. requests.go turns effects into calls of the [Backend].
//
// # Guarantees
//
// These guarantees hold if direct readings are at most Config.SettleTime old, lists are at
// most Config.ListLag old, and a write without a successful answer takes effect within
// Config.LateEffect of its failure or of the death of its sender, or never. Direct reads may
// answer 404 for many existing instances at once.
//
//   - A claimant has one instance. The engine creates no instance while an instance with the
//     claimant's label exists, or an instance of the claimant that was read under another label.
//   - A taken label is a claims.KindConflict if a reading shows that the instance with the
//     label belongs to another owner. If no list shows that instance, the label is a conflict
//     only if the API refuses it again after a search and a list that must show the instance.
//   - An instance that a list lacks, or that answered 404, still counts. claims.KindNotFound
//     means a proof: two direct reads, at least SettleTime apart, answered 404, and a list that
//     began after both reads, and ListLag after the instance was first seen, lacks the
//     instance. After an accepted removal, two such reads are a proof, or one read and a later
//     list. The first 404 is timed from its response.
//   - An instance whose removal was sent, and may have been accepted, is never returned to a
//     claimant again. The engine repeats the removal.
//   - The engine does not replace tags while another write of them may still take effect,
//     unless that write has the same tags or a reading shows its effect. It requests a data
//     disk again only if a list of the disks that began after that time lacks the disk.
//   - Ceilings count each instance until it is proven gone, and each creation without an
//     answer until a list must show its instance. Under ceilings, a process that begins to
//     lead creates nothing for ListLag, and for LateEffect more if the previous process may
//     still write.
//   - The engine modifies only instances with the exact tag of this cluster and a claim. It
//     reads cluster, claimant and UID again right before each removal, and refuses Delete if
//     the claim belongs to another claimant, also to a later claimant of the same name.
//   - If a user removes a claim from an instance that this process has read, the engine writes
//     the claim again, with all tags that the instance had beside it. If a user removes only a
//     tag of the caller, the tag stays away until SetTags adds it.
//   - A write of tags loses no tag that a process of this cluster has written. For this, a
//     process that begins to lead waits before it writes tags to an instance that it did not
//     make: for SettleTime, and for LateEffect more if the previous process may still write.
//   - At most 20 creations are sent in 15 seconds (Config.Creations), in the order of arrival. A
//     claimant keeps its position for two minutes after its caller has left. A claimant whose
//     label is being searched lets the others pass. claims.KindProvisioning names the position
//     and the time of the next slot.
//   - The disks and the boot are steps. Each step continues from the state in the API, after a
//     reading of the instance, whether or not a user has removed the tag of unfinished
//     instances. The engine repeats a step without an answer after SettleTime, and reads only
//     the changed part again. It removes an unfinished instance that was not started within
//     Config.FinishTimeout.
//   - The engine decides again about a write that waited for 5 s before it was sent, and about
//     a creation that waited for 20 s.
//   - The state is bounded by the existing instances and claimants, and by the requests of the
//     last ten minutes.
//   - A call returns when its context ends, with the reason. After the last caller, only
//     writes under way have a goroutine, timer or request.
//
// # Not guaranteed
//
//   - A second instance is possible if a user renames the first one within 2 minutes of its
//     creation, before this process or a list has shown it, and the process that made it has
//     ended or the creation had no answer. Collect removes one of the two.
//   - If a user removed tags before this process started, the tags are lost. Collect reports
//     the instance if it still has the cluster's tag.
//   - An accepted removal without effect, followed by two wrong 404s, is a wrong proof that the
//     instance is gone. Wrong 404s of an instance whose tags a user removed are a wrong proof,
//     too. A list shows the instance later, and Collect finds it.
//   - A write that takes effect later than LateEffect may undo later tags, make a disk twice,
//     or exceed a ceiling.
//   - Direct reads older than SettleTime may undo tags that another process or a user wrote.
//     Two wrong 404s that come together then prove that an instance is gone.
//   - Lists older than ListLag, or lists that lack an instance, may complete such a proof,
//     exceed a ceiling after a start, and hide a renamed instance, which is then made again.
//     In all other cases labels prevent a second instance, at any time.
//   - The engine drains nothing. Collect calls Sweep.Vacate before it removes an instance.
//   - If neither keys nor users are given, the engine makes a password and does not keep it.
//
// # What the tests show, and how far
//
// Random lives on the state machine combine all faults above. Small worlds (one or two
// claimants, one other process, at most two faults, a data disk, changes of tags, a later
// claimant with the same name) are searched completely: every order of requests, every fate
// of each request, and every version that a reading may show within its bound. docs/claiming.md
// of the repository lists the complete worlds with their numbers of states, and the omissions:
// labels of other owners' Linodes, ceilings, wrong clocks, lists that lack entries, and more faults.
//
// # Cost
//
//	instance     one request
//	start        one list for all instances, a second list after two minutes of leading, and a
//	             third list after LateEffect if the previous process may still write. In the first
//	             two minutes a creation needs a list that is at most 15 s old: at most eight lists
//	data disks   five requests for all, two of them lists, one write for each disk, and reads of
//	             single objects while the instance and its disks become ready
//	Delete       a read and a write; two reads prove the end
//	List         one list for 500 instances
//	proof        without a removal, one list that all callers share
//
// # Errors
//
// Errors are *claims.Error: Kind classifies them by what a caller can do, Effect
// reports whether the platform changed (none, applied, or unknown), Field names the
// field of the request at fault, and RetryAfter the shortest useful pause.
//
// # Concurrency and leading
//
// A [Manager] is safe for concurrent use. New begins to lead. A standby process calls Begin
// when it is elected, and passes whether the previous process may still write. Begin drops
// all readings and keeps the callers. Before the first creation the engine lists all
// instances of the cluster. Ages are measured on Config.Clock, from the moment at which this
// process first saw an object. Sizes are MB as the API counts them, times are UTC.
package instances
