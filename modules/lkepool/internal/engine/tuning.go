package engine

import "time"

// Every tuning constant of the engine is here. How long a direct read may be
// out of date is a setting, Config.SettleTime; the other settings are in Config.
const (
	// listLag is how far a list may lag behind writes. The API documents no
	// bound; 2 minutes is the longest that this package is tested with.
	listLag = 2 * time.Minute
	// goneMemory is how long it is remembered that an object is gone: late lists show
	// it again.
	goneMemory = 10 * time.Minute
	// readValid is how long a direct read counts as "right before" an action.
	readValid = 2 * time.Second
	// countValid is how long after its decision a count, or the deletion of a pool, may
	// be sent, sendWithin another change of a pool, and claimWithin a claim: nothing but
	// another process makes that one wrong.
	countValid  = 3 * time.Second
	sendWithin  = 15 * time.Second
	claimWithin = time.Minute

	// gatherQuiet is how long no new claimant may have arrived before nodes are
	// bought, so that one burst is one purchase; gatherMost bounds the wait.
	// Reconciles of one burst were measured to spread over about 0.3 s.
	gatherQuiet = 500 * time.Millisecond
	gatherMost  = 4 * time.Second

	// fullReadEvery is the age at which both lists are read again while
	// claimants wait: hand edits show in nothing else.
	fullReadEvery = 2 * time.Minute
	// unsettledGrace is how long a pool with more members than its count, or a
	// claimed instance that its pool no longer lists, is waited for.
	unsettledGrace = 2 * time.Minute
	// unreadGrace is how long reads of an instance that is known by its ID alone
	// have to fail until claimants of its key get others: it may be the node of one
	// of them. It is longer than the storms of failures that are to be outlasted by
	// waiting, and far shorter than PendingTimeout, within which a node may take to come.
	unreadGrace = 2 * time.Minute
	// verifyAgain is the distance of direct reads of an instance that is waited for.
	verifyAgain = 5 * time.Second
	// firstReadAfter is how long after a purchase the first look for it is:
	// instances appear after 2 s at the earliest (recorded).
	firstReadAfter = time.Second
	// fewNodes are looked for every nearRead, or nearList where a look is a list,
	// until a tenth of the time that has passed is more.
	fewNodes = 20
	nearRead = time.Second
	nearList = 2300 * time.Millisecond
	// directPolls is how many pools are polled one by one; a list of all pools
	// is one request of a scarcer kind.
	directPolls = 2

	// removalResend is the age at which an accepted removal without effect is
	// sent again. LKE removes nodes within seconds (recorded).
	removalResend = time.Minute
	// markAttempts is how many failed writes quarantine an instance.
	markAttempts = 3
	// quarantineLimit is how many instances may be quarantined in a row until marking
	// is taken to fail in general: no further node would help.
	quarantineLimit = 2
	// firstProbe and longestProbe bound the pause between two marks after the
	// API refused one as forbidden or invalid.
	firstProbe   = 5 * time.Second
	longestProbe = 5 * time.Minute
	// longestRetry bounds the pause after repeated failures of one request.
	longestRetry = 15 * time.Second

	// lowerLimit is how often a count that another client lowers is raised
	// again within lowerMemory, before it is a conflict for a person.
	lowerLimit  = 3
	lowerMemory = 10 * time.Minute
	// editedLimit is how many pools of one key may be out of use because they
	// were edited. Another attempt would only add one more.
	editedLimit = 3

	// confirmedFor is how long the answer to a claim's write is repeated to its
	// claimant without another read.
	confirmedFor = time.Minute
	// silentAfter is how long a request may be without an answer until a
	// claimant whose time ends gets that as the reason.
	silentAfter = 5 * time.Second

	// ParallelRemovals and parallelReads bound the requests for one pool and for
	// single instances at the same time, ParallelEffects those for everything.
	ParallelRemovals = 16
	parallelReads    = 32
	ParallelEffects  = 64
	// ReadTimeout and WriteTimeout end a request that gets no answer.
	ReadTimeout  = 30 * time.Second
	WriteTimeout = time.Minute
)
