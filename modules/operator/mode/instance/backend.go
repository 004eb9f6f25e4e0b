package instance

import (
	"context"
	"errors"
	"fmt"

	"github.com/samber/lo"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance/clusterinfo"
)

// Engine makes Linodes; *instances.Manager is one.
type Engine interface {
	Create(ctx context.Context, spec instances.Spec) (instances.Instance, error)
	Get(ctx context.Context, instanceID int) (instances.Instance, error)
	List(ctx context.Context) ([]instances.Instance, error)
	Delete(ctx context.Context, instanceID int, by claims.Claimant) error
	SetTags(ctx context.Context, instanceID int, by claims.Claimant, remove, add []string) error
	Collect(ctx context.Context, how claims.Sweep) (claims.Collected, error)
}

// Tokens issues bootstrap tokens; *bootstraptoken.Issuer does.
type Tokens interface {
	Issue(ctx context.Context, nodeClaim *karpv1.NodeClaim) (string, error)
}

// Joined returns what nodes join; *clusterinfo.Reader does.
type Joined interface {
	Cluster(ctx context.Context) (clusterinfo.Cluster, error)
}

// Groups reads placement groups, from memory for a while; *nodeclass.Lookup does.
type Groups interface {
	PlacementGroup(ctx context.Context, id int) (*status.PlacementGroup, error)
}

// Config configures a Backend. All but Groups, Generation, Attachments and FirewallRefused are required.
type Config struct {
	Cluster Cluster
	Engine  Engine
	Tokens  Tokens
	Joined  Joined
	Secrets client.Reader // that classes name; from the API server, since a cache needs the right to list
	// Groups tells full placement groups apart; nil = all are tried in order.
	Groups Groups
	// Generation returns which kind of network interfaces the account takes; nil, "" and an error = the account's default.
	Generation func(ctx context.Context) (instances.Generation, error)
	// Attachments show what was detached by hand; nil = that is no drift.
	Attachments Attachments
	// FirewallRefused reports that a NodeClaim's Linode cannot be put behind its class's firewall; nil = that is no drift.
	FirewallRefused func(nodeClaim types.UID, firewallID int) bool
	// ServingCertificates lets kubelets request their serving certificates from the cluster.
	ServingCertificates bool
}

// Backend is the cloudprovider.Backend of instance mode.
type Backend struct {
	cfg      Config
	lastRead *mode.LastRead[instances.Instance]
	doubts   doubts
}

var _ cloudprovider.Backend = (*Backend)(nil)

// NewBackend returns a Backend.
func NewBackend(cfg Config) *Backend {
	return &Backend{cfg: cfg, doubts: doubts{cache.NewExpiring()},
		lastRead: mode.NewLastRead(func(i instances.Instance) claims.Node { return i.Node })}
}

// Mode returns instance mode.
func (b *Backend) Mode() v1alpha1.Mode { return v1alpha1.ModeInstance }

// Claim makes the NodeClaim's Linode, or returns the one that it has.
func (b *Backend) Claim(ctx context.Context, l cloudprovider.Launch) (claims.Node, error) {
	spec, err := b.spec(ctx, l)
	if err != nil {
		return claims.Node{}, err
	}
	made, err := b.create(ctx, spec, b.groups(ctx, l.NodeClass))
	if err != nil {
		return claims.Node{}, err
	}
	return b.lastRead.Node(made), nil
}

// create tries the placement groups one after another: a group that is full, or cannot keep its rule, says nothing about the plan.
func (b *Backend) create(ctx context.Context, spec instances.Spec, groups []v1alpha1.PlacementGroup) (instances.Instance, error) {
	if len(groups) == 0 {
		return b.cfg.Engine.Create(ctx, spec)
	}
	var refusals []error
	for _, group := range groups {
		spec.PlacementGroup = instances.PlacementGroup{ID: group.ID, CompliantOnly: ptr.Deref(group.CompliantOnly, false)}
		made, err := b.cfg.Engine.Create(ctx, spec)
		if !ofGroup(err) {
			return made, err
		}
		refusals = append(refusals, fmt.Errorf("placement group %d: %w", group.ID, err))
	}
	return instances.Instance{}, &claims.Error{
		Kind: claims.KindInvalid, Op: "create", Field: "spec.placementGroups", Effect: claims.EffectNone,
		Err: fmt.Errorf("no placement group of the class takes one more Linode; add another one: %w", errors.Join(refusals...)),
	}
}

// ofGroup returns whether a placement group refused a Linode that another one may take.
func ofGroup(err error) bool {
	e, is := errors.AsType[*claims.Error](err)
	return is && e.Field == "Spec.PlacementGroup" && (e.Kind == claims.KindQuotaExceeded || e.Kind == claims.KindInsufficientCapacity)
}

// groups are the class's placement groups, those with room first.
func (b *Backend) groups(ctx context.Context, class *v1alpha1.LinodeNodeClass) []v1alpha1.PlacementGroup {
	all := class.Spec.Groups()
	if b.cfg.Groups == nil || len(all) < 2 {
		return all
	}
	full, free := lo.FilterReject(all, func(group v1alpha1.PlacementGroup, _ int) bool {
		found, err := b.cfg.Groups.PlacementGroup(ctx, group.ID)
		return err == nil && found != nil && found.Limit > 0 && found.Members >= found.Limit
	})
	return append(free, full...)
}

// Release removes a Linode.
func (b *Backend) Release(ctx context.Context, instanceID int, by claims.Claimant) error {
	return b.cfg.Engine.Delete(ctx, instanceID, by)
}

// Get reads one Linode.
func (b *Backend) Get(ctx context.Context, instanceID int) (claims.Node, error) {
	found, err := b.cfg.Engine.Get(ctx, instanceID)
	if err != nil {
		return claims.Node{}, err
	}
	return b.lastRead.Node(found), nil
}

// List returns the Linodes of all NodeClaims of this cluster.
func (b *Backend) List(ctx context.Context) ([]claims.Node, error) {
	all, err := b.cfg.Engine.List(ctx)
	if err != nil {
		return nil, err
	}
	return b.lastRead.Nodes(all), nil
}

// SetTags changes the user's tags on a Linode.
func (b *Backend) SetTags(ctx context.Context, instanceID int, by claims.Claimant, remove, add []string) error {
	return b.cfg.Engine.SetTags(ctx, instanceID, by, remove, add)
}

// Collect removes Linodes whose NodeClaim is gone.
func (b *Backend) Collect(ctx context.Context, how claims.Sweep) (claims.Collected, error) {
	return b.cfg.Engine.Collect(ctx, how)
}

// secret reads one value that a class names.
func (b *Backend) secret(ctx context.Context, field string, ref *v1alpha1.SecretKeyReference) ([]byte, error) {
	if ref == nil {
		return nil, &problem{reason: v1alpha1.ReasonBootstrapInvalid, field: field, text: "is not set"}
	}
	found := &corev1.Secret{}
	if err := b.cfg.Secrets.Get(ctx, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, found); err != nil {
		return nil, secretProblem(field, ref, err)
	}
	value, ok := found.Data[ref.Key]
	if !ok || len(value) == 0 {
		return nil, &problem{reason: v1alpha1.ReasonSecretNotFound, field: field,
			text: fmt.Sprintf("the Secret %s/%s has no data under the key %q; add it, or correct the reference", ref.Namespace, ref.Name, ref.Key)}
	}
	return value, nil
}
