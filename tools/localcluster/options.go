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

	// Kubelets is how many real ones run at a time; kwok simulates the others. 0 = 20 where plain Linodes join, and -1 = none: a real one
	// mounts no volume here. 0 = none in lke mode, where the first of Karpenter's nodes to join are real.
	Kubelets int

	// KwokPools names NodePools of instance mode all of whose nodes kwok simulates, such as nodes of pods with volumes.
	KwokPools []string

	// ManagementApart: in clusterapi mode another control plane has Cluster API's objects, and the operator reaches it with a kubeconfig of
	// a user who has the chart's Role there, in one namespace.
	ManagementApart bool

	// Replicas of the operator, each with its Pod and its process. 0 = 1. The
	// user's pool has a node for each, because the chart spreads its Pods over hosts.
	Replicas int

	// Pools are further LKE pools of the user, in addition to the operator's pool; in lke mode.
	Pools []linodesim.PoolSpec

	Values        map[string]any // Helm values for charts/karpenter, over this package's own
	Env           []string       // more variables for the operator, NAME=value, over the Deployment's
	WithoutCharts bool           // install nothing; no operator then either
	NoOperator    bool           // install the charts, do not run the operator
	WithoutAddons bool           // no DaemonSets of LKE's on the nodes, no block storage
	WithoutCSI    bool           // kubernetes-csi's programs do not run: no volume is made or attached
	Audit         bool           // the API server logs all requests to logs/audit.log

	// ChartSource returns where a chart is installed from: folder, archive, or oci:// reference
	// and version. nil = the repository's charts.
	ChartSource func(chart string) (source, version string)

	// Image returns the program in a container image as files of this machine. nil = the
	// Deployment's image is not looked at and .bin/controller is run.
	Image func(ctx context.Context, reference string) (Program, error)

	// ServerVersion gives the version that the API server reports to the operator: an upgrade of the control plane, of which only
	// one release is here, is simulated. nil = its own.
	ServerVersion func() string

	// NodeSilence is for how long a node may be silent before it is not ready; 0 = Kubernetes' default, which hundreds of simulated
	// nodes miss on a busy machine. Their pods are not ready from then on, because a simulated kubelet does not report them again.
	NodeSilence time.Duration

	// ReadyAfter is how long LKE's new nodes are registered before they are ready. On real ones it is the time their pod network takes
	// to start, never 0, which is the default here for speed.
	ReadyAfter time.Duration

	// Unchecked: the simulator's answers are not compared with the API's
	// description, which takes most of its time when there are hundreds of nodes.
	Unchecked bool

	// Behaviour of the simulated platform where the real one is not known; zero is
	// the report's if Profile is one.
	// ReapplyRemoved and PoolTaints in it are honoured here.
	Behaviour linodesim.Behaviour

	// Memory chooses how much memory LKE's workers keep from pods, for plans without a recording.
	Memory simulatedlke.Memory

	// CloudController has flags of the cloud controller manager of instance mode.
	CloudController CloudController
	// WithoutCloudController leaves the place to another one; Nodes stay uninitialized until it runs.
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

// complete fills in what was left out and refuses what cannot be.
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
		return fmt.Errorf("name %q: only lower case letters, digits and dashes, at most 30", o.Name)
	}
	if o.Name == "logs" { // .local/logs holds the logs of builds
		return errors.New("name \"logs\": choose another")
	}
	if o.Mode != LKE && o.Mode != Instance && o.Mode != ClusterAPI {
		return fmt.Errorf("mode %q: lke, instance or clusterapi", o.Mode)
	}
	if o.Tier != Standard && o.Tier != Enterprise {
		return fmt.Errorf("tier %q: standard or enterprise", o.Tier)
	}
	_, behaviour, err := linodesim.ProfileFrom(o.Profile)
	if err != nil {
		return err
	}
	if o.Behaviour == (linodesim.Behaviour{}) {
		o.Behaviour = behaviour
	}
	if len(o.Pools) > 0 && o.Mode != LKE {
		return fmt.Errorf("pools: mode %s has none", o.Mode)
	}
	if o.Replicas < 1 {
		return fmt.Errorf("replicas %d: at least 1", o.Replicas)
	}
	if o.TimeScale < 0 {
		return errors.New("time scale: a positive number")
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

// simulated reports whether a node is of a NodePool whose nodes kwok simulates: its name begins with the names of cluster and NodePool.
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

// DefaultStateDir is where a cluster of this name keeps state and logs.
func DefaultStateDir(root, name string) string { return filepath.Join(root, ".local", name) }

func (o *Options) stateDir() string { return filepath.Join(o.StateDir, "state") }
func (o *Options) logDir() string   { return filepath.Join(o.StateDir, "logs") }
