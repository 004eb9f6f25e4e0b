package schedule

import "time"

// Dice draws the random choices of a schedule. It is a rand.Rand, or a generator of a
// property test that shrinks its draws.
type Dice interface {
	// IntN draws from 0 to n-1; 0 is the simplest.
	IntN(n int) int
}

// OneOf draws one of several numbers of units; the first is the simplest.
func OneOf(d Dice, unit time.Duration, of ...int) time.Duration {
	return time.Duration(of[d.IntN(len(of))]) * unit
}

// Moment draws a time until most, in steps of 50 ms. A third of the times is within the
// first ten seconds and a third within the first minute, because most failures happen
// while claims are under way.
func Moment(d Dice, most time.Duration) time.Duration {
	bound := [...]time.Duration{min(10*time.Second, most), min(time.Minute, most), most}[d.IntN(3)]
	const step = 50 * time.Millisecond
	return time.Duration(d.IntN(int(bound/step))) * step
}

// Between draws a time from least up to most.
func Between(random interface{ Int64N(int64) int64 }, least, most time.Duration) time.Duration {
	if most <= least {
		return least
	}
	return least + time.Duration(random.Int64N(int64(most-least)))
}

// Gap is a time in which direct reads of many objects answer 404, although they exist
// and lists show them.
type Gap struct {
	From, Length time.Duration
	// Share selects the objects that the gap hides: every Share-th object, 1 for all.
	Share int
}

// Hides reports whether a direct read of an object is answered 404 now.
func (g Gap) Hides(now time.Duration, id int) bool {
	return now >= g.From && now < g.From+g.Length && id%g.Share == 0
}
