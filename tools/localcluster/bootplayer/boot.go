package bootplayer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	metadata "github.com/linode/go-metadata"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/lkeplayer"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/plane"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/process"
)

const (
	tokenLife   = 300 // seconds
	kubeletConf = "/etc/kubernetes/kubelet.conf"
	flagsFile   = "/var/lib/kubelet/kubeadm-flags.env"
	kubeletEnd  = 3 * time.Second
)

// machine is one Linode while it runs.
type machine struct {
	cfg     Config
	event   world.Event
	root    *rootDir
	console *console
}

// boot does what the image does, and gives the kubelet that runs then; nil = there is none to run.
func (m *machine) boot(ctx context.Context) (*process.Process, error) {
	var err error
	// The path is short: the kubelet makes sockets below it.
	if m.root, err = openRoot(filepath.Join(m.cfg.Dir, strconv.Itoa(m.event.InstanceID))); err != nil {
		return nil, err
	}
	defer m.root.close()
	if m.root.has(flagsFile) { // not its first boot: cloud-init runs nothing
		return m.kubelet()
	}
	userData, err := m.userData(ctx)
	if err != nil {
		return nil, err
	}
	config, err := parse(userData)
	if err != nil {
		return nil, err
	}
	if config.Hostname != "" && config.Hostname != m.event.Name {
		fmt.Fprintf(m.console, "[cloud-init] hostname %s differs from the label %s\n", config.Hostname, m.event.Name)
	}
	for _, f := range config.Files {
		mode, _ := f.mode() // checked by parse
		if err := m.root.write(f.Path, f.Content, mode); err != nil {
			return nil, err
		}
		fmt.Fprintf(m.console, "[cloud-init] wrote %s\n", f.Path)
	}
	var joined bool
	sh := &shell{root: m.root, console: m.console, programs: map[string]func(context.Context, []string, io.Writer) error{
		"kubeadm": func(ctx context.Context, args []string, out io.Writer) error {
			err := m.kubeadm(ctx, args, out)
			joined = err == nil
			return err
		},
	}}
	if err := sh.install(); err != nil {
		return nil, err
	}
	for i, c := range config.Run {
		if err := sh.run(ctx, c); err != nil {
			return nil, fmt.Errorf("runcmd[%d] ended with %w", i, err)
		}
	}
	if !joined {
		fmt.Fprintln(m.console, "[cloud-init] done; nothing joined a cluster")
		return nil, nil
	}
	return m.kubelet()
}

// userData asks the Metadata service with Linode's own client, which decodes and decompresses.
func (m *machine) userData(ctx context.Context) (string, error) {
	client, err := MetadataClient(ctx, m.cfg.MetadataURL, m.event.InstanceID)
	if err != nil {
		return "", fmt.Errorf("metadata: %w", err)
	}
	instance, err := client.GetInstance(ctx)
	if err != nil {
		return "", fmt.Errorf("metadata: %w", err)
	}
	fmt.Fprintf(m.console, "[cloud-init] Linode %d, %s, %s in %s\n", instance.ID, instance.Label, instance.Type, instance.Region)
	text, err := client.GetUserData(ctx)
	if err != nil {
		return "", fmt.Errorf("metadata: %w", err)
	}
	return text, nil
}

// MetadataClient is Linode's own client of the Metadata service, as it works in one Linode.
func MetadataClient(ctx context.Context, serviceURL string, linodeID int) (*metadata.Client, error) {
	// The option for a base URL makes the client panic, in v0.3.1: it is set, and the token fetched, afterwards.
	client, err := metadata.NewClient(ctx, metadata.ClientWithoutManagedToken())
	if err != nil {
		return nil, err
	}
	client.SetBaseURL(serviceURL + "/" + strconv.Itoa(linodeID))
	return client.RefreshToken(ctx, metadata.TokenWithExpiry(tokenLife))
}

// kubeadm runs kubeadm's own code for `kubeadm join --config FILE`, the only thing that a worker's boot asks of it.
func (m *machine) kubeadm(ctx context.Context, args []string, out io.Writer) error {
	if len(args) != 3 || args[0] != "join" || args[1] != "--config" {
		return fmt.Errorf("%q: only join --config FILE is played", args)
	}
	config := machinePath("/var/lib/karpenter-bootstrap", args[2])
	var problem bytes.Buffer
	cmd := exec.CommandContext(ctx, m.cfg.Program, "join", "--root="+m.root.dir, "--config="+config, "--discovery-timeout="+m.cfg.JoinTimeout.String())
	cmd.Env, cmd.Dir = environment(m.root.dir), m.root.dir
	cmd.Stdout, cmd.Stderr = out, &problem
	if err := cmd.Run(); err != nil {
		return errors.New(lastLine(problem.String(), err.Error()))
	}
	fmt.Fprintln(out, "[played, not run] kubeadm's preflight checks, systemctl restart kubelet")
	return nil
}

// kubelet starts the kubelet's own code with the machine's size.
func (m *machine) kubelet() (*process.Process, error) {
	ports, err := plane.FreePorts(1)
	if err != nil {
		return nil, err
	}
	e := m.event
	capacity, _ := lkeplayer.Capacity(lkeplayer.Machine{VCPUs: e.VCPUs, GPUs: e.GPUs, MemoryMB: e.MemoryMB, DiskMB: e.DiskMB})
	var size []string
	for name, quantity := range capacity {
		if name != "pods" {
			size = append(size, fmt.Sprintf("%s=%s", name, quantity.String()))
		}
	}
	return process.Start(process.Spec{
		Name: "kubelet of " + e.Name, Path: m.cfg.Program, Dir: m.root.dir, Env: environment(m.root.dir),
		Args:    []string{"kubelet", "--root=" + m.root.dir, "--port=" + strconv.Itoa(ports[0]), "--capacity=" + strings.Join(size, ",")},
		LogFile: filepath.Join(m.cfg.LogDir, "kubelet-"+e.Name+".log"),
	})
}

func environment(home string) []string {
	return []string{"HOME=" + home, "PATH=/nonexistent", "TMPDIR=" + os.TempDir()}
}

func lastLine(text, otherwise string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return strings.TrimPrefix(last, "error: ")
	}
	return otherwise
}

// console collects what a boot writes, the end of it if that is long.
type console struct {
	mu   sync.Mutex
	text []byte
}

const consoleSize = 16 << 10

func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text = append(c.text, p...)
	c.text = c.text[max(0, len(c.text)-consoleSize):]
	return len(p), nil
}

func (c *console) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.text)
}
