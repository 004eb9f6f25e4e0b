package schedule

import (
	"math/rand/v2"
	"time"
)

// Lands draws how long after it was sent a write takes effect that is answered with an
// error after answered: up to late after that answer, and within bound of being sent, or
// at the answer if that is later.
func Lands(random *rand.Rand, answered, late, bound time.Duration) time.Duration {
	lands := answered
	if late > 0 {
		lands += time.Duration(random.Int64N(int64(late)))
	}
	return min(lands, max(answered, bound))
}
