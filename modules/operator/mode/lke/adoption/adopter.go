package adoption

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// Reasons of the events on a NodeClaim: its node was taken over, or cannot be taken over.
const (
	EventAdopted    = "Adopted"
	EventNotAdopted = "NotAdopted"
)

// Config configures an Adopter. All fields are required.
type Config struct {
	API       *linode.Client
	Kube      client.Reader
	ClusterID int
	// Wanted returns the request by which this provider makes a node for a NodeClaim.
	Wanted func(nodeClaim *karpv1.NodeClaim, nodePool *karpv1.NodePool, nodeClass *v1alpha1.LinodeNodeClass,
		instanceType string) lkepool.Request
	Events events.Recorder
}

// Pauses between attempts. They begin short, because a class becomes Ready within seconds of the start. A pool that is left after that
// usually needs a person.
const firstRetry, longestRetry = 2 * time.Second, 5 * time.Minute

// Adopter is a Runnable of controller-runtime's manager. Only one goroutine may use it.
type Adopter struct {
	cfg   Config
	named map[int]string // why a pool was not adopted, as reported last
}

// New returns an Adopter.
func New(cfg Config) *Adopter {
	return &Adopter{cfg: cfg, named: map[int]string{}}
}

// NeedLeaderElection returns true: it writes.
func (a *Adopter) NeedLeaderElection() bool { return true }

// Start adopts until no pool of the alpha provider is left, or ctx ends.
func (a *Adopter) Start(ctx context.Context) error {
	ctx = log.IntoContext(ctx, log.FromContext(ctx).WithValues("controller", "adoption"))
	pauses := wait.Backoff{Duration: firstRetry, Factor: 2, Steps: 10, Cap: longestRetry}
	_ = pauses.DelayFunc().Until(ctx, true, true, func(ctx context.Context) (done bool, _ error) { // it fails only when ctx ends
		left, err := a.Adopt(ctx)
		if err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Info("could not adopt the alpha provider's nodes; trying again", "error", err.Error())
		}
		return left == 0 && err == nil, nil
	})
	return nil
}

// Adopt takes over the pools that can be taken over now. It returns how many pools of the alpha provider are left.
func (a *Adopter) Adopt(ctx context.Context) (left int, err error) {
	var pools []api.LKENodePool
	for pool, err := range a.cfg.API.ListPools(ctx, a.cfg.ClusterID, linode.Filter{}) {
		if err != nil {
			return 0, fmt.Errorf("listing node pools: %w", err)
		}
		if alpha(pool) {
			pools = append(pools, pool)
		}
	}
	byID, err := a.nodeClaims(ctx)
	if err != nil {
		return 0, err
	}
	var problems []error
	for _, pool := range pools {
		claims, unborn := claimsOf(pool, byID)
		why, err := refusal(pool, claims, unborn), error(nil)
		if why == "" {
			why, err = a.adopt(ctx, pool, claims)
			problems = append(problems, err)
		}
		if why != "" || err != nil {
			left++
		}
		a.name(ctx, pool, claims, why)
	}
	return left, errors.Join(problems...)
}

// nodeClaims returns the NodeClaims that have a Linode, by the Linode's ID.
func (a *Adopter) nodeClaims(ctx context.Context) (map[int]*karpv1.NodeClaim, error) {
	list := &karpv1.NodeClaimList{}
	if err := a.cfg.Kube.List(ctx, list); err != nil {
		return nil, fmt.Errorf("listing NodeClaims: %w", err)
	}
	byID := map[int]*karpv1.NodeClaim{}
	for i := range list.Items {
		if id, err := nodeclaim.InstanceID(list.Items[i].Status.ProviderID); err == nil {
			byID[id] = &list.Items[i]
		}
	}
	return byID, nil
}

// adopt takes over one pool: it writes the Linodes' tags first and the pool's tags last. why is the reason why it does not.
func (a *Adopter) adopt(ctx context.Context, pool api.LKENodePool, claims map[int]*karpv1.NodeClaim) (why string, err error) {
	claim := newest(claims)
	nodePool, nodeClass := &karpv1.NodePool{}, &v1alpha1.LinodeNodeClass{}
	name := claim.Labels[karpv1.NodePoolLabelKey]
	if err := a.cfg.Kube.Get(ctx, types.NamespacedName{Name: name}, nodePool); err != nil {
		return fmt.Sprintf("NodePool %s: %v", name, err), client.IgnoreNotFound(err)
	}
	ref := claim.Spec.NodeClassRef
	if ref == nil || ref.Group != v1alpha1.Group {
		return fmt.Sprintf("NodeClaim %s has no LinodeNodeClass", claim.Name), nil
	}
	if err := a.cfg.Kube.Get(ctx, types.NamespacedName{Name: ref.Name}, nodeClass); err != nil {
		return fmt.Sprintf("LinodeNodeClass %s: %v", ref.Name, err), client.IgnoreNotFound(err)
	}
	if !nodeClass.StatusConditions().Root().IsTrue() { // its version, which is part of the key, may not be known
		return fmt.Sprintf("LinodeNodeClass %s is not Ready", ref.Name), nil
	}
	for id, claim := range claims {
		if err := a.claim(ctx, id, claim, a.cfg.Wanted(claim, nodePool, nodeClass, pool.Type)); err != nil {
			return "", err
		}
	}
	request := a.cfg.Wanted(claim, nodePool, nodeClass, pool.Type)
	if _, err := a.cfg.API.UpdatePool(ctx, a.cfg.ClusterID, pool.ID, poolUpdate(pool, request)); err != nil {
		return "", fmt.Errorf("updating pool %d: %w", pool.ID, err)
	}
	log.FromContext(ctx).Info("adopted a pool of the alpha provider", "pool", pool.ID, "NodePool", name, "nodes", len(claims), "free",
		len(pool.Nodes)-len(claims))
	for _, claim := range claims {
		a.publish(claim, corev1.EventTypeNormal, EventAdopted,
			fmt.Sprintf("The operator took over LKE pool %d of the alpha provider, which has this node", pool.ID))
	}
	return "", nil
}

// claim reads the Linode's tags right before it writes them, because a write replaces all tags.
func (a *Adopter) claim(ctx context.Context, id int, claim *karpv1.NodeClaim, request lkepool.Request) error {
	instance, err := a.cfg.API.GetInstance(ctx, id)
	if err != nil {
		return fmt.Errorf("reading Linode %d of NodeClaim %s: %w", id, claim.Name, err)
	}
	tags := instanceTags(instance.Tags, claim.Name, request)
	if slices.Equal(tags, instance.Tags) {
		return nil
	}
	if _, err := a.cfg.API.UpdateInstance(ctx, id, api.InstanceUpdate{Tags: &tags}); err != nil {
		return fmt.Errorf("tagging Linode %d of NodeClaim %s: %w", id, claim.Name, err)
	}
	return nil
}

// name reports why a pool is not adopted. It reports the same reason once.
func (a *Adopter) name(ctx context.Context, pool api.LKENodePool, claims map[int]*karpv1.NodeClaim, why string) {
	if why == "" || a.named[pool.ID] == why {
		return
	}
	a.named[pool.ID] = why
	log.FromContext(ctx).Info("cannot adopt a pool of the alpha provider", "pool", pool.ID, "NodePool",
		valueOf(pool.Tags, v1alpha1.TagNodePool), "reason", why)
	for _, claim := range claims {
		a.publish(claim, corev1.EventTypeWarning, EventNotAdopted,
			fmt.Sprintf("The operator does not take over LKE pool %d of the alpha provider: %s", pool.ID, why))
	}
}

func (a *Adopter) publish(claim *karpv1.NodeClaim, eventType, reason, message string) {
	a.cfg.Events.Publish(events.Event{InvolvedObject: claim, Type: eventType, Reason: reason, Message: message,
		DedupeValues: []string{claim.Name, message}})
}
