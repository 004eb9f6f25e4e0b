package cloudprovider

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/samber/lo"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/printable"
)

// A verdict maps a kind of error to the end of a NodeClaim's launch.
type verdict struct {
	outcome string        // label of the claim metric
	cause   catalog.Cause // the instance type is not available for a while, and core tries another one
	reason  string        // otherwise: reason of the NodeClaim's Launched condition; core tries again
	message string
	detail  bool // the error's own text goes into the condition: a user has to act on it
}

// verdicts is the one table from kinds of errors to core's error types. With a cause the error is an InsufficientCapacityError: core gives
// this NodeClaim up and schedules the pods anew. Without one it is a CreateError: core calls Create again, with growing pauses, also for a
// request that can never work, because its cause is a setting that a user may correct.
var verdicts = map[claims.Kind]verdict{
	claims.KindProvisioning:         {outcome: outcomeProvisioning, reason: "Provisioning", message: "The node is on its way"},
	claims.KindInsufficientCapacity: {outcome: "insufficient_capacity", cause: catalog.NoCapacity},
	claims.KindQuotaExceeded:        {outcome: "quota_exceeded", cause: catalog.AccountLimit},
	claims.KindRateLimited: {outcome: "rate_limited", reason: "RateLimited",
		message: "The Linode API limits requests; trying again"},
	claims.KindInvalid:  {outcome: "invalid", reason: "InvalidRequest", message: "Linode refuses the request", detail: true},
	claims.KindNotFound: {outcome: "not_found", reason: "NotFound", message: "The cluster, pool or Linode was not found"},
	claims.KindConflict: {outcome: "conflict", reason: "Conflict",
		message: "The pool or Linode is in a state that needs a person", detail: true},
	claims.KindForbidden: {outcome: "forbidden", reason: "Forbidden",
		message: "The Linode API refuses the token, its scopes or its user's roles", detail: true},
	claims.KindUnavailable: {outcome: "unavailable", reason: "LinodeAPIUnavailable",
		message: "The Linode API does not answer; trying again"},
	tokenRefused: {outcome: "forbidden", reason: EventTokenRefused, message: TokenRefused + "; trying again"},
	planRefused:  {outcome: "plan_refused", cause: catalog.PlanRefused},
	overdue:      {outcome: "overdue", cause: catalog.Overdue},
	ceiling:      {outcome: "ceiling", cause: catalog.Ceiling},
	unknown:      {outcome: "error", reason: "LaunchFailed", message: "The launch failed; trying again", detail: true},
}

const (
	outcomeClaimed      = "claimed"
	outcomeProvisioning = "provisioning"

	tokenRefused claims.Kind = "token"   // the API refuses the token itself, not one of its scopes
	planRefused  claims.Kind = "plan"    // the request was refused because of the plan
	overdue      claims.Kind = "overdue" // LKE has accepted a purchase, and no Linode came
	ceiling      claims.Kind = "ceiling" // the settings MAX_NODES and MAX_HOURLY_PRICE refuse
	unknown      claims.Kind = "unknown" // no kind, as of a cancelled context
)

// TokenRefused is the text for a token that the Linode API refuses.
const TokenRefused = "The Linode API refuses the token (401): set LINODE_TOKEN to a valid one"

// verdictOn looks the error up. A request is refused because of the plan when the API names the field
// `type`: then, and only then, does an invalid request say anything about what can be bought.
func verdictOn(err error, mode v1alpha1.Mode) verdict {
	kind := unknown
	if e, ok := errors.AsType[*claims.Error](err); ok {
		switch {
		case e.Kind == claims.KindInvalid && e.Field == "type":
			kind = planRefused
		case e.Field == claims.FieldMaxNodes || e.Field == claims.FieldMaxHourlyPrice:
			kind = ceiling
		case e.Kind == claims.KindForbidden && linode.KindOf(err) == linode.KindUnauthorized:
			kind = tokenRefused
		case mode == v1alpha1.ModeLKE && unanswered(e):
			kind = overdue
		default:
			kind = e.Kind
		}
	}
	return lo.ValueOr(verdicts, kind, verdicts[unknown])
}

// unanswered returns whether the engine has concluded that the plan cannot be had, and not the API said so: a purchase was accepted and no
// Linode came for longer than Linodes of the plan take. A pause of the engine after nodes that did not join names its end.
func unanswered(e *claims.Error) bool {
	_, answered := errors.AsType[*linode.Error](e)
	return e.Kind == claims.KindInsufficientCapacity && e.Field == "" && e.RetryAfter == 0 && !answered
}

// outcome is the label of the claim metric for the result of a claim.
func outcome(err error, mode v1alpha1.Mode) string {
	if err == nil {
		return outcomeClaimed
	}
	return verdictOn(err, mode).outcome
}

// Outcomes lists what Config.OnClaim can hear.
func Outcomes() []string {
	outcomes := []string{outcomeClaimed}
	for _, v := range verdicts {
		outcomes = append(outcomes, v.outcome)
	}
	slices.Sort(outcomes)
	return slices.Compact(outcomes)
}

// givenUpAfter is after how many attempts a launch is given up that fails until a user corrects its cause. Core plans nothing, for any
// pod of the cluster, while a NodeClaim has no provider ID, and gives it up after 5 minutes. A launch with a refused token goes on: no
// NodePool can launch anything then, and the NodeClaim that stays has the reason and ends the wait when the token works.
const givenUpAfter = 4

// What LKE Enterprise does not report (FACTS of the Linode API, section 18, row 7: pools over the account's limits or without capacity are
// accepted, and then nothing happens), and what a user can do.
const (
	silentCauses = "LKE Enterprise reports neither that the region has no capacity for a plan nor that the account's limit of Linodes or " +
		"vCPUs is reached"
	silentCure = "allow more plans, or ask Linode's support for the account's limits"
)

// hintAfter is for how long a node may be on its way before the NodeClaim names what LKE does not report. Recorded Linodes of LKE took
// seconds.
const hintAfter = 2 * time.Minute

// launchError turns the error of a claim into core's. While the node is on its way the message counts the attempts: core repeats a launch
// a second after its failure was news for the NodeClaim's status, and otherwise after pauses that grow to a minute, during which the node
// would go unnoticed (measured: 100 slow nodes came 1.4 times as late, docs/performance.md).
func (c *CloudProvider) launchError(err error, l Launch, this attempt) error {
	v, nodePool, instanceType := verdictOn(err, c.backend.Mode()), l.NodePool, l.InstanceType.Name
	err = fmt.Errorf("claiming a %s: %w", instanceType, err)
	if v.cause == catalog.Overdue {
		err = fmt.Errorf("%w: LKE has accepted the purchase and made no Linode; %s: %s", err, silentCauses, silentCure)
	}
	if v.cause != "" {
		c.publishRefusal(nodePool, c.market.MarkUnavailable(instanceType, v.cause), err)
		return cloudprovider.NewInsufficientCapacityError(err) // the next NodeClaim gets another type, if there is one
	}
	if v.outcome == outcomeProvisioning && c.cfg.TokenRefused() { // the engine waits for what it cannot read
		v = verdicts[tokenRefused]
	}
	message := v.message
	if v.outcome == outcomeProvisioning {
		message = fmt.Sprintf("%s (attempt %d)", v.message, this.number)
		if c.backend.Mode() == v1alpha1.ModeLKE && time.Since(this.began) >= hintAfter {
			message += "; it takes long: " + silentCauses
		}
	}
	if v.detail {
		message = bounded(fmt.Sprintf("%s: %s", v.message, err))
	}
	if field, proven := provenRefusal(err); proven && nodePool != nil {
		c.refuse(l, field, v.reason, message)
		return c.insufficient(nodePool, err)
	}
	if v.detail && this.number >= givenUpAfter {
		c.giveUp(nodePool, v.reason, message)
		return c.insufficient(nodePool, err)
	}
	return cloudprovider.NewCreateError(err, v.reason, message)
}

// launchPauses are the delays after an abandoned launch. They stay short: a user who corrects the cause waits for the next one.
var launchPauses = []time.Duration{0, time.Minute}

// giveUp pauses the NodePool, so that the next launch of it does not follow at once, and reports why.
func (c *CloudProvider) giveUp(nodePool *karpv1.NodePool, reason, message string) {
	if nodePool == nil {
		return
	}
	pause := c.backoff.Failed(launches.Target{NodePool: nodePool.Name}, launchPauses)
	c.events.publish(nodePool, events.Event{Reason: reason, Message: fmt.Sprintf("Launch given up, next one after %s: %s", pause, message),
		DedupeTimeout: time.Minute})
}

// bounded cuts a text that holds words of the API's to what a condition and an event may have, and to printable characters.
func bounded(text string) string { return printable.Bounded(text, 1000) }

// heldFor is for how long a static NodePool makes no NodeClaim after one that got no node.
const heldFor = time.Minute

// insufficient gives a NodeClaim up that no other type would help. Core deletes it then and schedules its pods anew, on the remaining
// plans. For a static NodePool it would make the next one at once: that one is held.
func (c *CloudProvider) insufficient(nodePool *karpv1.NodePool, err error) error {
	if nodePool != nil && nodePool.Spec.Replicas != nil {
		c.held.Set(nodePool.Name, bounded(err.Error()), heldFor)
	}
	return cloudprovider.NewInsufficientCapacityError(err)
}

// Held returns why no NodeClaim of a static NodePool may be made now, nil if it may.
func (c *CloudProvider) Held(nodeClaim *karpv1.NodeClaim) error {
	name := nodeClaim.Labels[karpv1.NodePoolLabelKey]
	if why, held := c.held.Get(name); held {
		return fmt.Errorf("the static NodePool %s waits for up to %s, because the last NodeClaim of it got no node: %s", name, heldFor, why)
	}
	return nil
}

// limitMemory is for how long a refusal because of the account's or the cluster's limit counts as the reason why nothing can surge.
const limitMemory = 15 * time.Minute

// Failures returns what of a NodePool fails, until a node joins.
func (c *CloudProvider) Failures(nodePool string) []launches.Failure {
	return c.backoff.Failures(nodePool)
}

// lookupError turns the error of reading or releasing one instance into core's. Only not found, which an engine reports when the API has
// proven it, may become NodeClaimNotFound: core then forgets the instance.
func lookupError(err error) error {
	if err != nil && claims.KindOf(err) == claims.KindNotFound {
		return cloudprovider.NewNodeClaimNotFoundError(err)
	}
	return err
}
