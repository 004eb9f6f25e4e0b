package instances

import "time"

// Every tuning constant of the engine is here; the settings are in Config.
const (
	// creationLimit and creationWindow are the documented limit of POST
	// /linode/instances, which is separate from that of all other requests.
	creationLimit  = 20
	creationWindow = 15 * time.Second
	// positionKept preserves a claimant's position in the queue without a caller. It is
	// longer than the pauses of a controller that calls again.
	positionKept = 2 * time.Minute
	// limitedPause follows a 429 without a time.
	limitedPause = 2 * time.Second

	// listLag bounds the lag of lists behind writes. The API documents no bound; the
	// tests of this package go up to 2 minutes.
	listLag = 2 * time.Minute
	// goneKept is the time for which lists cannot bring back an instance that is proven
	// gone. IDs are not used again.
	goneKept = 10 * time.Minute
	// listAgain is the pause between lists for an instance that direct reads do not show
	// and a list does.
	listAgain = 30 * time.Second
	// sendWithin is the time for which a write may wait to be sent, because it rests on
	// a reading right before; createWithin is that of a creation, which its label guards.
	sendWithin   = 5 * time.Second
	createWithin = 20 * time.Second
	// readValid is the greatest age of a direct read right before a write.
	readValid = 2 * time.Second

	// firstFind and longestFind bound the pauses between lists of one label while
	// the instance that has it does not appear in them.
	firstFind   = time.Second
	longestFind = 15 * time.Second
	// findFor bounds the search for a label that the API refuses as taken.
	findFor = listLag + 30*time.Second

	// firstPoll and longestPoll bound the pauses between reads while an instance
	// or its disks become ready; a new Linode takes 45 to 100 s for that.
	firstPoll   = 2 * time.Second
	longestPoll = 10 * time.Second
	// diskPoll is the pause between lists of the disks of an instance while one may
	// still be made by a request without an answer.
	diskPoll = 20 * time.Second

	// removalResend is the age at which an accepted removal without effect is
	// sent again. Linodes vanish within seconds of their DELETE.
	removalResend = time.Minute
	// refusalHold is the time for which a refusal of capacity or of the request itself
	// answers other claimants with the same request.
	refusalHold = 10 * time.Second
	// readKept is the time for which an unused direct read is kept, pruneEvery the pause
	// between looks for what has expired.
	readKept   = 10 * time.Minute
	pruneEvery = time.Minute

	// parallelEffects bounds the concurrent requests, parallelRemovals those of one
	// sweep.
	parallelEffects  = 64
	parallelRemovals = 16
	// readTimeout and writeTimeout end a request without an answer. A creation has
	// less, so that a 429 with a longer pause returns to the queue, which reports it to
	// callers.
	readTimeout   = 30 * time.Second
	writeTimeout  = 2 * time.Minute
	createTimeout = 40 * time.Second
)
