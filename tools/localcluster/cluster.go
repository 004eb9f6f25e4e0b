package localcluster

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/controlplane"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/kubelet"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/plane"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/simulatedboot"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/simulatedlke"
)

// startPatience bounds a start on a slow and busy machine.
const startPatience = 4 * time.Minute

// Cluster is a running local cluster.
type Cluster struct {
	Account
	Name       string      // also the LKE cluster's label
	Kubeconfig string      // file of an administrator
	ClusterID  int         // of the LKE cluster; 0 in the other modes
	Operator   *Operator   // the first of Operators; nil with Options.WithoutCharts
	Operators  []*Operator // one for each replica

	opts     Options
	plane    *plane.Plane
	server   string // URL by which the operator reaches the API server
	client   kubernetes.Interface
	logsPort int // of the server for `kubectl logs`
	log      *slog.Logger
	neighbours
	end ending
}

// neighbours are the programs that run in addition to the control plane and use the account.
type neighbours struct {
	boots    *simulatedboot.Runner // in the modes with plain Linodes
	sidecars sidecars              // of the block storage driver
	managing managing              // in clusterapi mode
}

// Account has the simulated account, the addresses of its interfaces, and the address at which agents of k3s and RKE2 register.
type Account struct {
	Agents
	Sim         *linodesim.Sim
	SimURL      string // base URL of the Linode API
	SimToken    string // the operator's token, with all scopes
	OwnerToken  string // another token with all scopes; its requests do not count as the operator's
	AdminURL    string // the simulator's admin interface
	MetadataURL string // the Metadata service, in the modes with plain Linodes

	VPCID, SubnetID int    // of Options.CloudController.VPC; 0 without a VPC
	managerToken    string // of the cloud controller manager
	storageToken    string // of the block storage driver
}

// Start starts all parts of a cluster and waits until they are ready or ctx ends. If it
// fails, it stops all parts that it has started.
func Start(ctx context.Context, opts Options) (*Cluster, error) {
	if err := opts.complete(); err != nil {
		return nil, fmt.Errorf("localcluster: %w", err)
	}
	if err := opts.checkBuilt(); err != nil {
		return nil, fmt.Errorf("localcluster %s: %w", opts.Name, err)
	}
	if err := opts.checkValues(); err != nil {
		return nil, fmt.Errorf("localcluster %s: %w", opts.Name, err)
	}
	lock, err := TakeLock(opts.StateDir)
	if err != nil {
		return nil, fmt.Errorf("localcluster %s: %w", opts.Name, err)
	}
	c := &Cluster{Name: opts.Name, opts: opts}
	c.onStop(func(context.Context) { lock.Release() })
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience, fmt.Errorf("gave up after %s", startPatience))
	defer cancel()
	if err := c.start(ctx); err != nil {
		c.Stop(context.WithoutCancel(ctx))
		return nil, fmt.Errorf("localcluster %s: %w", opts.Name, err)
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	steps := []struct {
		says string
		do   func(context.Context) error
		skip bool
	}{
		{"", c.prepareFolders, false},
		{"Linode API simulator", c.startSimulator, false},
		{"Kubernetes control plane", c.startPlane, false},
		{"", c.startVersioned, c.opts.ServerVersion == nil},
		{"", c.startKubelet, false},
		{"LKE's nodes", c.startLKENodes, c.opts.instances()},
		{"", c.startAgentServer, c.opts.Mode != Instance},
		{"own nodes", c.startBoots, !c.opts.instances()},
		{"management cluster", clusterAPI{c}.startApart, !c.opts.ManagementApart},
		{"Cluster API", clusterAPI{c}.start, c.opts.Mode != ClusterAPI},
		{"", clusterAPI{c}.makeFleet, c.opts.Mode != ClusterAPI},
		{"Helm charts", c.installCharts, c.opts.WithoutCharts},
		{"", clusterAPI{c}.admitOperator, !c.opts.ManagementApart || c.opts.WithoutCharts},
		// After the charts: when the first pod of a DaemonSet names its owner, the API server caches the list of kinds for half a
		// minute. If the charts' CRDs were not in the list, it would refuse NodeClaims for this time.
		{"LKE's addons", c.startAddons, c.opts.WithoutAddons || c.opts.instances()},
		{"", c.startNeighbours, c.opts.WithoutAddons || !c.opts.instances()},
		{"operator", c.startOperators, c.opts.WithoutCharts || c.opts.NoOperator},
	}
	for _, step := range steps {
		if step.skip {
			continue
		}
		began := time.Now()
		if err := step.do(ctx); err != nil {
			return err
		}
		if step.says != "" {
			fmt.Fprintf(c.opts.Progress, "%s: ready in %s\n", step.says, time.Since(began).Round(10*time.Millisecond))
		}
	}
	return nil
}

// prepareFolders makes empty folders. A killed run may have left files in them.
func (c *Cluster) prepareFolders(context.Context) error {
	c.onStop(func(context.Context) { _ = os.RemoveAll(c.opts.stateDir()) })
	for dir, mode := range map[string]os.FileMode{c.opts.stateDir(): 0o700, c.opts.logDir(): 0o755} {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		if err := os.MkdirAll(dir, mode); err != nil {
			return err
		}
	}
	return c.openLog()
}

// checkBuilt returns an error if a program that a cluster with these options runs was not built.
func (o *Options) checkBuilt() error {
	missing := controlplane.Missing(o.planeBin(), plane.Programs...)
	var needed []string
	if !o.WithoutCharts && !o.NoOperator {
		needed = append(needed, operatorProgram)
	}
	if !o.WithoutAddons && !o.WithoutCSI {
		needed = append(needed, attacher, provisioner)
	}
	if o.instances() || o.Kubelets > 0 {
		needed = append(needed, controlplane.Machine)
	}
	if o.Mode == ClusterAPI {
		needed = append(needed, controlplane.ClusterAPI, filepath.Base(controlplane.ClusterAPIManifests("")))
	}
	missing = append(missing, controlplane.Missing(o.bin(), needed...)...)
	if len(missing) == 0 {
		return nil
	}
	build := "make build"
	if o.Kubernetes != "" {
		build = "KUBERNETES=" + o.Kubernetes + " " + build
	}
	switch {
	case o.Mode == ClusterAPI:
		build += " MODE=" + ClusterAPI
	case slices.Contains(missing, controlplane.Machine):
		build += " MODE=" + Instance
	}
	return fmt.Errorf("%s lacks %v: run `%s` first", o.bin(), missing, build)
}

func (o *Options) bin() string      { return controlplane.BinDir(o.Root) }
func (o *Options) planeBin() string { return controlplane.PlaneDir(o.Root, o.Kubernetes) }
func (o *Options) machine() string  { return filepath.Join(o.bin(), controlplane.Machine) }

// openLog opens this package's own log, of JSON lines.
func (c *Cluster) openLog() error {
	file, err := os.OpenFile(filepath.Join(c.opts.logDir(), "localcluster.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	c.log = slog.New(slog.NewJSONHandler(file, nil))
	c.onStop(func(context.Context) { file.Close() })
	return nil
}

func (c *Cluster) startPlane(ctx context.Context) error {
	config := plane.Config{
		Name: c.Name, Bin: c.opts.planeBin(), Dir: c.opts.stateDir(), LogDir: c.opts.logDir(), Port: c.opts.Port, Audit: c.opts.Audit,
		NodeSilence: c.opts.NodeSilence,
	}
	if c.opts.instances() {
		config.Machine = c.opts.machine()
	}
	p, err := plane.Start(ctx, config)
	if err != nil {
		return err
	}
	c.plane, c.Kubeconfig, c.server = p, p.AdminKubeconfig(), p.Server()
	c.onStop(p.Stop)
	c.client, err = p.Client("localcluster")
	return err
}

// startKubelet starts the server from which `kubectl logs` reads the logs of local processes.
func (c *Cluster) startKubelet(context.Context) error {
	config, err := c.plane.KubeletTLS()
	if err != nil {
		return err
	}
	c.logsPort, err = c.serve(kubelet.Handler(c.containerLog), config)
	return err
}

// lateTaints is the time from the registration of a Node until LKE sets the pool's taints. It is a guess.
const lateTaints = time.Second

// startLKENodes simulates the nodes of LKE's pools from now on, and waits for the user's own nodes.
func (c *Cluster) startLKENodes(ctx context.Context) error {
	client, err := c.plane.Client("lke")
	if err != nil {
		return err
	}
	kubelets, err := c.realKubelets()
	if err != nil {
		return err
	}
	var taintsAfter time.Duration
	if c.opts.Behaviour.PoolTaints.Late(c.opts.Tier) {
		taintsAfter = lateTaints
	}
	runner := simulatedlke.New(client.CoreV1().Nodes(), simulatedlke.Config{
		TaintsAfter: taintsAfter, Lies: c.Sim.Lies,
		ClusterID: c.ClusterID, Kubelets: kubelets, ReapplyRemoved: c.opts.Behaviour.ReapplyRemoved, Log: c.log,
		Labels: map[string]string{plane.NodeLabel: plane.NodeLabelValue}, KubeletPort: c.logsPort,
		Annotations: map[string]string{plane.ReadyAfterNote: c.opts.ReadyAfter.String()}, Memory: c.opts.Memory,
	})
	c.background(ctx, func(ctx context.Context) { runner.Run(ctx, c.Sim.Subscribe(ctx)) })
	return c.waitForUserNodes(ctx)
}

// cloudControllerManager is the user name of Linode's cloud controller manager if its chart installs it
// (deploy/chart/templates/serviceaccount.yaml in its repository). In LKE, the manager runs outside of the cluster under a name that is not
// known.
const cloudControllerManager = "system:serviceaccount:kube-system:ccm-linode"

// startBoots simulates the boots of plain Linodes, which then join, and waits for the user's own nodes.
func (c *Cluster) startBoots(ctx context.Context) error {
	client, err := c.plane.Client("machines")
	if err != nil {
		return err
	}
	machines, err := c.machineRoots()
	if err != nil {
		return err
	}
	c.boots = simulatedboot.New(client.CoreV1().Nodes(), simulatedboot.Config{
		Program: c.opts.machine(), Dir: machines, LogDir: c.opts.logDir(), MetadataURL: c.MetadataURL,
		Kubelets: c.opts.Kubelets, Simulated: c.opts.simulated, Own: ownNodes(c.Name),
		Leases:      client.CoordinationV1().Leases(corev1.NamespaceNodeLease),
		KwokLabels:  map[string]string{plane.NodeLabel: plane.NodeLabelValue},
		KubeletPort: c.logsPort, Version: controlplane.KubernetesVersion, Console: c.Sim.SetConsole, Log: c.log,
	})
	if err := c.startCloudController(ctx); err != nil {
		return err
	}
	c.background(ctx, func(ctx context.Context) { c.boots.Run(ctx, c.Sim.SubscribeLinodes(ctx)) })
	if c.opts.WithoutCloudController {
		return nil // without a manager no node is initialized, so a wait would not end
	}
	return c.waitForUserNodes(ctx)
}

// machineRoots makes a folder for the roots of machines, which Stop removes. Its path is short, because kubelets make sockets below it.
func (c *Cluster) machineRoots() (string, error) {
	dir, err := os.MkdirTemp("", "machines-")
	c.onStop(func(context.Context) { _ = os.RemoveAll(dir) })
	return dir, err
}

// addons holds LKE's own objects of a new cluster: the DaemonSets that run on every node, with their requests,
// and the block storage driver's registration and StorageClasses (volumes.yaml). Not installed are LKE's Deployments (coredns,
// calico-kube-controllers), whose pods would take room on the user's node, and the cloud controller manager, which package
// simulatedlke simulates.
//
//go:embed addons.yaml
var addons []byte

// volumes has the registration and StorageClasses of the block storage driver, for clusters without LKE's DaemonSets.
//
//go:embed volumes.yaml
var volumes []byte

// startAddons installs LKE's own workloads and its storage driver.
func (c *Cluster) startAddons(ctx context.Context) error {
	return c.startStorage(ctx, slices.Concat(addons, []byte("---\n"), volumes))
}

// startNeighbours installs the objects that the charts of the cloud controller manager and of the storage driver install in a self-managed
// cluster. It must run after the installation of the operator's charts, for the same reason as startAddons (see start).
func (c *Cluster) startNeighbours(ctx context.Context) error {
	config, err := c.plane.RESTConfig(cloudControllerManager)
	if err != nil {
		return err
	}
	if !c.opts.WithoutCloudController {
		if err := c.opts.CloudController.install(ctx, config); err != nil {
			return err
		}
	}
	return c.startStorage(ctx, volumes)
}

// background runs a part of the simulated world until Stop.
func (c *Cluster) background(ctx context.Context, run func(context.Context)) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	var done sync.WaitGroup
	done.Go(func() { run(ctx) })
	c.onStop(func(context.Context) { stop(); done.Wait() })
}

// RESTConfig is an administrator's client configuration, without client-side
// limits.
func (c *Cluster) RESTConfig() (*rest.Config, error) { return c.plane.RESTConfig("localcluster") }

// Client is a client with RESTConfig.
func (c *Cluster) Client() (ctrlclient.WithWatch, error) {
	config, err := c.RESTConfig()
	if err != nil {
		return nil, err
	}
	return ctrlclient.NewWithWatch(config, ctrlclient.Options{})
}

// LogDir is the folder with the logs of all parts.
func (c *Cluster) LogDir() string { return c.opts.logDir() }

// RotateAuthority begins a rotation of the authority of a self-managed cluster.
func RotateAuthority(c *Cluster) (*plane.Rotation, error) { return c.plane.Rotate() }

// Died delivers one error when a part of the control plane ends without Stop.
func (c *Cluster) Died() <-chan error { return c.plane.Died() }

// PIDs returns the process IDs of all child processes by their names.
func (c *Cluster) PIDs() map[string]int {
	pids := map[string]int{}
	for _, child := range c.plane.Processes() {
		pids[child.Name()] = child.PID()
	}
	maps.Copy(pids, c.sidecars.pids())
	maps.Copy(pids, c.managing.pids())
	for _, operator := range c.Operators {
		if pid := operator.PID(); pid != 0 {
			pids[operator.name()] = pid
		}
	}
	return pids
}
