package scale_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/tools/bench/scale"
)

// A run on three nodes measures everything, and leaves nothing behind.
// The test measures and does not judge.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("-short leaves out what starts a cluster")
	}
	t.Parallel()
	got, err := scale.Run(t.Context(), scale.Config{
		Name: "scale-test", StateDir: t.TempDir(), Nodes: 3, Profile: "fast", Patience: 4 * time.Minute, Rest: time.Second, Progress: t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.Nodes != 3 || got.Pods != 30 {
		t.Errorf("%d nodes and %d pods, want 3 and 30", got.Nodes, got.Pods)
	}
	if got.PeakRSS < 10<<20 || got.ScaleUp <= 0 || got.Underutilized.Memory < 10<<20 || got.Underutilized.CPU < 0 ||
		got.Empty.Memory < 10<<20 || got.Empty.CPU < 0 {
		t.Errorf("measured %+v", got)
	}
	if got.Rest < time.Second || got.ScaleUpCalls < 3 || got.Throttled != 0 || got.Own < 0 || got.Own > 1 {
		t.Errorf("measured %+v", got)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	if testing.Short() {
		t.Skip("-short leaves out what starts a cluster")
	}
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	progress := &words{when: "requested", then: cancel}
	_, err := scale.Run(ctx, scale.Config{
		Name: "scale-interrupted", StateDir: t.TempDir(), Nodes: 3, Profile: "slow", Patience: time.Hour, Rest: time.Hour, Progress: progress,
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// words calls a function when a text is written.
type words struct {
	io.Writer
	when string
	then func()
}

func (w *words) Write(text []byte) (int, error) {
	if strings.Contains(string(text), w.when) {
		w.then()
	}
	return len(text), nil
}

func TestRunRefusesWhatCannotBeMeasured(t *testing.T) {
	for name, test := range map[string]struct {
		cfg  scale.Config
		want string
	}{
		"no nodes": {scale.Config{Rest: time.Minute, Progress: io.Discard}, "positive"},
		"no rest":  {scale.Config{Nodes: 3, Progress: io.Discard}, "positive"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := scale.Run(t.Context(), test.cfg); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}
