package localcluster

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/controlplane"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/addons"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/blockstorage"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/bootplayer"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/kubelet"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/lkeplayer"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/plane"
)

// startPatience bounds a start on a slow and busy machine.
const startPatience = 4 * time.Minute

// Cluster is a running local cluster.
type Cluster struct {
	Account
	Name       string      // also the LKE cluster's label
	Kubeconfig string      // file of an administrator
	ClusterID  int         // of the LKE cluster; 0 in instance mode
	Operator   *Operator   // the first of Operators; nil with Options.WithoutCharts
	Operators  []*Operator // one for each replica

	opts   Options
	plane  *plane.Plane
	server string // URL by which the operator reaches the API server
	client kubernetes.Interface
	logs   *kubelet.Server
	log    *slog.Logger
	end    ending
}

// Account is the simulated account, where its interfaces are served, and where Linodes join beside the API server.
type Account struct {
	Agents
	Sim         *linodesim.Sim
	SimURL      string // base URL of the Linode API
	SimToken    string // a token with all scopes
	AdminURL    string // the simulator's admin interface
	MetadataURL string // the Metadata service, in instance mode
}

// Start starts everything and waits until it is ready or ctx ends. When it
// fails, what was started is stopped again.
func Start(ctx context.Context, opts Options) (*Cluster, error) {
	if err := opts.complete(); err != nil {
		return nil, fmt.Errorf("localcluster: %w", err)
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
		{"LKE's nodes", c.startPlayer, c.instances()},
		{"", c.startAgentServer, !c.instances()},
		{"own nodes", c.startBootPlayer, !c.instances()},
		{"Helm charts", c.installCharts, c.opts.WithoutCharts},
		// After the charts: the first owner that a DaemonSet's pod names lets the API server remember for half a minute
		// which kinds there are, and it would refuse NodeClaims meanwhile.
		{"LKE's addons", c.startAddons, c.opts.WithoutAddons || c.instances()},
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

// prepareFolders clears what a run that was killed has left.
func (c *Cluster) prepareFolders(context.Context) error {
	if missing := controlplane.Missing(c.bin(), c.needed()...); len(missing) > 0 {
		build := "make build"
		if slices.Contains(missing, controlplane.Machine) {
			build += " MODE=" + Instance
		}
		return fmt.Errorf("%s lacks %v: run `%s` first", c.bin(), missing, build)
	}
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

func (c *Cluster) needed() []string {
	needed := slices.Clone(plane.Programs)
	if !c.opts.WithoutCharts && !c.opts.NoOperator {
		needed = append(needed, operatorProgram)
	}
	if c.instances() || c.opts.Kubelets > 0 {
		needed = append(needed, controlplane.Machine)
	}
	return needed
}

func (c *Cluster) bin() string { return controlplane.BinDir(c.opts.Root) }

// openLog: what this package itself has to tell, as JSON lines.
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
	p, err := plane.Start(ctx, plane.Config{
		Name: c.Name, Bin: c.bin(), Dir: c.opts.stateDir(), LogDir: c.opts.logDir(), Port: c.opts.Port, Audit: c.opts.Audit,
		NodeSilence: c.opts.NodeSilence, SelfManaged: c.instances(),
	})
	if err != nil {
		return err
	}
	c.plane, c.Kubeconfig, c.server = p, p.AdminKubeconfig(), p.Server()
	c.onStop(p.Stop)
	config, err := c.RESTConfig()
	if err != nil {
		return err
	}
	c.client, err = kubernetes.NewForConfig(config)
	return err
}

// startKubelet serves the logs of what runs here to `kubectl logs`.
func (c *Cluster) startKubelet(context.Context) error {
	config, err := c.plane.KubeletTLS()
	if err != nil {
		return err
	}
	if c.logs, err = kubelet.Serve(config, c.containerLog); err != nil {
		return err
	}
	c.onStop(func(context.Context) { c.logs.Close() })
	return nil
}

// startPlayer lets nodes come and go, and waits for the user's own.
func (c *Cluster) startPlayer(ctx context.Context) error {
	config, err := c.plane.RESTConfig("lke")
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	kubelets, err := c.realKubelets()
	if err != nil {
		return err
	}
	player := lkeplayer.New(client.CoreV1().Nodes(), lkeplayer.Config{
		ClusterID: c.ClusterID, Kubelets: kubelets, ReapplyRemoved: c.opts.Behaviour.ReapplyRemoved, Log: c.log,
		Labels: map[string]string{plane.NodeLabel: plane.NodeLabelValue}, KubeletPort: c.logs.Port,
	})
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	var done sync.WaitGroup
	done.Go(func() { player.Run(running, c.Sim.Subscribe(running)) })
	c.onStop(func(context.Context) { stop(); done.Wait() })
	return c.waitForUserNodes(ctx)
}

// startBootPlayer lets plain Linodes boot and join, and waits for the user's own.
func (c *Cluster) startBootPlayer(ctx context.Context) error {
	config, err := c.plane.RESTConfig("cloud-controller-manager")
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	machines, err := os.MkdirTemp("", "linodes-") // a short path: kubelets make sockets below it
	if err != nil {
		return err
	}
	player := bootplayer.New(client.CoreV1().Nodes(), bootplayer.Config{
		Program: filepath.Join(c.bin(), controlplane.Machine), Dir: machines, LogDir: c.opts.logDir(), MetadataURL: c.MetadataURL,
		Kubelets: c.opts.Kubelets, Own: c.ownNodes(), KwokLabels: map[string]string{plane.NodeLabel: plane.NodeLabelValue},
		KubeletPort: c.logs.Port, Version: controlplane.KubernetesVersion, Console: c.Sim.SetConsole, Log: c.log,
	})
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	var done sync.WaitGroup
	done.Go(func() { player.Run(running, c.Sim.SubscribeLinodes(running)) })
	c.onStop(func(context.Context) { stop(); done.Wait(); _ = os.RemoveAll(machines) })
	return c.waitForUserNodes(ctx)
}

// startAddons installs LKE's own workloads and plays its storage driver.
func (c *Cluster) startAddons(ctx context.Context) error {
	config, err := c.plane.RESTConfig("lke-storage")
	if err != nil {
		return err
	}
	if err := addons.Install(ctx, config); err != nil {
		return err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	var done sync.WaitGroup
	done.Go(func() {
		if err := blockstorage.Run(running, config, c.log); err != nil {
			c.log.Error("block storage is not played any more", "error", err)
		}
	})
	c.onStop(func(context.Context) { stop(); done.Wait() })
	return nil
}

// RESTConfig is an administrator's client configuration, without client-side
// limits.
func (c *Cluster) RESTConfig() (*rest.Config, error) { return c.plane.RESTConfig("localcluster") }

// LogDir is where the logs of all parts are.
func (c *Cluster) LogDir() string { return c.opts.logDir() }

// Died delivers one error when a part of the control plane ends by itself.
func (c *Cluster) Died() <-chan error { return c.plane.Died() }

// PIDs are the numbers of all child processes that were started.
func (c *Cluster) PIDs() map[string]int {
	pids := map[string]int{}
	for _, child := range c.plane.Processes() {
		pids[child.Name()] = child.PID()
	}
	for _, operator := range c.Operators {
		if pid := operator.PID(); pid != 0 {
			pids[operator.name()] = pid
		}
	}
	return pids
}
