package instance

import (
	"context"
	"errors"
	"fmt"

	"github.com/samber/lo"
	"k8s.io/utils/ptr"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/bootstrap"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// Claim returns the NodeClaim's Linode: the Linode that it has, or a new Linode.
func (b *Backend) Claim(ctx context.Context, l cloudprovider.Launch) (cloudprovider.Node, error) {
	spec, err := b.spec(ctx, l)
	if err != nil {
		return cloudprovider.Node{}, asFailure(err)
	}
	made, err := b.create(ctx, spec, b.groups(ctx, l.NodeClass))
	if err != nil {
		return cloudprovider.Node{}, err
	}
	return node(made), nil
}

// spec returns the Linode of a NodeClaim, without its placement group.
func (b *Backend) spec(ctx context.Context, l cloudprovider.Launch) (instances.Spec, error) {
	if err := b.allowed(l.NodeClass); err != nil {
		return instances.Spec{}, err
	}
	how, err := bootstrap.TypeOf(string(l.NodeClass.Spec.BootstrapType()))
	if err != nil {
		return instances.Spec{}, renderProblem(err)
	}
	generation := b.generation(ctx, l.NodeClass.Spec)
	spec, network := b.specOfClass(l.NodeClass, how, generation), addressed(l.NodeClass.Spec, generation)
	spec.Claimant, spec.InstanceType, spec.Tags = nodeclaim.Claimant(l.NodeClaim), l.InstanceType.Name, b.tags(l)
	spec.UserData, err = b.userData(ctx, l, b.cfg.Cluster.nodeName(l.NodeClaim.Name), how, network)
	if err != nil {
		return instances.Spec{}, err
	}
	return spec, nil
}

// create tries the placement groups one after another: the refusal of a full group, or of a group that cannot keep its rule, proves
// nothing about the plan.
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
		Kind: claims.KindInvalid, Op: "create", Field: claims.FieldPlacementGroups, Effect: claims.EffectNone,
		Err: fmt.Errorf("every placement group of the class refuses one more Linode; add a placement group: %w", errors.Join(refusals...)),
	}
}

// ofGroup returns whether a placement group refused a Linode that another group may take.
func ofGroup(err error) bool {
	e, is := errors.AsType[*claims.Error](err)
	return is && e.Field == "Spec.PlacementGroup" && (e.Kind == claims.KindQuotaExceeded || e.Kind == claims.KindInsufficientCapacity)
}

// groups returns the class's placement groups, groups with room first.
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
