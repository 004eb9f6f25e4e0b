package clusterapi

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	core "sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// Drift reasons of a Machine, in addition to the reasons of every mode.
const (
	// DriftMachineSet: the Machine has an older revision of its MachineDeployment.
	DriftMachineSet core.DriftReason = "MachineSetOutdated"
	// DriftNotSelected: the class no longer selects the Machine's MachineDeployment.
	DriftNotSelected core.DriftReason = "MachineDeploymentNotSelected"
)

// Engine hands out Machines. *allocator.Allocator implements it.
type Engine interface {
	Claim(ctx context.Context, r clusterapi.Request) (clusterapi.Machine, error)
	Release(ctx context.Context, providerID string, by claims.Claimant) error
	World(ctx context.Context) (clusterapi.World, error)
	Collect(ctx context.Context, how claims.Sweep) (claims.Collected, error)
}

// Backend is the cloudprovider.Backend of clusterapi mode.
type Backend struct {
	engine Engine
	view   *view
}

var _ cloudprovider.Backend = (*Backend)(nil)

// Mode returns clusterapi mode.
func (b *Backend) Mode() v1alpha1.Mode { return v1alpha1.ModeClusterAPI }

// Claim returns the NodeClaim's Machine: the Machine that it has, or a new Machine.
func (b *Backend) Claim(ctx context.Context, l cloudprovider.Launch) (cloudprovider.Node, error) {
	names, err := b.candidates(l)
	if err != nil {
		return cloudprovider.Node{}, err
	}
	m, err := b.engine.Claim(ctx, clusterapi.Request{
		Claimant: nodeclaim.Claimant(l.NodeClaim), Deployments: names, InstanceType: l.InstanceType.Name,
	})
	if err != nil {
		return cloudprovider.Node{}, err
	}
	node := b.node(m)
	if node.InstanceID == 0 {
		return cloudprovider.Node{}, claims.Errorf(claims.KindConflict, "claim", m.Name,
			"its provider ID %q is not of the form %s<ID>; only machines on Linode can be nodes", m.ProviderID, clusterapi.ProviderIDPrefix)
	}
	return node, nil
}

// candidates returns the deployments of an instance type that can serve a NodeClaim, the cheapest first.
func (b *Backend) candidates(l cloudprovider.Launch) ([]string, error) {
	var names, reasons []string
	for _, d := range b.view.selected(&l.NodeClass.Spec) {
		if d.instanceType != l.InstanceType.Name {
			continue
		}
		why := d.unusable()
		if why == "" {
			why = mismatch(d.shape, l.NodeClaim)
		}
		if why == "" {
			names = append(names, d.Name)
		} else {
			reasons = append(reasons, fmt.Sprintf("MachineDeployment %s: %s", d.Name, why))
		}
	}
	if len(names) == 0 {
		return nil, claims.Errorf(claims.KindConflict, "claim", "", "no MachineDeployment of type %s can be used: %s", l.InstanceType.Name,
			strings.Join(reasons, "; "))
	}
	return names, nil
}

// passing are taints that come and go while a node joins.
var passing = []string{karpv1.UnregisteredTaintKey, "node.cluster.x-k8s.io/uninitialized", "node.cluster.x-k8s.io/outdated-revision",
	"node.cloudprovider.kubernetes.io/uninitialized", corev1.TaintNodeNotReady}

// mismatch returns how a node of a deployment would differ from the NodeClaim. A taint that the NodePool does not have would keep the
// planned pods off the node. A label with another value would not match the pods' selectors.
func mismatch(s shape, nodeClaim *karpv1.NodeClaim) string {
	wanted := slices.Concat(nodeClaim.Spec.Taints, nodeClaim.Spec.StartupTaints)
	for _, taint := range s.taints {
		if slices.Contains(passing, taint.Key) {
			continue
		}
		if !slices.ContainsFunc(wanted, func(t corev1.Taint) bool { return t.Key == taint.Key && string(t.Effect) == taint.Effect }) {
			return fmt.Sprintf("its nodes have the taint %s:%s; add it to the NodePool's spec.template.spec.taints", taint.Key, taint.Effect)
		}
	}
	for key, value := range s.labels {
		if planned, set := nodeClaim.Labels[key]; set && planned != value {
			return fmt.Sprintf("its nodes have the label %s=%s, but the NodePool has the value %s", key, value, planned)
		}
	}
	return ""
}

// Release removes a Machine.
func (b *Backend) Release(ctx context.Context, instanceID int, by claims.Claimant) error {
	return b.engine.Release(ctx, nodeclaim.ProviderID(instanceID), by)
}

// Get returns the Machine of an instance.
func (b *Backend) Get(ctx context.Context, instanceID int) (cloudprovider.Node, error) {
	world, err := b.read(ctx)
	if err != nil {
		return cloudprovider.Node{}, err
	}
	for _, m := range world.Machines {
		if m.ProviderID == nodeclaim.ProviderID(instanceID) {
			return b.node(m), nil
		}
	}
	return cloudprovider.Node{}, claims.Errorf(claims.KindNotFound, "get",
		claims.Object("instance", instanceID), "no Machine of the cluster has this provider ID")
}

// List returns the Machines of all NodeClaims.
func (b *Backend) List(ctx context.Context) ([]cloudprovider.Node, error) {
	world, err := b.read(ctx)
	if err != nil {
		return nil, err
	}
	var nodes []cloudprovider.Node
	for _, m := range world.Machines {
		if node := b.node(m); node.Claim != "" && node.InstanceID != 0 {
			nodes = append(nodes, node)
		}
	}
	return nodes, nil
}

// read reads the cluster, and keeps it for Drift.
func (b *Backend) read(ctx context.Context) (clusterapi.World, error) {
	world, err := b.engine.World(ctx)
	if err == nil {
		b.view.take(ctx, world)
	}
	return world, err
}

// node returns a Machine as a cloudprovider.Node, with the facts that its template determines.
func (b *Backend) node(m clusterapi.Machine) cloudprovider.Node {
	node := cloudprovider.Node{Node: m.Node(), Own: m}
	if d, known := b.view.deployment(m.Deployment); known {
		node.InstanceType = d.instanceType
	}
	node.Region = b.view.region
	return node
}

// Drift compares a Machine with a Machine that would be made now.
func (b *Backend) Drift(_ context.Context, node cloudprovider.Node, l cloudprovider.Launch) core.DriftReason {
	if node.Health == claims.Deleting {
		return cloudprovider.DriftInstanceGone
	}
	m, known := node.Own.(clusterapi.Machine)
	if !known {
		return ""
	}
	d, known := b.view.deployment(m.Deployment)
	if !known || !slices.ContainsFunc(b.view.selected(&l.NodeClass.Spec), func(s deployment) bool { return s.Name == d.Name }) {
		return DriftNotSelected
	}
	if d.outdated(m) {
		return DriftMachineSet
	}
	return ""
}

// Outdated returns false: a new version of Kubernetes makes a new revision of the MachineDeployment, which Drift finds.
func (b *Backend) Outdated(context.Context, string, cloudprovider.Launch) bool { return false }

// SetTags does nothing: the tags of Linodes are in the LinodeMachineTemplate, and a class's tags have no effect.
func (b *Backend) SetTags(context.Context, int, claims.Claimant, []string, []string) error {
	return nil
}

// Collect removes Machines that no NodeClaim owns.
func (b *Backend) Collect(ctx context.Context, how claims.Sweep) (claims.Collected, error) {
	return b.engine.Collect(ctx, how)
}
