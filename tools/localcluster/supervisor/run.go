package supervisor

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
)

const (
	firstRestart   = time.Second
	longestRestart = 30 * time.Second
	readyPatience  = 2 * time.Minute
	stopPatience   = 20 * time.Second
)

// Words between Up and Run, each the start of a line on the pipe.
const (
	sayStep  = "step "
	sayError = "error "
	sayReady = "ready"
)

// Run starts the cluster, and reports the result to Up through report. Then it keeps the
// cluster running until ctx ends or a part of the control plane ends. It writes later
// messages to log.
func Run(ctx context.Context, opts localcluster.Options, report io.WriteCloser, log io.Writer) error {
	opts.Progress = steps{report}
	refuse := func(err error) error {
		fmt.Fprintln(report, sayError+err.Error())
		report.Close()
		return err
	}
	cluster, err := localcluster.Start(ctx, opts)
	if err != nil {
		return refuse(err)
	}
	defer func() {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
		defer cancel()
		cluster.Stop(stopping)
	}()
	if err := write(opts.StateDir, describe(cluster, opts)); err != nil {
		return refuse(err)
	}
	fmt.Fprintln(report, sayReady)
	report.Close()
	return keep(ctx, cluster, log)
}

// keep restarts replicas of the operator until ctx ends or a part of the control plane ends.
func keep(ctx context.Context, cluster *localcluster.Cluster, log io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	var watched sync.WaitGroup
	defer watched.Wait()
	defer cancel()
	for _, operator := range cluster.Operators {
		watched.Go(func() { revive(ctx, operator, log) })
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-cluster.Died():
		return err
	}
}

// revive starts a replica of the operator again whenever it ends, as a kubelet does with a Deployment's container: after
// pauses that grow while it keeps ending.
func revive(ctx context.Context, operator *localcluster.Operator, log io.Writer) {
	restart := firstRestart
	for {
		began := time.Now()
		select {
		case <-ctx.Done():
			return
		case <-operator.Exited(): // nil for an operator that was never started: then this case never happens
		}
		if time.Since(began) > 10*longestRestart {
			restart = firstRestart
		}
		fmt.Fprintf(log, "%s operator ended; it is started again in %s\n", time.Now().UTC().Format(time.RFC3339), restart)
		select {
		case <-ctx.Done():
			return
		case <-time.After(restart):
		}
		restart = min(2*restart, longestRestart)
		again(ctx, operator, log)
	}
}

func again(ctx context.Context, operator *localcluster.Operator, log io.Writer) {
	ctx, cancel := context.WithTimeoutCause(ctx, readyPatience, fmt.Errorf("gave up after %s", readyPatience))
	defer cancel()
	if err := operator.Start(ctx); err != nil {
		fmt.Fprintln(log, err)
	}
}

// steps passes the cluster's lines of progress to Up.
type steps struct{ out io.Writer }

func (s steps) Write(line []byte) (int, error) {
	if _, err := s.out.Write(append([]byte(sayStep), line...)); err != nil {
		return len(line), nil //nolint:nilerr // the reader is gone; the start goes on
	}
	return len(line), nil
}
