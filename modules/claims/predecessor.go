package claims

// Predecessor classifies the process that led before this one.
type Predecessor int

const (
	// MayStillWrite is a process that died, or a process about which nothing is known. Its
	// writes may be under way, and its writes that failed may still take effect.
	MayStillWrite Predecessor = iota
	// Ended is a process after which no write may still take effect, neither its own nor a
	// write of an earlier process. The API answered each write with success or a refusal, or
	// the time LateEffect has passed since the write failed. Ended also means that there was
	// no process.
	Ended
)
