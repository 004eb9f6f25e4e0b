package bench_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/tools/bench"
)

// engines are the modules whose cores are measured.
var engines = []string{"lkepool", "instances"}

// coreSizes are how many claims come at once. Each is a case of the engines' BenchmarkBurst.
func coreSizes(full bool) []int {
	if full {
		return []int{500, 2000}
	}
	return []int{500}
}

// coreSeconds is what BenchmarkBurst reports of a size.
var coreSeconds = regexp.MustCompile(`(?m)^BenchmarkBurst/\S+\s.*?\s([0-9.e+-]+) core-s`)

// runCore measures the processor time of an engine's core. The core is internal to its
// module, so the module's own benchmark is run.
func runCore(t *testing.T, engine string, claims int) bench.Thought {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "test", "-run", "^$", "-bench", fmt.Sprintf("^BenchmarkBurst$/^%d$", claims),
		"-benchtime", "1x", "./internal/core")
	command.Dir = filepath.Join("..", "..", "modules", engine)
	command.Env = append(command.Environ(), "GOWORK=off")
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	found := coreSeconds.FindSubmatch(out)
	if found == nil {
		t.Fatalf("no core-s of BenchmarkBurst/%d in module %s: %s", claims, engine, out)
	}
	took, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return bench.Thought{Engine: engine, Claims: claims, Took: time.Duration(took * float64(time.Second))}
}
