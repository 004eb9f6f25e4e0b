package scale

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

// stack is a sample of a CPU profile: the functions, the innermost first.
type stack struct {
	took      time.Duration
	functions []string
}

func cpuProfile(t *testing.T, unit string, stacks ...stack) *bytes.Buffer {
	t.Helper()
	made := &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: unit}}}
	for _, s := range stacks {
		sample := &profile.Sample{Value: []int64{1, s.took.Nanoseconds()}}
		for _, name := range s.functions {
			function := &profile.Function{ID: uint64(len(made.Function) + 1), Name: name}
			location := &profile.Location{ID: function.ID, Line: []profile.Line{{Function: function}}}
			made.Function, made.Location = append(made.Function, function), append(made.Location, location)
			sample.Location = append(sample.Location, location)
		}
		made.Sample = append(made.Sample, sample)
	}
	var out bytes.Buffer
	if err := made.Write(&out); err != nil {
		t.Fatal(err)
	}
	return &out
}

func TestOwn(t *testing.T) {
	const core = "sigs.k8s.io/karpenter/pkg/controllers/disruption.(*Controller).Reconcile"
	got, err := own(cpuProfile(t, "nanoseconds",
		stack{time.Second, []string{"runtime.mallocgc", ourModules + "operator/instancetype.(*Catalog).List", core}},
		stack{2 * time.Second, []string{ourModules + "lkepool/allocator.(*Allocator).Claim"}},
		stack{4 * time.Second, []string{"k8s.io/api/core/v1.(*Pod).DeepCopy", ourModules + "operator/karpentercore.creates.Create", core}},
		stack{8 * time.Second, []string{"runtime.scanobject", "runtime.gcBgMarkWorker"}},
		stack{16 * time.Second, []string{core}},
		stack{32 * time.Second, []string{"github.com/go-logr/zapr.(*zapLogger).WithValues",
			ourModules + "operator/karpentercore.startsSink.WithValues", core}},
	))
	if err != nil || got != 3*time.Second {
		t.Errorf("got %s, %v, want 3s", got, err)
	}
}

func TestOwnRefusesWhatIsNoProfileOfTheProcessor(t *testing.T) {
	for name, content := range map[string]*bytes.Buffer{
		"a page":      bytes.NewBufferString("404 page not found"),
		"other units": cpuProfile(t, "bytes", stack{time.Second, []string{"main.main"}}),
	} {
		if _, err := own(content); err == nil || !strings.Contains(err.Error(), "profile of the processor") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
