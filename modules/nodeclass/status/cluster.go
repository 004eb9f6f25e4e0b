package status

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// Tiers of an LKE cluster, as the Linode API names them.
const (
	TierStandard   = "standard"
	TierEnterprise = "enterprise"
)

// Cluster describes the cluster that nodes are made for.
type Cluster struct {
	Mode v1alpha1.Mode
	// Tier is TierStandard or TierEnterprise in lke mode, empty in instance mode.
	Tier string
	// Region is the Linode region's ID.
	Region string
	// ControlPlaneVersion is the Kubernetes version of the control plane: in lke mode the cluster's k8s_version
	// as the Linode API gives it ("1.35" on the Standard tier, "v1.33.6+lke7" on the Enterprise tier), in
	// instance mode the API server's. Empty when it could not be read.
	ControlPlaneVersion string
	// Bootstrap checks the endpoint, the CA, the token and the user data of nodes of a class, in instance mode. With nil, nothing is
	// checked.
	Bootstrap func(ctx context.Context, class *v1alpha1.LinodeNodeClass) Finding
	// MachineDeployments checks the MachineDeployments that a class selects, in clusterapi mode. With nil, nothing is checked.
	MachineDeployments func(ctx context.Context, class *v1alpha1.LinodeNodeClass) Finding
	// LinodeInterfaces returns true if new Linodes get Linode interfaces, in instance mode. It returns false for legacy interfaces, and
	// if the kind is not known. Nil stands for a function that returns false.
	LinodeInterfaces func(context.Context) bool
}

// Finding is the result of a check. The zero value reports no problem.
type Finding struct {
	Status          metav1.ConditionStatus
	Reason, Message string
}

// ErrForbidden reports that the token lacks the scope to read the object; a Lookup wraps it. A token that is not accepted
// at all proves nothing about the object, and is an error like any other.
var ErrForbidden = errors.New("the token may not read it")

// Lookup reads objects that a class names. A nil object without an error means that the object does not exist, by an answer of the Linode
// API. An error means that the Lookup could not find out.
type Lookup interface {
	Firewall(ctx context.Context, id int) (*Firewall, error)
	Image(ctx context.Context, id string) (*Image, error)
	PlacementGroup(ctx context.Context, id int) (*PlacementGroup, error)
	Region(ctx context.Context, id string) (*Region, error)
	VPC(ctx context.Context, id int) (*VPC, error)
	// NewestImage returns the newest available image with cloud-init whose label the pattern matches, "" for none.
	NewestImage(ctx context.Context, pattern string) (id, label string, err error)
}

// Firewall is a Cloud Firewall of the account.
type Firewall struct {
	Label string
	// Status as the API gives it: enabled, disabled or deleted.
	Status string
}

// Image is an image that the account may use.
type Image struct {
	Label string
	// Available: the image is ready to be deployed (status "available").
	Available bool
	// CloudInit: the image has the capability "cloud-init", by which a Linode joins the cluster.
	CloudInit bool
	// Linode is going to remove a Deprecated image.
	Deprecated bool
}

// PlacementGroup is a placement group of the account.
type PlacementGroup struct {
	Label  string
	Region string
	// Members is how many Linodes it has, Limit how many its region allows; 0 = no limit is known.
	Members, Limit int
}

// Region is a region of Linode.
type Region struct{ Capabilities []string }

// VPC is a VPC of the account.
type VPC struct {
	Label        string
	Region       string
	Subnets      []int
	IPv6Subnets  []int
	SubnetLabels map[int]string
}
