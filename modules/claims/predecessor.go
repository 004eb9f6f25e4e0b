package claims

// Predecessor classifies the process that led before this one.
type Predecessor int

const (
	// MayStillWrite is a process that may have writes under way, or such as failed and take
	// effect later: it died, or nothing is known about it.
	MayStillWrite Predecessor = iota
	// Ended is a process of which no write may take effect any more, nor a write of
	// an earlier process: each was answered with success or a refusal, or is older than writes may
	// be late. Or there was none.
	Ended
)
