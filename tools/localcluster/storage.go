package localcluster

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/blockstorage"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/linodehttp"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/manifest"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/process"
)

// Programs of kubernetes-csi that call the driver's controller.
const (
	attacher    = "csi-attacher"
	provisioner = "csi-provisioner"
)

const (
	// quickResync replaces the attacher's minute in the profile fast, whose Linodes boot in less than a minute.
	quickResync = 3 * time.Second
	// sidecarPause is the time from the end of a sidecar to its next start. It is as long as the kubelet's first pause.
	sidecarPause = 10 * time.Second
	sidecarGrace = 3 * time.Second
)

// startStorage installs objects, simulates the block storage driver, and runs kubernetes-csi's programs.
func (c *Cluster) startStorage(ctx context.Context, objects []byte) error {
	config, err := c.plane.RESTConfig("csi-driver")
	if err != nil {
		return err
	}
	kube, err := ctrlclient.New(config, ctrlclient.Options{})
	if err != nil {
		return err
	}
	if _, err := manifest.Apply(ctx, kube, objects); err != nil {
		return fmt.Errorf("installing the addons: %w", err)
	}
	dir, err := os.MkdirTemp("", "csi-") // a short path, because the path of a socket has at most 108 bytes
	if err != nil {
		return err
	}
	c.onStop(func(context.Context) { _ = os.RemoveAll(dir) })
	cfg := blockstorage.Config{
		Cluster: config, Linode: linodehttp.New(c.SimURL, c.storageToken, "linode-blockstorage-csi-driver"),
		Region: region, Socket: filepath.Join(dir, "csi.sock"), Log: c.log,
	}
	c.background(ctx, func(ctx context.Context) {
		if err := blockstorage.Run(ctx, cfg); err != nil {
			c.log.Error("the simulation of block storage ended", "error", err)
		}
	})
	if c.opts.WithoutCSI {
		return nil
	}
	c.sidecars.log = c.log
	for _, spec := range c.opts.sidecars(cfg.Socket) {
		kubeconfig, err := c.plane.Kubeconfig(spec.Name)
		if err != nil {
			return err
		}
		spec.Args = append(spec.Args, "--kubeconfig="+kubeconfig)
		if err := c.sidecars.start(spec); err != nil {
			return err
		}
		c.background(ctx, func(ctx context.Context) { c.sidecars.keep(ctx, spec) })
	}
	return nil
}

// sidecars are the attacher and the provisioner with the arguments of the driver's manifest (linode-blockstorage-csi-driver,
// deploy/kubernetes/base/ss-csi-linode-controller.yaml).
func (o *Options) sidecars(socket string) []process.Spec {
	attaches := []string{"--timeout=30s"}
	if o.Profile == quickProfile {
		attaches = append(attaches, "--reconcile-sync="+quickResync.String())
	}
	var all []process.Spec
	for name, args := range map[string][]string{
		attacher: attaches,
		provisioner: {
			"--default-fstype=ext4", "--volume-name-prefix=pvc", "--volume-name-uuid-length=16", "--feature-gates=Topology=true",
		},
	} {
		all = append(all, process.Spec{
			Name: name, Path: filepath.Join(o.bin(), name), Dir: o.stateDir(), LogFile: filepath.Join(o.logDir(), name+".log"),
			Args: append(args, "--v=2", "--csi-address="+socket),
			Env:  []string{"HOME=" + o.stateDir(), "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir()},
		})
	}
	return all
}

// sidecars has the latest process of each sidecar, by its name.
type sidecars struct {
	log *slog.Logger

	mu      sync.Mutex
	running map[string]*process.Process
}

// keep starts a sidecar again when it has ended, as the kubelet does, until ctx ends. A sidecar exits if the driver does not answer within
// a second.
func (s *sidecars) keep(ctx context.Context, spec process.Spec) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		child := s.get(spec.Name)
		if !child.Running() {
			if err := s.start(spec); err != nil {
				s.log.Error("a sidecar of the block storage driver does not start", "error", err)
				return
			}
			child = s.get(spec.Name)
		}
		select {
		case <-ctx.Done():
			child.Stop(context.WithoutCancel(ctx), sidecarGrace)
		case <-child.Exited():
			s.log.Warn("a sidecar of the block storage driver has ended", "error", child.Failure())
		}
	}, sidecarPause)
}

func (s *sidecars) start(spec process.Spec) error {
	child, err := process.Start(spec)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		s.running = map[string]*process.Process{}
	}
	s.running[spec.Name] = child
	return nil
}

func (s *sidecars) get(name string) *process.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running[name]
}

func (s *sidecars) pids() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	pids := map[string]int{}
	for name, child := range s.running {
		pids[name] = child.PID()
	}
	return pids
}
