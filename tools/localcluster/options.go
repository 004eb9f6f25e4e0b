package localcluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/controlplane"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/simulatedlke"
)

// Tiers of LKE.
const (
	Standard   = linodesim.Standard
	Enterprise = linodesim.Enterprise
)

const quickProfile = "fast" // of the simulator; the default

// Modes of the operator.
const (
	LKE        = "lke"
	Instance   = "instance"
	ClusterAPI = "clusterapi"
)

// Options of a local cluster. The zero value is a Standard cluster named "dev"
// with the operator running against a quick simulator.
type Options struct {
	Root     string // of the repository; "" = found from the working directory
	Name     string // "" = dev; lower case letters, digits and dashes
	StateDir string // "" = <root>/.local/<name>; state and logs are below

	Mode       string  // "" = lke; instance and clusterapi are self-managed clusters that plain Linodes join
	Tier       string  // "" = standard
	K8sVersion string  // as LKE names it; "" = the tier's newest
	Profile    string  // of the simulator: fast ("" too), realistic, slow, stale, hostile, or a report of verify
	TimeScale  float64 // divides the profile's delays; 0 = 1
	Port       int     // of the API server; 0 = a free one
	Kubernetes string  // release of the control plane, such as 1.37.2; "" = the default one

	// Kubelets is the number of real kubelets that run at a time; kwok simulates the others. In the modes with plain Linodes, 0 = 20, and
	// -1 = no real kubelet, for pods with volumes: a real kubelet mounts no volume here. In lke mode, 0 = no real kubelet, and with n the
	// first n nodes of Karpenter that join have real kubelets.
	Kubelets int

	// KwokPools names NodePools of instance mode. kwok simulates all of their nodes, for example the nodes of pods with volumes.
	KwokPools []string

	// ManagementApart starts a second control plane in clusterapi mode, which has Cluster API's objects. The operator reaches it with the
	// kubeconfig of a user that has the chart's Role there, in one namespace.
	ManagementApart bool

	// Replicas of the operator, each with its Pod and its process. 0 = 1. The
	// user's pool has a node for each, because the chart spreads its Pods over hosts.
	Replicas int

	// Pools are further LKE pools of the user, in addition to the operator's pool; in lke mode.
	Pools []linodesim.PoolSpec

	Values        map[string]any // Helm values for charts/karpenter; they override this package's own values
	Env           []string       // more variables for the operator, NAME=value; they override the Deployment's variables
	WithoutCharts bool           // install nothing, and run no operator
	NoOperator    bool           // install the charts, do not run the operator
	WithoutAddons bool           // no DaemonSets of LKE's on the nodes, no block storage
	WithoutCSI    bool           // kubernetes-csi's programs do not run: no volume is made or attached
	Audit         bool           // the API server logs all requests to logs/audit.log

	// ChartSource returns the source of a chart: folder, archive, or oci:// reference and
	// version. nil = the repository's charts.
	ChartSource func(chart string) (source, version string)

	// Image returns the program in a container image as files of this machine. nil = run
	// .bin/controller, whatever the Deployment's image is.
	Image func(ctx context.Context, reference string) (Program, error)

	// ServerVersion returns the version that the API server reports to the operator. It simulates an upgrade of the control plane,
	// because only one release runs here. nil = the API server's own version.
	ServerVersion func() string

	// NodeSilence is the time without a heartbeat after which a node is not ready; 0 = Kubernetes' default. On a busy machine,
	// hundreds of simulated nodes exceed the default. Then their pods stay not ready, because a simulated kubelet does not report
	// them again.
	NodeSilence time.Duration

	// ReadyAfter is the time from the registration of LKE's new nodes until they are ready. On real nodes the pod network starts in
	// this time, so it is never 0. Here the default is 0, for speed.
	ReadyAfter time.Duration

	// Unchecked switches off the simulator's comparison of its answers with the API's
	// description. With hundreds of nodes the comparison takes most of the simulator's time.
	Unchecked bool

	// Behaviour chooses what the simulated platform does where the real platform is not
	// known. The zero value = the behaviour of the report, if Profile is a report. This
	// package implements ReapplyRemoved and PoolTaints.
	Behaviour linodesim.Behaviour

	// Memory chooses how much memory LKE's workers keep from pods, for plans without a recording.
	Memory simulatedlke.Memory

	// CloudController has flags of the cloud controller manager, in the modes with plain Linodes.
	CloudController CloudController
	// WithoutCloudController starts no cloud controller manager, so that a test can start another manager. Nodes stay uninitialized until
	// that manager runs.
	WithoutCloudController bool

	Progress io.Writer // a line for each step; nil = silent
}

// CloudController has flags of the simulated cloud controller manager.
type CloudController struct {
	TagFilter string // --linode-tag-filter
	// VPC makes a VPC with this label and the subnet "default", puts the user's own nodes into it, and starts the manager with --vpc-names.
	VPC string
}

var validName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,28}[a-z0-9])?$`)

// complete sets defaults, and returns an error for an invalid option.
func (o *Options) complete() error {
	o.Name = cmp.Or(o.Name, "dev")
	o.Mode = cmp.Or(o.Mode, LKE)
	o.Tier = cmp.Or(o.Tier, Standard)
	o.Profile = cmp.Or(o.Profile, quickProfile)
	o.Replicas = cmp.Or(o.Replicas, 1)
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	if !validName.MatchString(o.Name) {
		return fmt.Errorf("name %q must have only lower case letters, digits and dashes, and at most 30 of them", o.Name)
	}
	if o.Name == "logs" { // .local/logs holds the logs of builds
		return errors.New("name \"logs\" is reserved for the logs of builds: choose another name")
	}
	if o.Mode != LKE && o.Mode != Instance && o.Mode != ClusterAPI {
		return fmt.Errorf("mode %q must be lke, instance or clusterapi", o.Mode)
	}
	if o.Tier != Standard && o.Tier != Enterprise {
		return fmt.Errorf("tier %q must be standard or enterprise", o.Tier)
	}
	_, behaviour, err := linodesim.ProfileFrom(o.Profile)
	if err != nil {
		return err
	}
	if o.Behaviour == (linodesim.Behaviour{}) {
		o.Behaviour = behaviour
	}
	if len(o.Pools) > 0 && o.Mode != LKE {
		return fmt.Errorf("pools: the mode must be lke, because mode %s has no LKE pools", o.Mode)
	}
	if o.Replicas < 1 {
		return fmt.Errorf("replicas must be at least 1, not %d", o.Replicas)
	}
	if o.TimeScale < 0 {
		return fmt.Errorf("time scale must be a positive number, not %v", o.TimeScale)
	}
	return o.findRoot()
}

// ownNodes is how many nodes the user has.
func (o *Options) ownNodes() int {
	n := o.Replicas
	for _, pool := range o.Pools {
		n += pool.Count
	}
	return n
}

// simulated reports whether a node belongs to a NodePool of KwokPools: the node's name begins with the names of the cluster and the
// NodePool.
func (o *Options) simulated(node string) bool {
	return slices.ContainsFunc(o.KwokPools, func(pool string) bool { return strings.HasPrefix(node, o.Name+"-"+pool+"-") })
}

func (o *Options) findRoot() error {
	if o.Root == "" {
		root, err := controlplane.FindRoot(".")
		if err != nil {
			return err
		}
		o.Root = root
	}
	if o.StateDir == "" {
		o.StateDir = DefaultStateDir(o.Root, o.Name)
	}
	dir, err := filepath.Abs(o.StateDir)
	o.StateDir = dir
	return err
}

// DefaultStateDir is the folder in which a cluster of this name keeps its state and logs.
func DefaultStateDir(root, name string) string { return filepath.Join(root, ".local", name) }

func (o *Options) stateDir() string { return filepath.Join(o.StateDir, "state") }
func (o *Options) logDir() string   { return filepath.Join(o.StateDir, "logs") }
