// Package pacing has the pauses between the repetitions of an action that keeps failing, for example of purchases whose nodes never
// join their cluster. The claim engine paces the purchases for a key, and the operator paces the plans that it launches for a
// NodePool.
//
// It has no clock and starts nothing; a Record belongs to one goroutine, or to its caller's lock.
//
// Example with Joins: the first node that does not join delays nothing, because it may be chance. After the second such node the next
// purchase waits for 1 minute, after the third for 5 minutes, and after each further node for 15 minutes. A caller ends the row with a
// new Record when a node joins.
package pacing

import "time"

// Joins are the pauses after the first, second and further nodes in a row that were bought and did not join. The last pause repeats. A
// single such node may be chance, and delays nothing.
var Joins = []time.Duration{0, time.Minute, 5 * time.Minute, 15 * time.Minute}

// A Record counts the failures in a row; the zero value has none.
type Record struct {
	InARow int
	Last   time.Time // the latest failure
	Until  time.Time // the end of the pause after it
}

// Failed notes a failure at now, and returns the pause after it.
func (r *Record) Failed(now time.Time, pauses []time.Duration) time.Duration {
	pause := pauses[min(r.InARow, len(pauses)-1)]
	*r = Record{InARow: r.InARow + 1, Last: now, Until: now.Add(pause)}
	return pause
}
