package supervisor_test

import (
	"bytes"
	"context"
	"net/http"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/process"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/supervisor"
)

// An operator that ends is started again, as often as it ends.
func TestAnOperatorThatEndsIsStartedAgain(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	dir := filepath.Join(t.TempDir(), "cluster")
	t.Cleanup(func() { _ = supervisor.Down(context.Background(), dir) })
	info, err := supervisor.Up(ctx, dir, []string{"supervise", dir, localcluster.Standard + "+operator"}, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	before := 0
	for range 2 {
		pid := before
		err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(context.Context) (bool, error) {
			pid = operatorPID(t, info.PID)
			return pid != 0 && pid != before && process.Probe(ctx, http.DefaultClient, info.HealthURL+"/readyz") == nil, nil
		})
		if err != nil {
			t.Fatalf("no operator is ready after process %d: %v; log: %s", before, err, supervisor.LogFile(dir))
		}
		before = pid
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
}

// operatorPID is the child of a process that runs the operator; 0 = none does.
func operatorPID(t *testing.T, parent int) int {
	t.Helper()
	all, err := procfs.AllProcs()
	if err != nil {
		t.Fatal(err)
	}
	for _, running := range all {
		stat, err := running.Stat() // it may have ended
		if err == nil && stat.PPID == parent && stat.Comm == "controller" {
			return running.PID
		}
	}
	return 0
}
