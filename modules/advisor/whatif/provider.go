package whatif

import (
	"context"
	"errors"

	"github.com/awslabs/operatorpkg/status"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// errNotSimulated is the error of calls that core does not make in the simulation, because the simulation makes and removes nodes itself.
var errNotSimulated = errors.New("not a part of the simulation")

// provider offers the instance types of a catalogue to Karpenter core. It makes no nodes: the world does.
type provider struct {
	types   func(*v1alpha1.LinodeNodeClassSpec) []*cloudprovider.InstanceType
	classes map[string]*v1alpha1.LinodeNodeClassSpec // by name

	withheld func(nodePool, plan string) bool // nil = nothing is
}

var _ cloudprovider.CloudProvider = (*provider)(nil)

func (p *provider) GetInstanceTypes(_ context.Context, nodePool *karpv1.NodePool) ([]*cloudprovider.InstanceType, error) {
	ref := nodePool.Spec.Template.Spec.NodeClassRef
	if ref == nil || !nodeclaim.Ours(ref) {
		return nil, nil
	}
	all := p.types(p.classes[ref.Name])
	if p.withheld == nil {
		return all, nil
	}
	for i, it := range all {
		if p.withheld(nodePool.Name, it.Name) {
			all[i] = it.DeepCopy() // the catalogue's are shared
			for _, offering := range all[i].Offerings {
				offering.Available = false
			}
		}
	}
	return all, nil
}

func (p *provider) GetSupportedNodeClasses() []status.Object {
	return []status.Object{&v1alpha1.LinodeNodeClass{}}
}

func (p *provider) Name() string { return "whatif" }

func (p *provider) RepairPolicies() []cloudprovider.RepairPolicy { return nil }

func (p *provider) Create(context.Context, *karpv1.NodeClaim) (*karpv1.NodeClaim, error) {
	return nil, errNotSimulated
}

func (p *provider) Delete(context.Context, *karpv1.NodeClaim) error { return errNotSimulated }

func (p *provider) Get(context.Context, string) (*karpv1.NodeClaim, error) {
	return nil, errNotSimulated
}

func (p *provider) List(context.Context) ([]*karpv1.NodeClaim, error) { return nil, errNotSimulated }

func (p *provider) IsDrifted(context.Context, *karpv1.NodeClaim) (cloudprovider.DriftReason, error) {
	return "", nil
}

// Reboot is a part of the interface from core v1.15 on.
func (p *provider) Reboot(context.Context, *karpv1.NodeClaim, string) error { return errNotSimulated }
