package severity

import (
	"context"
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/karpenter/pkg/apis"
	corecloudprovider "sigs.k8s.io/karpenter/pkg/cloudprovider"
	nodeutils "sigs.k8s.io/karpenter/pkg/utils/node"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// A line is what is known of one besides its error.
type line struct {
	message    string
	controller string
	stopping   func() bool
}

// An entry is one kind of line that resolves by itself.
type entry struct {
	messages   []string         // whole messages; none means any
	controller string           // "" means any
	stopping   bool             // only while the process ends
	cause      func(error) bool // an error with a single cause; nil if the line has no error
	why        string
}

// failed is what controller-runtime writes of an error that a reconcile returned. It reconciles again, after pauses that
// grow, and counts controller_runtime_reconcile_errors_total, on which an alert of the chart is.
const failed = "Reconciler error"

// Interrupted is the reason why what the end of the process has interrupted resolves. It may be given many times within
// one moment: once for each piece of work.
const Interrupted = "the process ends; the next one takes up what was interrupted"

var table = []entry{
	{
		// Any message: core writes errors of what it interrupts in a dozen places, once for each candidate for consolidation.
		stopping: true, cause: canceled,
		why: Interrupted,
	},
	{
		messages: []string{failed}, cause: modified,
		why: "somebody else wrote the object first; it is read and written again",
	},
	{
		// Core calls this an error although the condition Launched, with its reason Provisioning, is what it is for. A node
		// that never comes counts as want of capacity after a while (docs/troubleshooting.md, Provisioning).
		messages: []string{failed}, cause: provisioning,
		why: "LKE is making the node; the next attempt finds it",
	},
	{
		// Core adds up prices by NodePool, and NodeClaims outlive theirs for as long as they take to drain.
		messages: []string{failed}, controller: "state.nodeclaim", cause: nodePoolGone,
		why: "the NodePool was deleted; its NodeClaims go with it",
	},
	{
		// Overlays are evaluated whenever one of them or a NodePool changes; until then nothing is bought or removed on the
		// strength of prices that no longer hold.
		messages: []string{failed, "skipping, node overlays are not applied"}, cause: unevaluated,
		why: "NodeOverlays are being evaluated; the next round has them",
	},
	{
		// Every 10 s after the first 30, while a NodeClaim has no instance yet or a Node is not in memory. A scale-up on a slow
		// day takes as long. karpenter_cluster_state_synced says the same, and an alert of the chart says when it is too long.
		messages: []string{"cluster is waiting on sync for extended duration"}, cause: text("waiting on cluster sync"),
		why: "NodeClaims wait for their instances; nothing is planned meanwhile",
	},
	{
		// With every round of scheduling, and without an error. Either the class has not been checked yet, or it is wrong:
		// then conditions of the class and of the NodePool name the field, an event says so once, and an alert of the chart
		// is on the NodePool's condition.
		messages: []string{"ignoring nodepool, not ready"}, cause: none,
		why: "the NodePool's conditions say what it waits for",
	},
	{
		// Core asks after the eviction, for a label of a metric. A NodeClaim that has lost its finalizers goes before its Node.
		messages: []string{"node has no nodeclaim, failed looking up pod eviction reason"}, cause: nodeutils.IsNodeClaimNotFoundError,
		why: "the pod was evicted; only the reason is not known",
	},
	{
		// client-go's elector, of several replicas that start at once.
		messages: []string{"Error initially creating lease lock"}, cause: apierrors.IsAlreadyExists,
		why: "another replica was faster, and leads",
	},
	{
		// The elector then reads whose the Lease is. That a leader has lost it ends the process, with an error.
		messages: []string{"Failed to update lease", "Failed to update lease optimistically, falling back to slow path"}, cause: modified,
		why: "another replica wrote the Lease first; it is read again",
	},
}

// resolution says why nobody has to act upon a line, and whether that is so.
func resolution(l line, err error) (why string, resolves bool) {
	if errors.Is(err, reconcile.TerminalError(nil)) {
		return "", false // it is not tried again
	}
	var reasons []string
	for _, cause := range causes(err) {
		i := slices.IndexFunc(table, func(e entry) bool { return e.applies(l) && e.cause(cause) })
		if i < 0 {
			return "", false
		}
		if !slices.Contains(reasons, table[i].why) {
			reasons = append(reasons, table[i].why)
		}
	}
	return strings.Join(reasons, "; "), len(reasons) > 0
}

func (e entry) applies(l line) bool {
	return (len(e.messages) == 0 || slices.Contains(e.messages, l.message)) &&
		(e.controller == "" || e.controller == l.controller) &&
		(!e.stopping || l.stopping())
}

// causes takes an error apart where it joins several. What is left of each part is a chain of errors that wrap one
// another, so that a look into it finds nothing that belongs to another part.
func causes(err error) []error {
	for outer := err; outer != nil; outer = errors.Unwrap(outer) {
		var parts []error
		switch joined := any(outer).(type) {
		case interface{ Unwrap() []error }:
			parts = joined.Unwrap()
		case interface{ Errors() []error }: // the Aggregate of apimachinery
			parts = joined.Errors()
		default:
			continue
		}
		var all []error
		for _, part := range parts {
			all = append(all, causes(part)...)
		}
		return all
	}
	return []error{err}
}

func none(err error) bool { return err == nil }

func canceled(err error) bool { return errors.Is(err, context.Canceled) }

// modified is optimistic locking at work. Conflicts are also a manager of fields that insists on its own, an object that
// is being deleted, a precondition that does not hold: the API has one reason for all of them, and only the words tell.
func modified(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	return ok && status.ErrStatus.Reason == metav1.StatusReasonConflict &&
		strings.Contains(status.ErrStatus.Message, "the object has been modified")
}

func provisioning(err error) bool {
	_, launch := errors.AsType[*corecloudprovider.CreateError](err)
	return launch && lkepool.KindOf(err) == lkepool.KindProvisioning
}

// nodePoolGone: what the cache does not find is named by its kind, what the API server does not find by its resource.
func nodePoolGone(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || status.ErrStatus.Reason != metav1.StatusReasonNotFound {
		return false
	}
	about := status.ErrStatus.Details
	return about != nil && about.Group == apis.Group && (about.Kind == "NodePool" || about.Kind == "nodepools")
}

func unevaluated(err error) bool { return corecloudprovider.IsUnevaluatedNodePoolError(err) }

// text is for errors that have no type.
func text(words string) func(error) bool {
	return func(err error) bool { return err != nil && err.Error() == words }
}
