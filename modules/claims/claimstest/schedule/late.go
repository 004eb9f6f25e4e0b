package schedule

import (
	"math/rand/v2"
	"time"
)

// Lands draws when a write takes effect that is answered with an error. All times count from
// the moment at which the write was sent. The write takes effect between the error, at
// answered, and late after it. Example: with answered 2 s and late 2 min, between 2 s and 2
// min 2 s. An engine counts late from the answer, too, because it does not know how long the
// request was on its way.
func Lands(random *rand.Rand, answered, late time.Duration) time.Duration {
	if late > 0 {
		answered += time.Duration(random.Int64N(int64(late)))
	}
	return answered
}
