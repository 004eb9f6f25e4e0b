package firewalls

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
)

// Reasons of the events.
const (
	EventAttached    = "FirewallAttached"
	EventNotAttached = "FirewallNotAttached"
)

// enough is how many refusals in a row are believed.
const enough = 2

// denial is how often the API has refused to attach a Linode, in a row.
type denial struct {
	firewall, times int
	last            time.Time
}

// restore attaches a Linode that lacks its firewall, unless that was refused a moment ago.
func (c *Controller) restore(ctx context.Context, s *subject) (reconcile.Result, error) {
	if wait := c.pause(s); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	if token := c.suspicion(); c.cfg.Clock.Now().Before(token.until) {
		if token.times >= enough {
			return c.deny(ctx, s, token.err, enough), nil
		}
		return reconcile.Result{RequeueAfter: token.until.Sub(c.cfg.Clock.Now())}, nil
	}
	found, err := c.cfg.Linodes.Get(ctx, s.linode)
	switch {
	case claims.KindOf(err) == claims.KindNotFound:
		return reconcile.Result{}, nil // core removes the NodeClaim
	case claims.KindOf(err) == claims.KindConflict, err == nil && found.Claim != claims.Tags{}.Value(s.claim.Name):
		log.FromContext(ctx).Info("a Linode without its firewall is not this NodeClaim's; it is left alone", "instance", s.linode)
		return reconcile.Result{RequeueAfter: refusalPause}, nil
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("reading instance %d: %w", s.linode, err)
	}
	c.pending.Set(s.claim.UID, s.firewall, remembered)
	if err = c.attach(ctx, s); err == nil {
		c.scope.Delete("")
		c.doubts.Set(s.claim.UID, doubt{s.firewall, time.Now()}, remembered)
		c.settled(ctx, s)
		return reconcile.Result{RequeueAfter: atRest}, nil
	}
	c.cfg.Readings.ForgetFirewall(s.firewall) // it may be behind it all the same
	switch {
	case scopeMissing(err):
		return c.deny(ctx, s, err, c.suspect(err)), nil
	case refusal(err):
		return c.deny(ctx, s, err, 1), nil
	case linode.KindOf(err) == linode.KindNotFound: // the firewall, which the class's condition is about to show, or the Linode
		return reconcile.Result{RequeueAfter: retryPause}, nil
	}
	return reconcile.Result{}, fmt.Errorf("attaching instance %d to firewall %d: %w", s.linode, s.firewall, err)
}

// pause is how long a refusal is still believed.
func (c *Controller) pause(s *subject) time.Duration {
	d := c.denialOf(s.claim.UID, s.firewall)
	switch {
	case d.times == 0:
		return 0
	case d.times < enough:
		return retryPause - c.cfg.Clock.Since(d.last)
	}
	return refusalPause - c.cfg.Clock.Since(d.last)
}

func (c *Controller) denialOf(uid types.UID, firewall int) denial {
	found, known := c.refused.Get(uid)
	if !known || found.(denial).firewall != firewall { //nolint:forcetypeassert // nothing else is in it
		return denial{}
	}
	return found.(denial) //nolint:forcetypeassert // as above
}

// Refused reports whether the API refuses to put a NodeClaim's Linode behind a firewall. Only another Linode can have it then.
func (c *Controller) Refused(nodeClaim types.UID, firewall int) bool {
	return c.denialOf(nodeClaim, firewall).times >= enough
}

// deny counts refusals, and reports the one that is believed.
func (c *Controller) deny(ctx context.Context, s *subject, err error, times int) reconcile.Result {
	before := c.denialOf(s.claim.UID, s.firewall).times
	d := denial{s.firewall, before + times, c.cfg.Clock.Now()}
	c.refused.Set(s.claim.UID, d, remembered)
	c.pending.Delete(s.claim.UID)
	if d.times < enough {
		return reconcile.Result{RequeueAfter: retryPause}
	}
	cure := "take it out of the firewall that it has, or let Karpenter replace the node"
	if scopeMissing(err) {
		cure = "give the token the scope firewall:read_write, or let Karpenter replace the node"
	}
	if before < enough {
		log.FromContext(ctx).Info("a Linode cannot be attached to its firewall", "instance", s.linode, "firewall", s.firewall, "reason",
			err.Error())
		c.publish(s, corev1.EventTypeWarning, EventNotAttached,
			fmt.Sprintf("Linode %d lacks firewall %d (spec.firewallID), and the Linode API refuses to attach it; %s: %s", s.linode, s.firewall, cure,
				err))
	}
	return reconcile.Result{RequeueAfter: refusalPause}
}

// suspicion is that the token lacks a scope, as refusals of any Linode have it.
type suspicion struct {
	times int
	until time.Time // before it, no other Linode is tried
	err   error
}

func (c *Controller) suspicion() suspicion {
	found, known := c.scope.Get("")
	if !known {
		return suspicion{}
	}
	return found.(suspicion) //nolint:forcetypeassert // nothing else is in it
}

// suspect notes a refusal of the token, and returns how many are believed to have been seen.
func (c *Controller) suspect(err error) int {
	token := c.suspicion()
	token.times, token.err = token.times+1, err
	pause := retryPause
	if token.times >= enough {
		pause = refusalPause
	}
	token.until = c.cfg.Clock.Now().Add(pause)
	c.scope.Set("", token, remembered)
	return token.times
}

// settled reports an attachment of this process once it is known, and forgets refusals.
func (c *Controller) settled(ctx context.Context, s *subject) {
	c.refused.Delete(s.claim.UID)
	asked, pending := c.pending.Get(s.claim.UID)
	c.pending.Delete(s.claim.UID)
	if !pending || asked != s.firewall {
		return
	}
	log.FromContext(ctx).Info("attached a Linode to its firewall", "instance", s.linode, "firewall", s.firewall)
	c.publish(s, corev1.EventTypeNormal, EventAttached,
		fmt.Sprintf("Linode %d lacked firewall %d (spec.firewallID) and was attached to it", s.linode, s.firewall))
}

func (c *Controller) publish(s *subject, kind, reason, message string) {
	c.recorder.Publish(events.Event{
		InvolvedObject: s.claim, Type: kind, Reason: reason, Message: message,
		DedupeValues: []string{string(s.claim.UID), fmt.Sprint(s.firewall)},
	})
}
