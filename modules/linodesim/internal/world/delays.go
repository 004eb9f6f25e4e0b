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
	Request, WriteLKE, InstanceID, NodeListed, Tagged, Join, Linode, Job, Settle, Gone, Repair, ControlPlane, Endpoints Span
}

// boot draws a time like Join for a plain Linode: the Linode runs after four fifths of it, as a worker does.
func (d Delays) boot(r *rand.Rand) time.Duration {
	if d.Linode == (Span{}) {
		return d.Join.draw(r)
	}
	return d.Linode.draw(r) * 5 / 4
}
