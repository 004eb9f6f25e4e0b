// Package firewalls puts Linodes of instance mode back behind their LinodeNodeClass's Cloud Firewall when a user took them out.
//
// Only that: a class that gets a firewall, or another one, makes its nodes drift by its hash, and nothing is moved. A Linode lacks its
// firewall when two readings of the firewall, the settle time apart, do not show it. Its claim and its firewalls are read then. One that is
// in no firewall is put into its class's by one request, so it is never without because of this controller; one that is in another, a
// user's choice, stays there. Where it stays so, or the API refuses, as it does for the newer interfaces, [Controller.Refused] reports it
// after two attempts, which makes the node drift; it is tried again every ten minutes.
//
// At rest no request is sent beyond those of the controller of classes: what a firewall protects comes with the firewall. Nothing is
// remembered beyond the process. An answer that was lost is resolved by the next attempt.
//
// Registered by cmd/controller in instance mode; it runs on the leader only.
package firewalls

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"
	nodeclaimutils "sigs.k8s.io/karpenter/pkg/utils/nodeclaim"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// Reasons of the events.
const (
	EventAttached    = "FirewallAttached"
	EventNotAttached = "FirewallNotAttached"
)

const (
	atRest       = 5 * time.Minute  // between looks at what has been read anyway
	retryPause   = 30 * time.Second // before the second attempt
	refusalPause = 10 * time.Minute // before each later one
	remembered   = time.Hour        // longer than every pause
	enough       = 2                // refusals in a row that are believed
)

// Readings has what firewalls protect, from memory for a while; *nodeclass.Lookup does. read is the time of the request; nil entities
// without an error are not known, an empty list is none.
type Readings interface {
	Protected(ctx context.Context, firewallID int) (entities []api.FirewallEntity, read time.Time, err error)
	ForgetFirewall(firewallID int)
}

// Linodes reads a Linode of this cluster now; *instances.Manager does.
type Linodes interface {
	Get(ctx context.Context, instanceID int) (instances.Instance, error)
}

// API has the requests about the firewalls of one Linode; *linode.Client is one.
type API interface {
	ListInstanceFirewalls(ctx context.Context, linodeID int, filter linode.Filter) iter.Seq2[api.Firewall, error]
	SetInstanceFirewalls(ctx context.Context, linodeID int, update api.InstanceFirewallsUpdate) (*api.FirewallPage, error)
}

// Config configures a Controller. All of it is required.
type Config struct {
	Readings Readings
	Linodes  Linodes
	API      API
	// Interfaces returns how many interfaces a Linode of the class has that a firewall protects, if it has the newer ones.
	Interfaces func(spec v1alpha1.LinodeNodeClassSpec) int
	// SettleTime is for how long after a write a reading may still be without it.
	SettleTime time.Duration
	Clock      clock.Clock
}

// Controller reconciles the firewalls of NodeClaims' Linodes.
type Controller struct {
	kube     client.Client
	recorder events.Recorder
	cfg      Config
	doubts   *cache.Expiring // by UID: doubt
	refused  *cache.Expiring // by UID: denial
}

// NewController returns a Controller. The cache behind kube must have core's index on the NodeClass reference of NodeClaims.
func NewController(kube client.Client, recorder events.Recorder, cfg Config) *Controller {
	return &Controller{kube: kube, recorder: recorder, cfg: cfg,
		doubts: cache.NewExpiringWithClock(cfg.Clock), refused: cache.NewExpiringWithClock(cfg.Clock)}
}

// subject is a Linode, and the firewall that it was made with.
type subject struct {
	claim            *karpv1.NodeClaim
	class            *v1alpha1.LinodeNodeClass
	linode, firewall int
	registered       time.Time
}

// Reconcile looks at one NodeClaim's Linode, and puts it back if it lacks its firewall.
func (c *Controller) Reconcile(ctx context.Context, nodeClaim *karpv1.NodeClaim) (reconcile.Result, error) {
	s, err := c.subject(ctx, nodeClaim)
	if s == nil || err != nil {
		return reconcile.Result{}, err
	}
	switch c.look(ctx, s) {
	case lacking:
		return c.restore(ctx, s)
	case doubtful:
		return reconcile.Result{RequeueAfter: c.cfg.SettleTime}, nil
	case complete:
		c.refused.Delete(s.claim.UID)
	}
	return reconcile.Result{RequeueAfter: atRest}, nil
}

// subject is nil where nothing is to be done: without a firewall, or when the class has changed since, which makes the node drift. A class
// whose firewall was not found, or not looked at yet, comes back as an event.
func (c *Controller) subject(ctx context.Context, nodeClaim *karpv1.NodeClaim) (*subject, error) {
	id, err := nodeclaim.InstanceID(nodeClaim.Status.ProviderID)
	since := registered(nodeClaim)
	if err != nil || since.IsZero() || !nodeclaim.Ours(nodeClaim.Spec.NodeClassRef) || !nodeClaim.DeletionTimestamp.IsZero() {
		return nil, nil //nolint:nilerr // without a provider ID it has no Linode yet; one of another provider is not ours
	}
	class := &v1alpha1.LinodeNodeClass{}
	if err := c.kube.Get(ctx, types.NamespacedName{Name: nodeClaim.Spec.NodeClassRef.Name}, class); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	ready := class.StatusConditions().Get(v1alpha1.ConditionFirewallReady)
	if class.Spec.FirewallID == nil || !ready.IsTrue() || ready.ObservedGeneration != class.Generation ||
		nodeClaim.Annotations[v1alpha1.AnnotationHash] != class.Hash(v1alpha1.ModeInstance) {
		return nil, nil
	}
	return &subject{nodeClaim, class, id, *class.Spec.FirewallID, since}, nil
}

// registered returns since when a NodeClaim's node has been there; zero while it has not.
func registered(nodeClaim *karpv1.NodeClaim) time.Time {
	for _, condition := range nodeClaim.Status.Conditions {
		if condition.Type == karpv1.ConditionTypeRegistered && condition.IsTrue() {
			return condition.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// restore puts a Linode that lacks its firewall back, unless that was refused a moment ago.
func (c *Controller) restore(ctx context.Context, s *subject) (reconcile.Result, error) {
	if wait := c.pause(s); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
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
	has, err := linode.Collect(c.cfg.API.ListInstanceFirewalls(ctx, s.linode, linode.Filter{}))
	if err == nil && len(has) > 0 && !slices.ContainsFunc(has, func(f api.Firewall) bool { return f.ID == s.firewall }) {
		return c.deny(ctx, s, fmt.Sprintf("it is behind firewall %d, which is left to the user who chose it", has[0].ID)), nil
	}
	if err == nil {
		_, err = c.cfg.API.SetInstanceFirewalls(ctx, s.linode, api.InstanceFirewallsUpdate{FirewallIds: []int{s.firewall}})
	}
	switch kind := linode.KindOf(err); {
	case err == nil:
		c.cfg.Readings.ForgetFirewall(s.firewall)
		c.doubts.Set(s.claim.UID, doubt{s.firewall, time.Now()}, remembered)
		c.refused.Delete(s.claim.UID)
		log.FromContext(ctx).Info("put a Linode back behind its firewall", "instance", s.linode, "firewall", s.firewall)
		c.publish(s, corev1.EventTypeNormal, EventAttached,
			fmt.Sprintf("Linode %d lacked firewall %d (spec.firewallID) and was put behind it", s.linode, s.firewall))
		return reconcile.Result{RequeueAfter: atRest}, nil
	case kind == linode.KindForbidden || kind == linode.KindUnauthorized:
		return c.deny(ctx, s, "the token or its user may not set the firewalls of Linodes: "+err.Error()), nil
	case kind == linode.KindInvalid:
		return c.deny(ctx, s, "the Linode API refuses to set it: "+err.Error()), nil
	case kind == linode.KindNotFound: // the firewall, which the class's condition is about to show, or the Linode
		return reconcile.Result{RequeueAfter: retryPause}, nil
	}
	c.cfg.Readings.ForgetFirewall(s.firewall) // it may be behind it all the same
	return reconcile.Result{}, fmt.Errorf("putting instance %d behind firewall %d: %w", s.linode, s.firewall, err)
}

// denial is how often a Linode could not be put back, in a row.
type denial struct {
	firewall, times int
	last            time.Time
}

func (c *Controller) denialOf(uid types.UID, firewall int) denial {
	found, known := c.refused.Get(uid)
	if !known || found.(denial).firewall != firewall { //nolint:forcetypeassert // nothing else is in it
		return denial{}
	}
	return found.(denial) //nolint:forcetypeassert // as above
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

// Refused reports whether a NodeClaim's Linode cannot be put behind a firewall. Only another Linode can have it then.
func (c *Controller) Refused(nodeClaim types.UID, firewall int) bool {
	return c.denialOf(nodeClaim, firewall).times >= enough
}

// deny counts refusals, and reports the one that is believed.
func (c *Controller) deny(ctx context.Context, s *subject, reason string) reconcile.Result {
	d := denial{s.firewall, c.denialOf(s.claim.UID, s.firewall).times + 1, c.cfg.Clock.Now()}
	c.refused.Set(s.claim.UID, d, remembered)
	if d.times < enough {
		return reconcile.Result{RequeueAfter: retryPause}
	}
	if d.times == enough {
		log.FromContext(ctx).Info("a Linode stays without its firewall", "instance", s.linode, "firewall", s.firewall, "reason", reason)
		c.publish(s, corev1.EventTypeWarning, EventNotAttached, fmt.Sprintf(
			"Linode %d lacks firewall %d (spec.firewallID), and its node is to be replaced: %s", s.linode, s.firewall, reason))
	}
	return reconcile.Result{RequeueAfter: refusalPause}
}

func (c *Controller) publish(s *subject, kind, reason, message string) {
	c.recorder.Publish(events.Event{
		InvolvedObject: s.claim, Type: kind, Reason: reason, Message: message,
		DedupeValues: []string{string(s.claim.UID), fmt.Sprint(s.firewall)},
	})
}

// Register adds the controller to a manager.
func (c *Controller) Register(_ context.Context, m manager.Manager) error {
	return controllers.For(m, "nodeclaim.firewalls", &karpv1.NodeClaim{}, 10, predicate.Funcs{UpdateFunc: registers}).
		Watches(&v1alpha1.LinodeNodeClass{}, nodeclaimutils.NodeClassEventHandler(c.kube)).
		Complete(reconcile.AsReconciler(m.GetClient(), c))
}

// registers lets a NodeClaim pass whose node has registered; the rest comes by time, and with the class.
func registers(e event.UpdateEvent) bool {
	return !registered(e.ObjectOld.(*karpv1.NodeClaim)).Equal(registered(e.ObjectNew.(*karpv1.NodeClaim)))
}
