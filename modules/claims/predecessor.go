package claims

// Predecessor classifies the process that led before this one.
type Predecessor int

const (
	// MayStillWrite is a process that may have writes under way: it died, or nothing
	// is known about it.
	MayStillWrite Predecessor = iota
	// Ended is a process that had the answer to its last write before it gave up
	// leading, or there was none.
	Ended
)
