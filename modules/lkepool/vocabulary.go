package lkepool

import (
	"github.com/karpenter-linode/karpenter-linode/modules/linode/claimtag"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine"
)

// The engine's vocabulary. It is declared in internal/engine, whose decisions
// are about it, and has its names here for importers.
type (
	// Key identifies a set of interchangeable nodes: a NodePool, an instance type
	// and a Template. All nodes of one pool share one key, and a claimant never
	// gets a node of a pool with another key.
	Key = engine.Key
	// Template is what an LKE pool fixes for all of its nodes: labels, taints,
	// firewall, disk encryption, version and isolation.
	Template = engine.Template
	// Taint is a Kubernetes taint. It is declared here so that this module needs
	// no Kubernetes API package.
	Taint = engine.Taint
	// Isolation is whether nodes have public addresses.
	Isolation = engine.Isolation

	// Claimant is who a node is for: for Karpenter a NodeClaim, by name and UID.
	Claimant = engine.Claimant
	// Request asks for one node of a Key for a Claimant.
	Request = engine.Request
	// Node is one instance of a pool, as the API showed it.
	Node = engine.Node
	// Health is the engine's judgement of an instance.
	Health = engine.Health
	// Collected is what an orphan sweep did.
	Collected = engine.Collected

	// Limits are the numbers of a platform.
	Limits = engine.Limits
	// Pool is one pool of the cluster, as a Backend reads it.
	Pool = engine.Pool
	// Slot is a place in a pool; its InstanceID is 0 until the instance exists.
	Slot = engine.Slot
	// Instance is a virtual machine, as a Backend reads it.
	Instance = engine.Instance
	// State is what a platform's status means to the engine.
	State = engine.State

	// Error is the only error type of this module.
	Error = engine.Error
	// Kind is what a caller can do about an error. The set is closed.
	Kind = engine.Kind
	// Effect is what is known of the effect of a request that failed.
	Effect = engine.Effect
)

// What a caller can do about an error.
const (
	// KindProvisioning: capacity is on its way; ask again soon.
	KindProvisioning = engine.KindProvisioning
	// KindInsufficientCapacity: this instance type is not to be had in this
	// region now; try another one.
	KindInsufficientCapacity = engine.KindInsufficientCapacity
	// KindQuotaExceeded: a limit of the account or of the cluster is reached.
	KindQuotaExceeded = engine.KindQuotaExceeded
	// KindRateLimited: the API asks for fewer requests; see Error.RetryAfter.
	KindRateLimited = engine.KindRateLimited
	// KindInvalid: the request can never work; Error.Field names the reason.
	KindInvalid = engine.KindInvalid
	// KindNotFound: proven by a 404 for this very instance, and by nothing else.
	KindNotFound = engine.KindNotFound
	// KindConflict: the cluster is in a state that only a person can resolve,
	// or the instance is not one of ours.
	KindConflict = engine.KindConflict
	// KindForbidden: the API refuses the token or its scopes.
	KindForbidden = engine.KindForbidden
	// KindUnavailable: the API did not answer, or not sensibly.
	KindUnavailable = engine.KindUnavailable
)

// The fields of the errors of claims that Config's ceilings refuse.
const (
	FieldMaxNodes       = engine.FieldMaxNodes
	FieldMaxHourlyPrice = engine.FieldMaxHourlyPrice
)

// What is known of the effect of a request that failed.
const (
	// EffectUnknown: it may or may not have happened; only reading shows it.
	EffectUnknown = engine.EffectUnknown
	// EffectNone: it did not happen.
	EffectNone = engine.EffectNone
	// EffectApplied: it happened, although the answer is an error or unreadable.
	EffectApplied = engine.EffectApplied
)

// Whether an instance still serves its claimant.
const (
	// Healthy: running, or young enough to be still on its way to running.
	Healthy = engine.Healthy
	// Stopped: the instance is not running and has had time enough to boot.
	Stopped = engine.Stopped
	// Detached: the instance exists, but its pool no longer lists it, because
	// the node was removed or recycled. It is about to vanish.
	Detached = engine.Detached
	// Deleting: the platform is deleting it.
	Deleting = engine.Deleting
)

// What a platform's status of an instance means.
const (
	// Up: running, or on its way to it, or busy with something that ends there.
	Up = engine.Up
	// Down: not running; a young instance is down before its first boot.
	Down = engine.Down
	// Leaving: being deleted.
	Leaving = engine.Leaving
)

const (
	// MinTagLength and MaxTagLength bound a tag, in characters.
	MinTagLength = engine.MinTagLength
	MaxTagLength = engine.MaxTagLength

	// ManagedTag is on every pool made here and on every claimed instance.
	ManagedTag = engine.ManagedTag
)

// KindOf returns the kind of err, KindUnavailable for an error that is not of
// this module, and "" for nil.
func KindOf(err error) Kind { return engine.KindOf(err) }

// Tag joins key and value with "=". A value that would make the tag longer than
// MaxTagLength keeps a prefix and ends in "_" and a hash of the whole, so that
// two long values never become one tag.
func Tag(key, value string) string { return engine.Tag(key, value) }

// Shorten is what Tag does to a value, for tags that carry one elsewhere.
func Shorten(value string, room int) string { return claimtag.Shorten(value, room) }

// ClaimValue returns what Node.Claim contains for a claimant: its name, or a
// prefix and a hash of it when it does not fit into a tag.
func ClaimValue(claimant string) string { return engine.ClaimValue(claimant) }

// Actions are the values of ActionEnd.Op.
func Actions() []string { return engine.Actions() }
