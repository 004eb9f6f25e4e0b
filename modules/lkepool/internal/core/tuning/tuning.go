// Package tuning has every constant of the engine, each with its unit and reason. How
// long readings may be out of date, and what else differs between platforms, is a
// setting in lkepool.Config. The package imports nothing but time.
package tuning

import "time"

// What the engine counts, and how long it waits.
const (
	// GoneMemory is how long it is remembered that an object is gone: late lists show
	// it again.
	GoneMemory = 10 * time.Minute
	// ReadValid is how long a direct read counts as "right before" an action.
	ReadValid = 2 * time.Second
	// CountValid is how long after its decision a count, or the deletion of a pool, may
	// be sent, SendWithin another change of a pool, and ClaimWithin a claim: nothing but
	// another process makes that one wrong.
	CountValid  = 3 * time.Second
	SendWithin  = 15 * time.Second
	ClaimWithin = time.Minute

	// A node on its way counts for Slowness times the slowest of the last Measured nodes of its plan, and for ShortestWait at least. Before
	// one was measured it counts for FirstWait. Recorded nodes have their ID within seconds, and 4 times that is beyond a bad day of LKE.
	Measured     = 20
	Slowness     = 4
	ShortestWait = 90 * time.Second
	FirstWait    = 3 * time.Minute

	// LateValid is how long a look counts that showed that late nodes have not come. A claimant that is refused by an older look gets a
	// node of another plan, although its own one may have come since.
	LateValid = 15 * time.Second

	// GatherQuiet is how long no new claimant may have arrived before nodes are
	// bought, so that one burst is one purchase; GatherMost bounds the wait.
	// Reconciles of one burst were measured to spread over about 0.3 s.
	GatherQuiet = 500 * time.Millisecond
	GatherMost  = 4 * time.Second

	// FullReadEvery is the age at which both lists are read again while
	// claimants wait: hand edits show in nothing else.
	FullReadEvery = 2 * time.Minute
	// UnsettledGrace is how long a pool with more members than its count, or a
	// claimed instance that its pool no longer lists, is waited for.
	UnsettledGrace = 2 * time.Minute
	// UnreadGrace is how long reads of an instance that is known by its ID alone
	// have to fail until claimants of its key get others: it may be the node of one
	// of them. It is longer than the storms of failures that are to be outlasted by
	// waiting, and far shorter than PendingTimeout, within which a node may take to come.
	UnreadGrace = 2 * time.Minute
	// VerifyAgain is the distance of direct reads of an instance that is waited for.
	VerifyAgain = 5 * time.Second
	// MissingAgain is the distance of reads of an object that was missing twice, while no list can say more.
	MissingAgain = 15 * time.Second
	// UnknownReads is how many instances of a pool that are known by their ID alone are read at the same time.
	UnknownReads = 2
	// ReadAgain is the distance of a direct read of an instance from one that did not find it.
	ReadAgain = time.Second
	// FirstReadAfter is how long after a purchase the first look for it is:
	// instances appear after 2 s at the earliest (recorded).
	FirstReadAfter = time.Second
	// FewNodes are looked for every NearRead, or NearList where a look is a list,
	// until a tenth of the time that has passed is more.
	FewNodes = 20
	NearRead = time.Second
	NearList = 2300 * time.Millisecond
	// DirectPolls is how many pools are polled one by one; a list of all pools
	// is one request of a scarcer kind.
	DirectPolls = 1

	// RemovalResend is the age at which an accepted removal without effect is
	// sent again. LKE removes nodes within seconds (recorded).
	RemovalResend = time.Minute
	// SightValid is how long a read or a write of tags shows that an instance exists which its pool does not list. A person may have deleted
	// the instance since: then a purchase buys the node that the platform makes in its place.
	SightValid = 20 * time.Second
	// RestoreAgain is the pause between two writes of a claim's tag. Without it a tag that another client takes off, or a write without
	// effect, costs five requests a second.
	RestoreAgain = 15 * time.Second
	// MarkAttempts is how many failed writes of its tags in a row make an instance hopeless: its claimant gets another one.
	MarkAttempts = 3
	// HopelessLimit is how many instances in a row may be hopeless until tags are taken to fail in general: no further node would help.
	HopelessLimit = 2
	// FirstProbe and LongestProbe bound the pause between two marks after the
	// API refused one as forbidden or invalid.
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
	// SilentAfter is how long a request may be without an answer until a
	// claimant whose time ends gets that as the reason.
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
