// Package known has the records of pools and instances, of the requests to the platform, and of the purchases for each key. Events come in,
// facts come out. It is the only code that changes these records. Package decide gets a [View], whose nodes and pools have no exported
// fields: the compiler ensures that a decision changes nothing.
//
// # What changes a record
//
//	Merge    the end of a request: a reading, or the answer to a write
//	Start    an action that was chosen; it is followed by Merge
//	Give     an instance was the answer to its claimant
//
// Package record of module claims decides what a reading changes in the record of its object. This package adds what the reading of one
// object shows about another object: a pool lists instances, and an instance names its pool and its claimant.
//
// If a decision rests on a field of a pool or an instance, differ or differs has to compare the field: a list that differs only in other
// fields changes no value. A fact that counts at once, and that no older reading may undo, is set after the merge, as the state Leaving
// is. Leaving never ends. A fact that can end keeps when it was last shown: a direct read without it ends it if it began SettleTime after
// that, and a list if it began ListLag after that.
//
// # Where things are
//
//	known.go      all records together, and how they are found
//	node.go       an instance and its claim; pool.go a pool and the nodes on their way to it
//	request.go    requests under way, and the pauses after failed requests
//	merge.go      the end of a request; instances.go, pools.go, writes.go apply it to objects
//	supply.go     nodes on their way, for how long they count, and when to look for them
//	purchases.go  purchases by key, and creations without an answer
//	view.go       questions
//	trouble.go    why callers may wait in vain
//
// It imports event, tagging and tuning, never callers or decide.
package known
