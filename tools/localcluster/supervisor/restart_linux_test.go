package supervisor_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
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
			return pid != 0 && pid != before && ready(info.HealthURL+"/readyz"), nil
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
	children, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range children {
		list, _ := os.ReadFile(file) // a thread may have ended
		for child := range strings.FieldsSeq(string(list)) {
			program, _ := os.Readlink("/proc/" + child + "/exe")
			if pid, err := strconv.Atoi(child); err == nil && filepath.Base(program) == "controller" {
				return pid
			}
		}
	}
	return 0
}

func ready(url string) bool {
	answer, err := http.Get(url) //nolint:gosec,noctx // of the local cluster
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}
