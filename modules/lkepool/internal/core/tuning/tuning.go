// Package tuning has every constant of the engine, each with its unit and reason.
// Values that differ between platforms, such as how long readings may be out of date,
// are settings in lkepool.Config. The package imports nothing but time.
package tuning

import "time"

// What the engine counts, and how long it waits.
const (
	// GoneMemory is how long the engine remembers that an object is gone: late lists
	// show it again.
	GoneMemory = 10 * time.Minute
	// ReadValid is how long a direct read counts as "right before" an action.
	ReadValid = 2 * time.Second
	// CountValid is how long after its decision a count, the tag of a pool or the deletion
	// of a pool may be sent. SendWithin is the same for the creation of a pool and the
	// removal of a node, ClaimWithin for the tags of an instance, which only another
	// process can make wrong.
	CountValid  = 3 * time.Second
	SendWithin  = 15 * time.Second
	ClaimWithin = time.Minute

	// A node on its way counts for Slowness times the slowest of the last Measured nodes of its plan, and for ShortestWait at least. Before
	// one was measured it counts for FirstWait. Recorded nodes have their ID within seconds, and 4 times that is beyond a bad day of LKE.
	Measured     = 20
	Slowness     = 4
	ShortestWait = 90 * time.Second
	FirstWait    = 3 * time.Minute

	// LateValid is how long a look counts that showed that late nodes have not come. A claimant that is refused because of an older look
	// gets a node of another plan, although its own node may have come since.
	LateValid = 15 * time.Second

	// GatherQuiet is how long no new claimant may have arrived before nodes are
	// bought, so that one burst is one purchase; GatherMost bounds the wait.
	// Reconciles of one burst were measured to spread over about 0.3 s.
	GatherQuiet = 500 * time.Millisecond
	GatherMost  = 4 * time.Second

	// FullReadEvery is the age at which both lists are read again while claimants
	// wait: only lists show edits by hand.
	FullReadEvery = 2 * time.Minute
	// UnsettledGrace is how long the engine waits for a pool to list an instance
	// that it has never listed, before the instance counts as detached.
	UnsettledGrace = 2 * time.Minute
	// UnreadGrace is how long reads of an instance have to fail until claimants of its key
	// get other instances: the instance may be the node of one of them. It is longer than
	// the storms of failures that waiting outlasts, and far shorter than PendingTimeout,
	// within which a node may take to come.
	UnreadGrace = 2 * time.Minute
	// VerifyAgain is the pause between two direct reads of an instance that the engine waits for.
	VerifyAgain = 5 * time.Second
	// MissingAgain is the pause between two reads of an object that was answered 404 twice, while no list can decide.
	MissingAgain = 15 * time.Second
	// UnknownReads is how many instances of a pool that are known only by their IDs are read at the same time.
	UnknownReads = 2
	// ReadAgain is the pause after a direct read that failed or was answered 404.
	ReadAgain = time.Second
	// FirstReadAfter is how long after a purchase the first look for it is:
	// instances appear after 2 s at the earliest (recorded).
	FirstReadAfter = time.Second
	// FewNodes is the largest number of nodes that the engine looks for every
	// NearRead, or every NearList if a look is a list, until a tenth of the time
	// that has passed is more.
	FewNodes = 20
	NearRead = time.Second
	NearList = 2300 * time.Millisecond
	// DirectPolls is the largest number of pools that are read one by one. For
	// more pools a look is one list of all pools: the API allows fewer lists than
	// reads.
	DirectPolls = 1
	// Soon is how long after a purchase looks are NearRead or NearList apart, until it is known how long nodes take. For nodes in more than
	// BurstPools pools it is SoonMany: their purchases are spread over seconds, and each look is a list.
	Soon     = 5 * time.Second
	SoonMany = 2 * time.Second
	// BurstPools is the largest number of pools that one burst of one key fills. A list of so many pools is read as often as one pool, if
	// more than FewNodes are on their way.
	BurstPools = 3

	// RemovalResend is the age at which an accepted removal without effect is
	// sent again. LKE removes nodes within seconds (recorded).
	RemovalResend = time.Minute
	// SightValid is how long a read or a write of its tags shows that an instance exists which its pool does not list. A person may have
	// deleted the instance since: without another read, a purchase would buy a node that the platform makes anyway.
	SightValid = 20 * time.Second
	// RestoreAgain is the pause between two writes of a claim's tag. Without the pause a tag that another client removes again and again,
	// or a write without effect, would cost five requests a second.
	RestoreAgain = 15 * time.Second
	// MarkAttempts is how many failed writes of its tags in a row make an instance hopeless: its claimant gets another instance.
	MarkAttempts = 3
	// HopelessLimit is how many instances in a row may be hopeless. After that tags count as failing in general: no further node would
	// help.
	HopelessLimit = 2
	// FirstProbe and LongestProbe bound the pause between two writes of tags after
	// the API refused a write as forbidden or invalid.
	FirstProbe   = 5 * time.Second
	LongestProbe = 5 * time.Minute
	// LongestRetry bounds the pause after repeated failures of one request.
	LongestRetry = 15 * time.Second

	// LongestVain bounds the pause between creations of pools that the platform accepts and does not make. Such a creation may still take
	// effect late, and each of them costs five requests.
	LongestVain = 2 * time.Minute

	// EditedLimit is how many pools of one key may be out of use because they
	// were edited. Another attempt would only add one more.
	EditedLimit = 3

	// ConfirmedFor is how long the answer to a claim's write is repeated to its
	// claimant without another read.
	ConfirmedFor = time.Minute
	// SilentAfter is how long a request may be without an answer until a claimant
	// whose time ends gets the missing answer as the reason.
	SilentAfter = 5 * time.Second

	// ParallelRemovals and ParallelReads bound the requests for one pool and for
	// single instances at the same time, ParallelEffects all requests.
	ParallelRemovals = 16
	ParallelReads    = 32
	ParallelEffects  = 64
	// ReadTimeout and WriteTimeout end a request that gets no answer.
	ReadTimeout  = 30 * time.Second
	WriteTimeout = time.Minute
)
