package schedule

import (
	"math/rand/v2"
	"time"
)

// Lands draws how long after it was sent a write takes effect that is answered with an
// error after answered: up to late after that answer. An engine counts from there, because
// it does not know how long the request was on its way before.
func Lands(random *rand.Rand, answered, late time.Duration) time.Duration {
	if late > 0 {
		answered += time.Duration(random.Int64N(int64(late)))
	}
	return answered
}
