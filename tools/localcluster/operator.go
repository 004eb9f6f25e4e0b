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
	readyPoll       = 100 * time.Millisecond
)

// Operator is the Karpenter operator, run as a child process with what the
// installed Deployment gives its container. It can be stopped or killed and
// started again; each start reads the Deployment anew, so that a changed release
// takes effect.
type Operator struct {
	cluster     *Cluster
	metricsPort int
	healthPort  int

	mu     sync.Mutex
	child  *process.Process // the latest; nil before the first start
	tokens renewals
}

// Start starts the operator and waits until its readiness endpoint answers or
// ctx ends. When the process ends meanwhile the error quotes its last words.
func (o *Operator) Start(ctx context.Context) error {
	run, err := o.cluster.deployed(ctx)
	if err != nil {
		return fmt.Errorf("operator: %w", err)
	}
	child, err := o.launch(run)
	if err != nil {
		return err
	}
	return o.waitReady(ctx, child, run.readiness)
}

// launch makes the process. The lock is not held for longer, so that Kill works
// while Start waits.
func (o *Operator) launch(run deployment) (*process.Process, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.child != nil && o.child.Running() {
		return nil, errors.New("operator: it is running already")
	}
	child, err := process.Start(process.Spec{
		Name: "operator", Path: filepath.Join(o.cluster.bin(), operatorProgram), Args: run.args, Env: run.env,
		Dir: o.cluster.opts.stateDir(), LogFile: o.LogPath(),
	})
	if err == nil {
		o.child = child
	}
	return child, err
}

// waitReady polls as a kubelet's readiness probe does. A process that is not
// ready is left running: its log tells why, and it may become ready yet.
func (o *Operator) waitReady(ctx context.Context, child *process.Process, path string) error {
	url := o.HealthURL() + path
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	ticker := time.NewTicker(readyPoll)
	defer ticker.Stop()
	for {
		if answers(ctx, client, url) {
			return nil
		}
		select {
		case <-child.Exited():
			return child.Failure()
		case <-ctx.Done():
			return fmt.Errorf("operator is not ready (%w): %s does not answer 200; log: %s", context.Cause(ctx), url, o.LogPath())
		case <-ticker.C:
		}
	}
}

func answers(ctx context.Context, client *http.Client, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	answer, err := client.Do(request)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// Kill ends the operator at once, as a crash or a dead node would.
func (o *Operator) Kill() {
	if child := o.current(); child != nil {
		child.Kill()
	}
}

// Stop asks the operator to end, as a kubelet would, and kills it when it does
// not end in time.
func (o *Operator) Stop(ctx context.Context) {
	if child := o.current(); child != nil {
		child.Stop(ctx, operatorGrace)
	}
}

// Running tells whether the process is there.
func (o *Operator) Running() bool {
	child := o.current()
	return child != nil && child.Running()
}

// PID of the latest process; 0 before the first start.
func (o *Operator) PID() int {
	if child := o.current(); child != nil {
		return child.PID()
	}
	return 0
}

// Exited is closed when the latest process has ended; nil before the first start.
func (o *Operator) Exited() <-chan struct{} {
	if child := o.current(); child != nil {
		return child.Exited()
	}
	return nil
}

func (o *Operator) current() *process.Process {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.child
}

// LogPath is the file with the output of all starts.
func (o *Operator) LogPath() string { return filepath.Join(o.cluster.opts.logDir(), "controller.log") }

// MetricsURL is where the operator serves its metrics.
func (o *Operator) MetricsURL() string { return local(o.metricsPort) + "/metrics" }

// HealthURL is the base of /healthz and /readyz.
func (o *Operator) HealthURL() string { return local(o.healthPort) }

func local(port int) string { return "http://127.0.0.1:" + strconv.Itoa(port) }
