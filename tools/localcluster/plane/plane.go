package plane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/pki"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/process"
)

// Programs are the files that the folder Config.Bin must have.
var Programs = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"}

const (
	// NodeLabel is the label of the nodes that kwok simulates, with the value NodeLabelValue.
	NodeLabel      = "local.karpenter.k8s.linode/kubelet"
	NodeLabelValue = "kwok"
	// ReadyAfterNote is a Node's annotation with the duration from its registration until kwok makes it ready; kwok.yaml has it, too.
	ReadyAfterNote = "local.karpenter.k8s.linode/ready-after"

	loopback = "127.0.0.1"
	// collector makes Go's garbage collector run a third as often. A short-lived cluster then takes an eighth less processor time, and 300 MB
	// more memory.
	collector = "GOGC=300"
	// stopGrace is short, because the state of a component is not needed after its end.
	stopGrace = 3 * time.Second
	// portAttempts bounds the starts of a plane: if another process took a port between
	// its choice and its use, the plane starts again with other ports.
	portAttempts = 3
)

// Config of a control plane.
type Config struct {
	Name   string // of the cluster in kubeconfig files
	Bin    string // folder of the programs
	Dir    string // state: certificates, data; removed by the caller
	LogDir string // one file per component
	Port   int    // of the API server; 0 = a free one
	Audit  bool   // log every request to LogDir/audit.log

	// NodeSilence is the time without a heartbeat after which a node is not ready; 0 = Kubernetes' default.
	NodeSilence time.Duration

	// Machine is the file of the program controlplane.Machine, of the default release. With it, nodes can join by themselves, as in a cluster
	// that kubeadm made; "" = they cannot.
	Machine string
}

// Plane is a running control plane.
type Plane struct {
	cfg       Config
	ports     ports
	authority *pki.Authority
	died      chan error

	mu      sync.Mutex
	stopped bool
	running []*process.Process // in the order of their start
}

// Start starts all components and waits until they are ready or ctx ends. If it fails,
// it stops the components that it has started.
func Start(ctx context.Context, cfg Config) (*Plane, error) {
	if err := checkPort(cfg.Port); err != nil {
		return nil, err
	}
	var err error
	for range portAttempts {
		p := &Plane{cfg: cfg, died: make(chan error, 1)}
		if err = p.start(ctx); err == nil {
			return p, nil
		}
		taken := p.portTaken()
		p.Stop(context.WithoutCancel(ctx))
		if !taken || cfg.Port != 0 {
			break
		}
	}
	return nil, err
}

// checkPort refuses a wanted port that is in use before anything is started.
func checkPort(port int) error {
	if port == 0 {
		return nil
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(loopback, strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("kube-apiserver: port %d on %s cannot be used: %w", port, loopback, errors.Unwrap(err))
	}
	return listener.Close()
}

func (p *Plane) start(ctx context.Context) error {
	var err error
	if p.ports, err = freePorts(p.cfg.Port); err != nil {
		return fmt.Errorf("control plane: no free port on %s: %w", loopback, err)
	}
	// A second attempt must not find the data of the first attempt.
	if err := os.RemoveAll(p.path("etcd")); err != nil {
		return fmt.Errorf("control plane: %w", err)
	}
	if err := p.restore(); err != nil {
		return fmt.Errorf("control plane: %w", err)
	}
	if err := p.writeFiles(); err != nil {
		return fmt.Errorf("control plane: %w", err)
	}
	if err := p.launch(ctx, p.etcd(), p.apiserver()); err != nil {
		return err
	}
	if err := p.launch(ctx, p.controllerManager(), p.scheduler(), p.kwok()); err != nil {
		return err
	}
	if err := p.waitForServiceAccounts(ctx); err != nil {
		return err
	}
	return p.letNodesJoin(ctx)
}

// launch starts components together and waits until all are healthy.
func (p *Plane) launch(ctx context.Context, components ...component) error {
	children := make([]*process.Process, len(components))
	for i, c := range components {
		child, err := process.Start(process.Spec{
			Name: c.name, Path: filepath.Join(p.cfg.Bin, c.name), Args: c.args, Dir: p.cfg.Dir,
			LogFile: filepath.Join(p.cfg.LogDir, c.name+".log"),
			// HOME: kwok reads a user's own configuration from there.
			Env: []string{"HOME=" + p.cfg.Dir, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), collector},
		})
		if err != nil {
			return err
		}
		p.track(child)
		children[i] = child
	}
	for i, c := range components {
		client, err := p.healthClient(c.name == "etcd")
		if err != nil {
			return err
		}
		if err := children[i].WaitHealthy(ctx, client, c.health); err != nil {
			return err
		}
	}
	return nil
}

// track remembers a child for Stop and reports an exit that Stop did not cause.
func (p *Plane) track(child *process.Process) {
	p.mu.Lock()
	p.running = append(p.running, child)
	p.mu.Unlock()
	go func() {
		<-child.Exited()
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.stopped {
			return
		}
		select {
		case p.died <- child.Failure():
		default: // the first failure is the cause of the others
		}
	}()
}

// Died delivers one error when a component ends without Stop.
func (p *Plane) Died() <-chan error { return p.died }

// Processes lists the children, whether they still run or not.
func (p *Plane) Processes() []*process.Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.running)
}

func (p *Plane) portTaken() bool {
	return slices.ContainsFunc(p.Processes(), (*process.Process).PortTaken)
}

// Stop ends all children and returns when they have ended. This takes a few seconds at
// most; when ctx ends, Stop kills them at once. It may be called again.
func (p *Plane) Stop(ctx context.Context) {
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
	var all sync.WaitGroup
	for _, child := range p.Processes() {
		// etcd goes last: the API server needs it while it shuts down.
		if child.Name() != "etcd" {
			all.Go(func() { child.Stop(ctx, stopGrace) })
		}
	}
	all.Wait()
	for _, child := range p.Processes() {
		child.Stop(ctx, stopGrace)
	}
}

// Server is the API server's URL.
func (p *Plane) Server() string {
	return "https://" + net.JoinHostPort(loopback, strconv.Itoa(p.ports.apiserver))
}

// Port is the port of the API server.
func (p *Plane) Port() int { return p.ports.apiserver }

// CA returns the certificate of the cluster's authority, which signed the API server's certificate.
func (p *Plane) CA() []byte { return p.authority.Cert }

// Authority signs for clients and servers of the cluster.
func (p *Plane) Authority() *pki.Authority { return p.authority }

// KubeletTLS configures a server on loopback that simulates a kubelet: it has a certificate that the API server accepts, and
// takes requests from the cluster's clients alone.
func (p *Plane) KubeletTLS() (*tls.Config, error) {
	config, err := p.ServerTLS("kubelet")
	if err != nil {
		return nil, err
	}
	config.ClientCAs, config.ClientAuth = p.Roots(), tls.RequireAndVerifyClientCert
	return config, nil
}

// ServerTLS configures a server on loopback that the cluster's clients trust.
func (p *Plane) ServerTLS(name string) (*tls.Config, error) {
	pair, err := p.authority.Server(name, loopback, "localhost")
	if err != nil {
		return nil, err
	}
	certificate, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}}, nil
}

// Roots returns the authorities by which the cluster's clients verify its servers.
func (p *Plane) Roots() *x509.CertPool {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(p.authority.Cert)
	return roots
}

// AdminKubeconfig is the file for people and tests: group system:masters.
func (p *Plane) AdminKubeconfig() string { return p.kubeconfigFile("admin") }

// Kubeconfig writes a kubeconfig for a simulated part outside of the control plane, such
// as LKE. The part has all rights. Audit logs show the user's name.
func (p *Plane) Kubeconfig(user string) (file string, err error) {
	return p.kubeconfigFile(user), p.writeKubeconfig(user, user, administrators)
}

// RESTConfig returns a client configuration for a part (see Kubeconfig) that runs in this process.
func (p *Plane) RESTConfig(user string) (*rest.Config, error) {
	file, err := p.Kubeconfig(user)
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		return nil, err
	}
	config.UserAgent = user
	config.QPS, config.Burst = -1, -1 // the API server's own limits are enough here
	return config, nil
}

// UserKubeconfig returns the content of a kubeconfig of a user without any group.
func (p *Plane) UserKubeconfig(user string) ([]byte, error) {
	pair, err := p.authority.Client(user)
	if err != nil {
		return nil, err
	}
	return pki.Kubeconfig(p.cfg.Name, p.Server(), p.authority.Cert, pki.User{Name: user, Pair: pair})
}

// Client is a client with RESTConfig.
func (p *Plane) Client(user string) (*kubernetes.Clientset, error) {
	config, err := p.RESTConfig(user)
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

func (p *Plane) path(elements ...string) string {
	return filepath.Join(append([]string{p.cfg.Dir}, elements...)...)
}
