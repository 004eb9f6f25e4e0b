package clusterapi

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// World is one reading of a cluster: MachineDeployments with their MachineSets were read before the Machines, each from the quorum.
type World struct {
	Deployments []Deployment
	Machines    []Machine
}

// Deployment represents a MachineDeployment of the cluster.
type Deployment struct {
	Name, UID, ResourceVersion string
	Labels, Annotations        map[string]string
	// Template is the infrastructure template of new Machines.
	Template TemplateRef
	// Bootstrap is the bootstrap template of new Machines, zero for none.
	Bootstrap TemplateRef
	// NodeLabels are the labels in the template of Machines, Taints its taints as key=value:effect.
	NodeLabels map[string]string
	Taints     []Taint
	// Refusal is why the deployment is not used, with a cure; "" if the deployment is used.
	Refusal string
	// Replicas is spec.replicas. Observed reports that the controller has acted on the current spec.
	Replicas int
	Observed bool
	// Paused reports that the controller has acted on the pause of a removal. Removal is that removal.
	Paused  bool
	Removal Removal
	Sets    []Set
}

// TemplateRef identifies a template object of the same namespace.
type TemplateRef struct{ APIGroup, Kind, Name string }

// Taint is a taint of new nodes.
type Taint struct{ Key, Value, Effect string }

// Removal is the shrinking of one MachineSet while its deployment is paused. The zero value is no shrinking.
type Removal struct {
	Set      string
	Replicas int
}

// Set represents a MachineSet: one revision of a deployment.
type Set struct {
	Name, ResourceVersion string
	Created               time.Time
	// Replicas is spec.replicas. Observed reports that the controller has acted on the current spec.
	Replicas int
	Observed bool
	// Current reports that new Machines are made by this set.
	Current bool
}

// Machine represents a Machine of a deployment of the cluster.
type Machine struct {
	Name, UID, ResourceVersion string
	// Deployment and Set are the names of its owners.
	Deployment, Set string
	// Claim is the claimant in ClaimAnnotation, zero for a free Machine.
	Claim claims.Claimant
	// Released reports that this package marked the Machine for deletion, Marked that another client did.
	Released, Marked bool
	// Deleting reports a deletion timestamp.
	Deleting bool
	// ProviderID is "" until the infrastructure provider has made the machine.
	ProviderID string
	// NodeName is the name of the infrastructure provider's machine. CAPL labels the Linode with it, and the node is named as the Linode is.
	// Cluster API's own nodeRef is no source: it names any Node that has ProviderID, which a kubelet sets.
	NodeName string
	// Phase is the phase in Cluster API, and Pending the message of the first condition that is not met.
	Phase, Pending string
	Created        time.Time
	// Failure is why the machine cannot be made, nil if it can be made.
	Failure *claims.Error
}

// Free reports whether a claimant may take the Machine.
func (m Machine) Free() bool {
	return m.Claim == claims.Claimant{} && !m.Released && !m.Marked && !m.Deleting && m.Failure == nil
}

// Request describes the Machine that a claimant needs.
type Request struct {
	Claimant claims.Claimant
	// Deployments are the deployments whose Machines serve, the preferred first.
	Deployments []string
	// InstanceType is the type under which the Machine counts for Config.Ceilings.
	InstanceType string
}
