// Package claims contains the vocabulary of engines that give each claimant
// exactly one machine: claimants, nodes, errors with a kind and a known effect,
// the tags that record claims, sweeps, ceilings and hooks. Modules lkepool (nodes
// of LKE pools), instances (plain Linodes) and clusterapi (Machines of Cluster API)
// return these types, so that a caller handles every engine in the same way.
// Package refusal of module linode maps errors of the API client to these kinds and
// effects.
//
// The package makes no request and starts no goroutine, and imports nothing but
// the standard library. Packages below it serve engines: effects runs their
// requests, record has the knowledge about one object. Packages below claimstest are the
// kit of their tests, and nothing else imports them.
//
// # Bounds
//
// Each engine has three settings for bounds: SettleTime is how old the answer to a direct read
// may be, ListLag how old a list may be, and LateEffect how long a write may still take effect
// after its failure or the death of its sender. Example: with a SettleTime of 4 s, a read at
// 10:00:03 may show an object as it was at 10:00:00. The packages for tests draw what happens
// within these bounds. The documentation of each engine has its promises within them, and what
// may happen beyond each.
//
// # Tags
//
// The tags of a machine are the only durable record of its claim. [Tags] reads
// and writes them. Its zero value has the keys of the Karpenter operator; another
// program that shares an account with the operator sets keys of its own. The form
// of a tag is stored on machines that exist, and does not change between versions.
//
// A tag has 3 to 50 characters; the API refuses others with 400 on field tags[n].
// A longer value is cut, and ends in [CutMark] and a hash of the whole value. The
// mark occurs in no name of a Kubernetes object, so a cut name differs from every
// other name.
//
// # Errors
//
// Engines and their backends return *[Error]. [Kind] determines what a caller does next,
// and the set is closed: callers branch on [KindOf], never on the text. [Effect] reports
// whether a failed request changed the platform. An error without an *[Error] in its
// chain has KindUnavailable and EffectUnknown, which is the cautious reading of both:
// the request may be repeated, after a read. The text of an error contains only one
// kind, the kind of the outermost *[Error].
//
// # Concurrency
//
// All types are plain values. Functions and methods may be called concurrently if
// no goroutine modifies the value meanwhile.
package claims
