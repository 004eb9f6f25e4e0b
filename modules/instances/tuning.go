package instances

import "time"

// Every tuning constant of the engine is here; the settings are in Config.
const (
	// creationLimit and creationWindow are the API's documented limit of POST
	// /linode/instances, which is apart from that of all other requests.
	creationLimit  = 20
	creationWindow = 15 * time.Second
	// positionKept is for how long a claimant keeps its position in the queue
	// without a caller: longer than the pauses of a controller that calls again.
	positionKept = 2 * time.Minute
	// limitedPause follows a 429 that names no time.
	limitedPause = 2 * time.Second

	// listLag is how far a list may lag behind writes. The API documents no
	// bound; 2 minutes is the longest that this package is tested with.
	listLag = 2 * time.Minute
	// goneKept is for how long a list that contains an instance which is proven
	// gone is not believed. IDs are not used again.
	goneKept = 10 * time.Minute
	// lookValid is how long a direct read counts as "right before" a write.
	lookValid = 2 * time.Second

	// firstFind and longestFind bound the pauses between lists of one label while
	// the instance that has it does not appear in them.
	firstFind   = time.Second
	longestFind = 15 * time.Second
	// findFor is how long a label that is taken is looked for in a row.
	findFor = listLag + 30*time.Second

	// firstPoll and longestPoll bound the pauses between reads while an instance
	// or its disks become ready; a new Linode takes 45 to 100 s for that.
	firstPoll   = 2 * time.Second
	longestPoll = 10 * time.Second

	// lastRequests is for how long requests of the process that led before may
	// still arrive. Nothing is added to its unfinished instances until they show.
	lastRequests = 5 * time.Second

	// removalResend is the age at which an accepted removal without effect is
	// sent again. Linodes vanish within seconds of their DELETE.
	removalResend = time.Minute
	// refusalHold is for how long a refusal of capacity or of the request itself
	// answers other claimants that ask for the same, without another request.
	refusalHold = 10 * time.Second
	// lookKept is for how long the result of a direct read is kept without use.
	lookKept = time.Hour

	// parallelEffects bounds the requests at the same time, parallelRemovals
	// those of one sweep.
	parallelEffects  = 64
	parallelRemovals = 16
	// readTimeout and writeTimeout end a request that gets no answer. A creation
	// has less, so that a 429 with a longer pause comes back to the queue, which
	// is where callers learn of it.
	readTimeout   = 30 * time.Second
	writeTimeout  = 2 * time.Minute
	createTimeout = 40 * time.Second
)
