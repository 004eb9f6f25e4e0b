package simulatedboot

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	metadata "github.com/linode/go-metadata"
	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/plane"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/process"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/simulatedlke"
)

const (
	tokenLife  = 300 // seconds
	kubeletEnd = 3 * time.Second
	// startedFile has the kubelet's flags, as the unit of its service has. When the Linode boots again, it starts the kubelet with them.
	startedFile = "/etc/systemd/system/kubelet.service.d/simulated.json"
)

// machine is one Linode while it runs.
type machine struct {
	cfg     Config
	event   linodesim.Event
	root    *rootDir
	console *console
	image   metadata.InstanceImageData
	kernel  kernel
	kubelet []string // the flags of the kubelet; nil = no kubelet is started
}

// boot simulates the boot of the image, and returns the kubelet that it started; nil = it started no kubelet.
func (m *machine) boot(ctx context.Context) (*process.Process, error) {
	var err error
	// The path is short: the kubelet makes sockets below it.
	if m.root, err = openRoot(filepath.Join(m.cfg.Dir, strconv.Itoa(m.event.InstanceID))); err != nil {
		return nil, err
	}
	defer m.root.close()
	if m.root.has(startedFile) { // not its first boot: nothing reads the user data
		if err := m.bootAgain(); err != nil {
			return nil, err
		}
		return m.startKubelet()
	}
	if err := m.startKernel(); err != nil {
		return nil, err
	}
	userData, err := m.userData(ctx)
	if err != nil {
		return nil, err
	}
	if err := m.reader()(ctx, userData); err != nil {
		return nil, err
	}
	if m.kubelet == nil {
		fmt.Fprintln(m.console, "[boot] done; nothing joined a cluster")
		return nil, nil
	}
	if err := errors.Join(m.keepKubelet(), m.keepKernel()); err != nil {
		return nil, err
	}
	return m.startKubelet()
}

// readers has the programs that read user data, by a word in the label of their images. readBy adds a program, in the file that simulates
// it.
var readers = map[string]func(*machine, context.Context, string) error{}

func readBy(word string, boot func(*machine, context.Context, string) error) bool { //nolint:unparam // so that it may be a declaration
	readers[word] = boot
	return true
}

// reader returns the program that reads the user data in the Linode's image. It is cloud-init if the image's label has no word of readers.
func (m *machine) reader() func(ctx context.Context, userData string) error {
	for word, boot := range readers {
		if strings.Contains(strings.ToLower(m.image.Label), word) {
			return func(ctx context.Context, userData string) error { return boot(m, ctx, userData) }
		}
	}
	return m.bootCloudInit
}

func (m *machine) bootCloudInit(ctx context.Context, userData string) error {
	text, err := render(userData, m.event.Name)
	if err != nil {
		return err
	}
	config, err := parse(text)
	if err != nil {
		return err
	}
	if config.Hostname != "" && config.Hostname != m.event.Name {
		fmt.Fprintf(m.console, "[cloud-init] hostname %s differs from the label %s\n", config.Hostname, m.event.Name)
	}
	for _, f := range config.Files {
		mode, _ := f.mode() // checked by parse
		if err := m.root.write(f.Path, f.Content, mode); err != nil {
			return err
		}
		fmt.Fprintf(m.console, "[cloud-init] wrote %s\n", f.Path)
	}
	sh, err := m.shell()
	if err != nil {
		return err
	}
	for i, c := range config.Run {
		if err := sh.run(ctx, c); err != nil {
			return fmt.Errorf("runcmd[%d] ended with %w", i, err)
		}
	}
	return nil
}

// userData reads the Metadata service with Linode's own client, which decodes and decompresses.
func (m *machine) userData(ctx context.Context) (string, error) {
	client, err := MetadataClient(ctx, m.cfg.MetadataURL, m.event.InstanceID)
	if err != nil {
		return "", fmt.Errorf("metadata: %w", err)
	}
	instance, err := client.GetInstance(ctx)
	if err != nil {
		return "", fmt.Errorf("metadata: %w", err)
	}
	m.image = instance.Image
	fmt.Fprintf(m.console, "[boot] Linode %d, %s, %s in %s, image %s\n", instance.ID, instance.Label, instance.Type, instance.Region,
		instance.Image.Label)
	text, err := client.GetUserData(ctx)
	if err != nil {
		return "", fmt.Errorf("metadata: %w", err)
	}
	return text, nil
}

// MetadataClient is Linode's own client of the Metadata service, as it works in one Linode.
func MetadataClient(ctx context.Context, serviceURL string, linodeID int) (*metadata.Client, error) {
	// In v0.3.1 the option for a base URL makes the client panic. So the URL is set, and the token is fetched, after NewClient.
	client, err := metadata.NewClient(ctx, metadata.ClientWithoutManagedToken())
	if err != nil {
		return nil, err
	}
	client.SetBaseURL(serviceURL + "/" + strconv.Itoa(linodeID))
	return client.RefreshToken(ctx, metadata.TokenWithExpiry(tokenLife))
}

// keepKubelet writes the kubelet's flags into startedFile, for later boots.
func (m *machine) keepKubelet() error {
	content, err := json.Marshal(m.kubelet)
	if err != nil {
		return err
	}
	return m.root.write(startedFile, string(content), 0o600)
}

// startKubelet starts the kubelet's own code with the machine's size.
func (m *machine) startKubelet() (*process.Process, error) {
	content, err := m.root.read(startedFile)
	if err != nil {
		return nil, err
	}
	var flags []string
	if err := json.Unmarshal(content, &flags); err != nil {
		return nil, err
	}
	if err := m.checkSwap(flags); err != nil {
		return nil, err
	}
	address, flags, err := m.ownNodeIP(flags)
	if err != nil {
		return nil, err
	}
	return StartKubelet(Kubelet{Program: m.cfg.Program, Root: m.root.dir, LogDir: m.cfg.LogDir, Event: m.event, NodeIP: address, Flags: flags})
}

// Kubelet is one real kubelet of a simulated machine.
type Kubelet struct {
	Program string          // the file of controlplane.Machine
	Root    string          // the directory that stands for the machine's root; a short path
	LogDir  string          // of its log, kubelet-<node>.log
	Event   linodesim.Event // the machine's size, and the Node's name
	NodeIP  string          // the value of the kubelet's --node-ip; "" = none
	Flags   []string        // the kubelet's own flags, without --node-ip
}

// StartKubelet starts the kubelet's own code in a separate process, which serves on a free port.
func StartKubelet(k Kubelet) (*process.Process, error) {
	ports, err := plane.FreePorts(1)
	if err != nil {
		return nil, err
	}
	e := k.Event
	disk := cmp.Or(e.RootMB, e.DiskMB)
	capacity, _ := simulatedlke.Capacity(simulatedlke.Machine{VCPUs: e.VCPUs, GPUs: e.GPUs, MemoryMB: e.MemoryMB, DiskMB: disk})
	delete(capacity, corev1.ResourcePods)
	var size []string
	for name, quantity := range capacity {
		size = append(size, fmt.Sprintf("%s=%s", name, quantity.String()))
	}
	args := []string{"kubelet", "--root=" + k.Root, "--port=" + strconv.Itoa(ports[0]), "--capacity=" + strings.Join(size, ","),
		"--node-ip=" + k.NodeIP, "--"}
	return process.Start(process.Spec{
		Name: "kubelet of " + e.Name, Path: k.Program, Dir: k.Root, Env: environment(k.Root), Args: append(args, k.Flags...),
		LogFile: filepath.Join(k.LogDir, "kubelet-"+e.Name+".log"),
	})
}

func environment(home string) []string {
	return []string{"HOME=" + home, "PATH=/nonexistent", "TMPDIR=" + os.TempDir()}
}

// console collects the output of a boot. Of a long output it keeps the end.
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
