// Package firewalls keeps the Linodes of instance mode behind their LinodeNodeClass's Cloud Firewall, in place: no node is replaced.
//
// A Linode whose class gets a firewall, or another one, is attached to it, and so is one that a user took out. It is taken out of a
// firewall only if the class has had that one: a firewall that a user chose for it stays, and then the API refuses the class's,
// because a Linode has one at a time. Between the two requests of a move the Linode has none. A class without spec.firewallID changes
// nothing. A Linode with the newer interfaces is protected by each of its public and VPC interfaces.
//
// A Linode lacks its firewall when two readings of the firewall, the settle time apart, do not show it; its claim is read before
// anything is written. Nothing is remembered beyond the process: one that dies between two requests leaves a Linode that lacks its
// firewall, and the next one finds it so. An answer that was lost is resolved by the next reading.
//
// At rest no request is sent beyond those of the controller of classes: what a firewall protects comes with the firewall. When the API
// has refused twice, [Controller.Refused] reports it, which makes the node drift; it is tried again every ten minutes. A token without
// the scope firewall:read_write is found out by one Linode for all others.
//
// Registered by cmd/controller in instance mode; it runs on the leader only.
package firewalls

import (
	"context"
	"iter"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"
	nodeclaimutils "sigs.k8s.io/karpenter/pkg/utils/nodeclaim"

	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
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

// API has the requests that move a Linode; *linode.Client is one.
type API interface {
	GetInstance(ctx context.Context, linodeID int) (*api.Instance, error)
	ListInterfaces(ctx context.Context, linodeID int) (*api.InstanceInterfaceList, error)
	ListFirewallDevices(ctx context.Context, firewallID int) iter.Seq2[api.FirewallDevice, error]
	CreateFirewallDevice(ctx context.Context, firewallID int, device api.FirewallDeviceCreate) (*api.FirewallDevice, error)
	DeleteFirewallDevice(ctx context.Context, firewallID int, deviceID int) error
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

const (
	atRest       = 5 * time.Minute  // between looks at what has been read anyway
	retryPause   = 30 * time.Second // before the second attempt
	refusalPause = 10 * time.Minute // before each later one
	remembered   = time.Hour        // longer than every pause
	devicesLast  = time.Minute      // a device's ID never means another device
)

// Controller reconciles the firewalls of NodeClaims' Linodes.
type Controller struct {
	kube     client.Client
	recorder events.Recorder
	cfg      Config

	doubts  *cache.Expiring // by UID: a reading that lacks the Linode, or our own write
	pending *cache.Expiring // by UID: the firewall that was requested without an answer
	refused *cache.Expiring // by UID: refusal
	scope   *cache.Expiring // one key: suspicion
	devices *cache.Expiring // by firewall
	reading singleflight.Group
}

// NewController returns a Controller. The cache behind kube must have core's index on the NodeClass reference of NodeClaims.
func NewController(kube client.Client, recorder events.Recorder, cfg Config) *Controller {
	expiring := func() *cache.Expiring { return cache.NewExpiringWithClock(cfg.Clock) }
	return &Controller{kube: kube, recorder: recorder, cfg: cfg,
		doubts: expiring(), pending: expiring(), refused: expiring(), scope: expiring(), devices: expiring()}
}

// subject is a Linode, and the firewall that it should have.
type subject struct {
	claim            *karpv1.NodeClaim
	class            *v1alpha1.LinodeNodeClass
	linode, firewall int
	registered       time.Time
}

// Reconcile looks at one NodeClaim's Linode, and attaches it if it lacks its firewall.
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
		c.settled(ctx, s)
	}
	return reconcile.Result{RequeueAfter: atRest}, nil
}

// subject is nil where nothing is to be done. A class whose firewall was not found, or not looked at yet, comes back as an event.
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
	if class.Spec.FirewallID == nil || !ready.IsTrue() || ready.ObservedGeneration != class.Generation {
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
