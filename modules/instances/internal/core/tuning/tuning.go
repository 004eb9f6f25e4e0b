// Package tuning holds every tuning constant of the engine with its reason, and the
// settings that a Config of package instances becomes.
package tuning

import "time"

const (
	// CreationLimit and CreationWindow are the documented limit of POST
	// /linode/instances, which is separate from the limit of all other requests.
	CreationLimit  = 20
	CreationWindow = 15 * time.Second
	// PositionKept preserves a claimant's position in the queue without a caller. It is
	// longer than the pauses of a controller that calls again.
	PositionKept = 2 * time.Minute
	// LimitedPause follows a 429 without a time.
	LimitedPause = 2 * time.Second

	// GoneKept is the time for which lists cannot bring back an instance that is proven
	// gone. IDs are not used again.
	GoneKept = 10 * time.Minute
	// ListAgain is the pause between two lists for an instance that direct reads do not
	// show and a list shows.
	ListAgain = 30 * time.Second
	// FirstLists is the greatest age of the list before a creation in the first minutes of a
	// lead, when lists may lack instances of the previous leader. It bounds the calls: at
	// most eight lists in the list lag.
	FirstLists = 15 * time.Second
	// SendWithin is the time for which a write may wait before it is sent, because it rests
	// on a reading right before. CreateWithin is the time for a creation, which its label guards.
	SendWithin   = 5 * time.Second
	CreateWithin = 20 * time.Second
	// ReadValid is the greatest age of a direct read right before a write.
	ReadValid = 2 * time.Second

	// FirstFind and LongestFind bound the pauses between lists of one label while
	// the instance that has it does not appear in them.
	FirstFind   = time.Second
	LongestFind = 15 * time.Second

	// FirstPoll and LongestPoll bound the pauses between reads while an instance
	// or its disks become ready; a new Linode takes 45 to 100 s for that.
	FirstPoll   = 2 * time.Second
	LongestPoll = 10 * time.Second
	// DiskPoll is the pause between lists of the disks of an instance while a request
	// without an answer may still make a disk.
	DiskPoll = 20 * time.Second

	// RemovalResend is the age at which an accepted removal without effect is
	// sent again. Linodes vanish within seconds of their DELETE.
	RemovalResend = time.Minute
	// RefusalHold is the time for which a refusal of capacity or of the request itself
	// answers other claimants with the same request.
	RefusalHold = 10 * time.Second
	// ReadKept is the time for which an unused direct read is kept, PruneEvery the pause
	// between two removals of expired state.
	ReadKept   = 10 * time.Minute
	PruneEvery = time.Minute

	// ParallelEffects bounds the concurrent requests, ParallelRemovals the requests of
	// one sweep.
	ParallelEffects  = 64
	ParallelRemovals = 16
	// ReadTimeout and WriteTimeout end a request without an answer. A creation has
	// less, so that a 429 with a longer pause returns to the queue, which reports it to
	// callers.
	ReadTimeout   = 30 * time.Second
	WriteTimeout  = 2 * time.Minute
	CreateTimeout = 40 * time.Second
)
