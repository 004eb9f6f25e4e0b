package fate

// Kind classifies moves.
type Kind int

const (
	// Waits lets time pass until something is due.
	Waits Kind = iota
	// Crashes and Ends let another process lead. Crashes: the process dies at any step. Ends: the
	// process ends while no write is under way or may take effect later.
	Crashes
	Ends
	// LandsLate lets a write take effect that was not answered with success.
	LandsLate
	// Shows answers a read with a view. Lands lets a write take effect, and Answers answers that write.
	Shows
	Lands
	Answers
	// The faults. Fails: an error that excludes an effect. LosesAnswer: no answer to a write that took
	// effect. IsLate: no answer to a write that may take effect later. Missing: a wrong 404. IsSlow:
	// time passes without an answer.
	Fails
	LosesAnswer
	IsLate
	Missing
	IsSlow
	// Own is the first kind that a world may use for moves of its own.
	Own
)

var words = [...]string{
	Waits: "time passes", Crashes: "the process dies, another leads", Ends: "the process ends cleanly, another leads",
	LandsLate: "takes effect LATE", Shows: "shows", Lands: "takes effect", Answers: "is answered", Fails: "FAILS without effect",
	LosesAnswer: "LOSES its answer", IsLate: "IS NOT ANSWERED and may take effect later", Missing: "is answered 404 WRONGLY",
	IsSlow: "is SLOW",
}

// String describes the move, for all kinds except a world's own.
func (k Kind) String() string {
	if k < 0 || k >= Own {
		return "is the world's own"
	}
	return words[k]
}

// Move is one step of a world.
type Move struct {
	Kind Kind
	// Request is an index of Requests.Under, or of Late for LandsLate.
	Request int
	// View is an index of the views that a read may show.
	View int
	// Claimant is the claimant of a move of the world's own.
	Claimant int
}
