// Package firewalls puts Linodes of instance mode back behind their LinodeNodeClass's Cloud Firewall when a user took them out.
//
// It does nothing else. If a class gets a firewall, or another firewall, its nodes drift by their hash, and no Linode is moved. A Linode
// lacks its firewall when two reads agree. The first read, after the node registered, shows that the firewall does not list the Linode.
// The second read, at least the settle time later, shows that the Linode's own firewalls do not include the firewall.
//
//	the Linode is        the package
//	in no firewall       puts it into the class's by one request, so it is never without a firewall because of this package
//	in another one       leaves it there, because a user chose it
//
// If the Linode stays outside of the firewall, or the API refuses (as it does for Linode interfaces), [Keeper.Refused] reports this after
// two attempts, and the node drifts. The package tries again every ten minutes.
//
// At rest the package sends no request: the controller of classes reads the firewall's list, and the last list of instances has the
// owner. It remembers nothing beyond the process. If an answer is lost, the next attempt shows whether the request had an effect.
//
// Callers: controllers/upkeep, which reconciles NodeClaims, and the drift of instance mode.
//
// A second attempt follows after 30 seconds. The events are FirewallAttached and FirewallNotAttached on the NodeClaim. Keep returns an
// error only if a request failed for another reason than a refusal; the caller repeats the call. Keep does nothing before the node has
// registered, or if the class has changed since the launch of the NodeClaim.
//
// Keep leaves a Linode alone that no list of the cluster has yet, or that another NodeClaim has claimed, and looks again after 30
// seconds.
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
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// Reasons of the events.
const (
	EventAttached    = "FirewallAttached"
	EventNotAttached = "FirewallNotAttached"
)

const (
	atRest       = 2 * time.Minute  // between looks at readings that others have made
	retryPause   = 30 * time.Second // before the second attempt; longer than the memory behind Recheck
	refusalPause = 10 * time.Minute // before each later one
	remembered   = time.Hour        // longer than every pause
	enough       = 2                // refusals in a row that count
)

// Readings returns the entities that a firewall protects. *nodeclass.Lookup implements it, and remembers an answer for a while. read is
// the time of the request. A nil list without an error means that the entities are not known; an empty list means that there are none.
type Readings interface {
	Protected(ctx context.Context, firewallID int) (entities []api.FirewallEntity, read time.Time, err error)
}

// API has the requests about the firewalls of one Linode. *linode.Client implements it.
type API interface {
	ListInstanceFirewalls(ctx context.Context, linodeID int, filter linode.Filter) iter.Seq2[api.Firewall, error]
	SetInstanceFirewalls(ctx context.Context, linodeID int, update api.InstanceFirewallsUpdate) (*api.FirewallPage, error)
}

// Config configures a Keeper. All fields are required.
type Config struct {
	Readings Readings
	Recheck  Readings // with a memory of less than 30 seconds, for a Linode that could not be put back
	API      API
	Recorder events.Recorder
	// Claim returns the claim on a Linode as it was last read ([claims.Node]). known is false for a Linode that no list of this cluster
	// has.
	Claim func(instanceID int) (claim string, known bool)
	// Interfaces returns how many interfaces of a Linode of the class a firewall protects, if the Linode has Linode interfaces.
	Interfaces func(spec v1alpha1.LinodeNodeClassSpec) int
	// SettleTime is the time after a write for which a reading may not show the write yet.
	SettleTime time.Duration
}

// Keeper keeps NodeClaims' Linodes behind their firewalls. It is safe for concurrent use, with one call at a time for a NodeClaim.
type Keeper struct {
	cfg      Config
	attempts *cache.Expiring // by key: attempt
}

// NewKeeper returns a Keeper.
func NewKeeper(cfg Config) *Keeper { return &Keeper{cfg: cfg, attempts: cache.NewExpiring()} }

type key struct {
	nodeClaim types.UID
	firewall  int
}

// attempt is the last attempt to put a Linode back.
type attempt struct {
	at       time.Time // firewalls that were read before may lack the Linode
	refusals int       // in a row
	pause    time.Duration
}

func (k *Keeper) attempt(of key) attempt {
	found, _ := k.attempts.Get(of)
	last, _ := found.(attempt)
	return last
}

// Refused reports whether a NodeClaim's Linode cannot be put behind a firewall. Then only a new Linode can have the firewall.
func (k *Keeper) Refused(nodeClaim types.UID, firewall int) bool {
	return k.attempt(key{nodeClaim, firewall}).refusals >= enough
}

// subject is a Linode that was made with a firewall.
type subject struct {
	key
	claim     *karpv1.NodeClaim
	linode    int
	protected int // interfaces, if it has Linode interfaces
	last      attempt
}

// Keep looks at one NodeClaim's Linode, and puts it back if it lacks its firewall. It returns the pause before the next look; 0 means
// that the next event is soon enough. It does nothing if the class has no firewall, or has changed since the launch, which makes the node
// drift. If the class's firewall was not found, or not looked up yet, an event of the class follows.
func (k *Keeper) Keep(ctx context.Context, nodeClaim *karpv1.NodeClaim, class *v1alpha1.LinodeNodeClass) (time.Duration, error) {
	id, err := nodeclaim.InstanceID(nodeClaim.Status.ProviderID)
	ready := class.StatusConditions().Get(v1alpha1.ConditionFirewallReady)
	if err != nil || class.Spec.FirewallID == nil || !ready.IsTrue() || ready.ObservedGeneration != class.Generation ||
		nodeClaim.Annotations[v1alpha1.AnnotationHash] != class.Hash(v1alpha1.ModeInstance) {
		return 0, nil //nolint:nilerr // without a provider ID it has no Linode yet
	}
	of := key{nodeClaim.UID, *class.Spec.FirewallID}
	s := subject{of, nodeClaim, id, k.cfg.Interfaces(class.Spec), k.attempt(of)}
	if wait := time.Until(s.last.at.Add(s.last.pause)); wait > 0 {
		return wait, nil
	}
	found, read := k.look(ctx, s)
	if found == complete {
		k.attempts.Delete(of)
	}
	if found == complete || found == unknown {
		return atRest, nil
	}
	if wait := time.Until(read.Add(k.cfg.SettleTime)); wait > 0 {
		return wait, nil
	}
	if claim, known := k.cfg.Claim(id); !known || claim != (claims.Tags{}).Value(nodeClaim.Name) {
		return retryPause, nil // not listed yet, or not this NodeClaim's
	}
	return k.restore(ctx, s, found)
}

// restore puts a Linode back, unless the Linode's own firewalls show that it is behind this firewall or another one.
func (k *Keeper) restore(ctx context.Context, s subject, found finding) (time.Duration, error) {
	has, err := linode.Collect(k.cfg.API.ListInstanceFirewalls(ctx, s.linode, linode.Filter{}))
	is := slices.ContainsFunc(has, func(f api.Firewall) bool { return f.ID == s.firewall })
	switch {
	case err == nil && is && found != partial:
		k.attempts.Set(s.key, attempt{at: time.Now()}, remembered)
		return atRest, nil
	case err == nil && !is && len(has) > 0:
		return k.deny(ctx, s, fmt.Sprintf("it is behind firewall %d, which a user chose", has[0].ID)), nil
	case err == nil:
		_, err = k.cfg.API.SetInstanceFirewalls(ctx, s.linode, api.InstanceFirewallsUpdate{FirewallIds: []int{s.firewall}})
	}
	switch kind := linode.KindOf(err); {
	case err == nil:
		k.attempts.Set(s.key, attempt{at: time.Now()}, remembered)
		log.FromContext(ctx).Info("put a Linode back behind its firewall", "instance", s.linode, "firewall", s.firewall)
		k.publish(s, corev1.EventTypeNormal, EventAttached,
			fmt.Sprintf("Linode %d lacked firewall %d (spec.firewallID); the operator put it back behind this firewall", s.linode, s.firewall))
		return atRest, nil
	case kind == linode.KindForbidden || kind == linode.KindUnauthorized:
		return k.deny(ctx, s, "the token or its user may not set the firewalls of Linodes: "+err.Error()), nil
	case kind == linode.KindInvalid:
		return k.deny(ctx, s, "the Linode API refuses to set the firewall: "+err.Error()), nil
	case kind == linode.KindNotFound: // the firewall, which the class's condition is about to show, or the Linode
		return retryPause, nil
	}
	return 0, fmt.Errorf("putting instance %d behind firewall %d: %w", s.linode, s.firewall, err)
}

// deny counts refusals, reports the refusal that decides, and returns the pause before the next attempt.
func (k *Keeper) deny(ctx context.Context, s subject, reason string) time.Duration {
	a := attempt{at: time.Now(), refusals: s.last.refusals + 1, pause: refusalPause}
	if a.refusals < enough {
		a.pause = retryPause
	}
	k.attempts.Set(s.key, a, remembered)
	if a.refusals == enough {
		log.FromContext(ctx).Info("a Linode stays without its firewall", "instance", s.linode, "firewall", s.firewall, "reason", reason)
		k.publish(s, corev1.EventTypeWarning, EventNotAttached, fmt.Sprintf(
			"Linode %d lacks firewall %d (spec.firewallID), and Karpenter replaces its node: %s", s.linode, s.firewall, reason))
	}
	return a.pause
}

func (k *Keeper) publish(s subject, kind, reason, message string) {
	k.cfg.Recorder.Publish(events.Event{
		InvolvedObject: s.claim, Type: kind, Reason: reason, Message: message,
		DedupeValues: []string{string(s.nodeClaim), fmt.Sprint(s.firewall)},
	})
}
