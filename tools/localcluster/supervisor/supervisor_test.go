package supervisor_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/supervisor"
)

const patience = 3 * time.Minute

// The test program is also what Up starts in the background, with the state
// folder as its argument.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "supervise" {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		opts := localcluster.Options{Name: "test", StateDir: os.Args[2], Tier: os.Args[3], WithoutCharts: true}
		if tier, operated := strings.CutSuffix(os.Args[3], "+operator"); operated {
			opts.Tier, opts.WithoutCharts = tier, false
		}
		err := supervisor.Run(ctx, opts, os.NewFile(supervisor.ReportFile, "report"), os.Stderr)
		stop()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestUpAndDown(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	dir := filepath.Join(t.TempDir(), "cluster")
	args := []string{"supervise", dir, localcluster.Enterprise}
	t.Cleanup(func() { _ = supervisor.Down(context.Background(), dir) })

	if _, err := supervisor.Read(dir); !errors.Is(err, supervisor.ErrNotRunning) {
		t.Errorf("before: %v", err)
	}
	var progress bytes.Buffer
	info, err := supervisor.Up(ctx, dir, args, &progress)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(progress.String(), "control plane: ready in") {
		t.Errorf("progress %q", progress.String())
	}
	if info.Tier != localcluster.Enterprise || info.Kubeconfig == "" || info.SimURL == "" || info.PID != localcluster.Holder(dir) {
		t.Errorf("info %+v", info)
	}
	if again, err := supervisor.Up(ctx, dir, args, &progress); !errors.Is(err, localcluster.ErrRunning) || again != info {
		t.Errorf("a second up: %+v, %v", again, err)
	}
	if err := supervisor.Down(ctx, dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(info.Kubeconfig); !os.IsNotExist(err) {
		t.Errorf("the state is left: %v", err)
	}
	if err := supervisor.Down(ctx, dir); !errors.Is(err, supervisor.ErrNotRunning) {
		t.Errorf("a second down: %v", err)
	}
}

func TestUpSaysWhyItFailed(t *testing.T) {
	dir := t.TempDir()
	_, err := supervisor.Up(t.Context(), dir, []string{"supervise", dir, "premium"}, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), `tier "premium"`) || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
}
