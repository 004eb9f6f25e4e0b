// Command ciplan prints what ci.yml runs, as outputs of a workflow step: modules=[...] and
// suites=[...]. With -base it compares HEAD with that commit; without, all modules run.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/tools/ci"
	"github.com/karpenter-linode/karpenter-linode/tools/controlplane"
)

func main() {
	base := flag.String("base", "", "commit to compare HEAD with; empty = everything runs")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *base); err != nil {
		fmt.Fprintln(os.Stderr, "ciplan:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, base string) error {
	root, err := controlplane.FindRoot(".")
	if err != nil {
		return err
	}
	modules, err := ci.Modules(root)
	if err != nil {
		return err
	}
	files := []string{"go.work"}
	if base != "" {
		out, err := exec.CommandContext(ctx, "git", "-C", root, "diff", "--name-only", base+"...HEAD").Output()
		if err != nil {
			return fmt.Errorf("git diff %s...HEAD: %w", base, err)
		}
		files = strings.Fields(string(out))
	}
	suites, err := ci.Suites(filepath.Join(root, "tools", "e2e"))
	if err != nil {
		return err
	}
	concerned := ci.Concerned(modules, files)
	if !strings.Contains(strings.Join(concerned, " "), "tools") {
		suites = []ci.Suite{}
	}
	for _, output := range []struct {
		name  string
		value any
	}{{"modules", append([]string{}, concerned...)}, {"suites", suites}} {
		text, err := json.Marshal(output.value)
		if err != nil {
			return err
		}
		fmt.Printf("%s=%s\n", output.name, text)
	}
	return nil
}
