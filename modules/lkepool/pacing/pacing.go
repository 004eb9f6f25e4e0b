// Package pacing spaces the repetitions of what keeps failing: of purchases whose nodes never join their cluster, for one. The claim
// engine paces the purchases for a key by it, and the operator paces the plans that it launches for a NodePool.
//
// It has no clock and starts nothing; a Record belongs to one goroutine, or to its caller's lock.
//
// Example with Joins: the first node that does not join delays nothing, because one may be chance. After the second the next purchase
// waits a minute, then five, then 15 minutes, again and again. A caller ends the row with a new Record when a node joins.
package pacing

import "time"

// Joins are the pauses after the first, second and further nodes in a row that were bought and did not join. The last one repeats. A
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
