// Package event declares the input and the output of the engine's core: the requests of
// callers, effects and their results, steps and answers. It has no state and decides
// nothing. A test writes and reads these values directly; the shell translates them into
// calls of the Backend.
//
// Image, user data, networks and sizes of disks are not here, because the engine does not
// decide about them. They stay with the caller in the shell, and only an [Effect] of that
// caller makes its instance and its disks.
package event

import (
	"errors"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// ErrLabelTaken is the cause of a refusal because another instance has the label.
var ErrLabelTaken = errors.New("the label is taken")

// Instance represents a Linode, as a reading shows it. It has the fields of
// instances.Instance, so that each converts to the other.
type Instance struct {
	claims.Node
	Image          string
	IPv4           []string
	IPv6           string
	PlacementGroup int
	Foreign        bool
}

// DiskState describes a disk of an instance.
type DiskState struct {
	ID    int
	Label string
	Ready bool
}

// ConfigState describes a configuration of an instance.
type ConfigState struct {
	ID      int
	Devices map[string]int
}

// Seq numbers calls and results. Only the order of numbers counts.
type Seq int

// Order describes a claimant's instance, as far as the engine decides about it.
type Order struct {
	Who          claims.ClaimID
	Label        string
	InstanceType string
	// Tags are all tags of the request that makes it.
	Tags []string
	// Data contains the labels of the data disks in the order of their devices.
	Data []string
	// Capacity and Form are the keys of refusals that other orders share. Capacity is
	// the key of orders for the same capacity. Form is the key of orders for the same
	// request, without the values of the claimant.
	Capacity, Form string
}

// An Ask holds a caller's request.
type Ask struct {
	Kind  AskKind
	Order *Order // of AskCreate
	// ID is the instance of AskGet, AskDelete, AskEvict and AskTags.
	ID int
	// By is the claimant whose instance AskDelete and AskTags expect, the zero ClaimID for any claimant.
	By          claims.ClaimID
	Remove, Add []string // of AskTags
	// Alive are the claimants that exist: AskEvict removes an instance only if none of them needs it.
	Alive []claims.ClaimID
}

// AskKind identifies the call of the Manager.
type AskKind int

// The kinds of calls.
const (
	AskCreate AskKind = iota
	AskGet
	AskList
	AskDelete
	AskEvict
	AskTags
)

func (k AskKind) String() string {
	return [...]string{"create", "get", "list", "delete", "collect", "set tags"}[k]
}

// Effect describes a request to be made. Reason is for people: the log, the Observer, and
// the transcripts of tests.
type Effect struct {
	Op     Op
	Reason string
	// Term is the term of leadership in which the effect was decided.
	Term int
	// NotAfter is the latest time at which a write may be sent, because the write
	// rests on a reading shortly before.
	NotAfter time.Time

	Who     claims.ClaimID // OpFind, OpCreate
	Order   *Order         // OpCreate
	ID      int            // the instance, for all requests but OpList, OpFind and OpCreate
	Text    string         // OpList: the tag; OpFind: the label
	Tags    []string
	Disk    string // OpAddDisk: its label
	DiskID  int    // OpDisk
	Config  int
	Devices map[string]int
}

// Result describes an effect that ended. Began is when the request was sent. A reading
// may show the platform as it was before Began, by at most its bound.
type Result struct {
	Effect
	Began time.Time
	Err   error
	// Cancelled: the reading ended with its callers, and shows nothing. Unsent: the
	// write had not been sent by NotAfter.
	Cancelled, Unsent bool
	Instance          Instance
	Instances         []Instance
	Disks             []DiskState // OpDisk, OpAddDisk: that disk
	Configs           []ConfigState
}

// Missing reports whether the request was answered 404.
func (r *Result) Missing() bool { return claims.KindOf(r.Err) == claims.KindNotFound }

// Unknown reports whether a failed request may have had its effect.
func (r *Result) Unknown() bool { return claims.EffectOf(r.Err) == claims.EffectUnknown }

// Label returns the label of an OpCreate or an OpFind.
func (e *Effect) Label() string {
	if e.Op == OpCreate {
		return e.Order.Label
	}
	return e.Text
}

// Answer contains what a call returns.
type Answer struct {
	Instance  Instance
	Instances []Instance
	// Withdrawn reports that the instance was not removed, because a claimant needs it.
	Withdrawn bool
	Err       error
}

// Step represents how a call continues: with an effect, with its answer, or with a wait
// for a change, until Until at the latest. At most one of these is set. If the Step has no
// effect, answer or wait, the core decides again.
type Step struct {
	Effect *Effect
	End    *Answer
	Wait   bool
	Until  time.Time // of a wait; the zero time: only after a change
}

// None reports whether the step has no effect, answer or wait, so that the core decides again.
func (s Step) None() bool { return s.Effect == nil && s.End == nil && !s.Wait }

// End returns the step of a call that is answered.
func End(a Answer) Step { return Step{End: &a} }

// Refuse returns the step of a call that fails.
func Refuse(err error) Step { return End(Answer{Err: err}) }

// Wait returns a step that waits for a change or a time.
func Wait(until time.Time) Step { return Step{Wait: true, Until: until} }

// Fail returns the error of a call about an instance, 0 for none, that had no effect.
func Fail(kind claims.Kind, op string, id int, format string, args ...any) *claims.Error {
	return claims.Errorf(kind, op, claims.Object("instance", id), format, args...)
}
