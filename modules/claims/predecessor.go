package claims

// Predecessor classifies the process that led before this one.
type Predecessor int

const (
	// MayStillWrite is a process that may have writes under way, or such as failed and take
	// effect later: it died, or nothing is known about it.
	MayStillWrite Predecessor = iota
	// Ended is a process that left no write which may still take effect, also none of an
	// earlier process: each write was answered with success or a refusal, or is older than
	// writes may be late. Ended also holds if there was no process.
	Ended
)
