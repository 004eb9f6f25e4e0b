package localcluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/process"
)

const (
	operatorProgram = "controller" // file in the folder of programs, and the container's name
	operatorGrace   = 10 * time.Second
)

// Operator is a replica of the Karpenter operator, run as a child process with the arguments
// and the environment that the installed Deployment gives the container of its Pod. It can be stopped or
// killed and started again; each start reads the Deployment anew, so that a changed
// release takes effect. Each replica has its own ports, because replicas share a host here.
type Operator struct {
	cluster     *Cluster
	replica     int // from 0
	metricsPort int
	healthPort  int

	mu     sync.Mutex
	child  *process.Process // the latest; nil before the first start
	tokens renewal
}

// Start starts the operator and waits until its readiness endpoint answers or
// ctx ends. If the process ends before that, the error quotes the end of its log.
func (o *Operator) Start(ctx context.Context) error {
	run, err := o.deployed(ctx)
	if err != nil {
		return fmt.Errorf("operator: %w", err)
	}
	run.env = append(run.env, "METRICS_BIND_ADDRESS=127.0.0.1", "HEALTH_PROBE_BIND_ADDRESS=127.0.0.1",
		"METRICS_PORT="+strconv.Itoa(o.metricsPort), "HEALTH_PROBE_PORT="+strconv.Itoa(o.healthPort))
	child, err := o.launch(run)
	if err != nil {
		return err
	}
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{}}
	return child.WaitHealthy(ctx, client, o.HealthURL()+run.readiness)
}

// launch starts the process. It holds the lock only while the process is started, so
// that Kill works while Start waits for the readiness.
func (o *Operator) launch(run deployment) (*process.Process, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.child != nil && o.child.Running() {
		return nil, errors.New("operator: it is running already")
	}
	child, err := process.Start(process.Spec{
		Name: "operator", Path: run.program.Entrypoint[0], Args: run.args, Env: run.env,
		Dir: run.program.Dir, LogFile: o.LogPath(), UID: run.program.UID, GID: run.program.GID,
	})
	if err == nil {
		o.child = child
	}
	return child, err
}

// Kill ends the operator at once, as a crash or a dead node would.
func (o *Operator) Kill() { o.with((*process.Process).Kill) }

// Stop terminates the operator as a kubelet would, and kills it if it does not exit
// within operatorGrace.
func (o *Operator) Stop(ctx context.Context) {
	o.with(func(child *process.Process) { child.Stop(ctx, operatorGrace) })
}

// Pause freezes the process (SIGSTOP), as a host that stalls does, until Resume.
func (o *Operator) Pause() { o.with((*process.Process).Pause) }

// Resume continues a process that Pause froze.
func (o *Operator) Resume() { o.with((*process.Process).Resume) }

func (o *Operator) with(do func(*process.Process)) {
	if child := o.current(); child != nil {
		do(child)
	}
}

// Running reports whether the process runs.
func (o *Operator) Running() bool {
	child := o.current()
	return child != nil && child.Running()
}

// PID of the latest process; 0 before the first start.
func (o *Operator) PID() (pid int) {
	o.with(func(child *process.Process) { pid = child.PID() })
	return pid
}

// Exited is closed when the latest process has ended; nil before the first start.
func (o *Operator) Exited() (exited <-chan struct{}) {
	o.with(func(child *process.Process) { exited = child.Exited() })
	return exited
}

func (o *Operator) current() *process.Process {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.child
}

// name is the name of the replica's process: controller, controller-2, ...
func (o *Operator) name() string { return numbered(operatorProgram, o.replica) }

// folder is the name of the folder with the replica's credentials: operator, operator-2, ... The replica's log has the same name.
func (o *Operator) folder() string { return numbered("operator", o.replica) }

func numbered(name string, replica int) string {
	if replica == 0 {
		return name
	}
	return name + "-" + strconv.Itoa(replica+1)
}

// LogPath is the file with the output of all starts.
func (o *Operator) LogPath() string { return filepath.Join(o.cluster.opts.logDir(), o.folder()+".log") }

// MetricsURL is the URL of the operator's metrics.
func (o *Operator) MetricsURL() string { return local(o.metricsPort) + "/metrics" }

// ProfileURL is the address of a profile of pprof, if the operator runs with ENABLE_PROFILING.
func (o *Operator) ProfileURL(name string) string {
	return local(o.metricsPort) + "/debug/pprof/" + name
}

// HealthURL is the base of /healthz and /readyz.
func (o *Operator) HealthURL() string { return local(o.healthPort) }

func local(port int) string { return "http://" + address(port) }
