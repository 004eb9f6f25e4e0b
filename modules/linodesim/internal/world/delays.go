package world

import (
	"math/rand/v2"
	"time"
)

// Span is a range from which a delay is drawn, both limits included.
type Span struct {
	Min, Max time.Duration
}

func (s Span) draw(r *rand.Rand) time.Duration {
	if s.Max <= s.Min {
		return s.Min
	}
	return s.Min + time.Duration(r.Int64N(int64(s.Max-s.Min)+1))
}

// Delays hold how long the platform takes for each step; linodesim.Profile
// explains them.
type Delays struct {
	Request, InstanceID, NodeListed, Tagged, Join, Gone, Repair, ControlPlane Span
}
