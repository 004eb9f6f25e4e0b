package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-linode/karpenter-linode/tools/controlplane"
)

// command is karpenter-linode as a user runs it.
func (e *environment) command(ctx context.Context, args ...string) (*exec.Cmd, error) {
	root, err := controlplane.FindRoot(".")
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(controlplane.BinDir(root), "karpenter-linode"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+e.Kubeconfig, "LINODE_URL="+e.SimURL, "LINODE_TOKEN="+e.SimToken)
	return cmd, nil
}

// runProgram runs karpenter-linode, and returns what it prints.
func (e *environment) runProgram(ctx context.Context, args ...string) ([]byte, error) {
	cmd, err := e.command(ctx, args...)
	if err != nil {
		return nil, err
	}
	var problems bytes.Buffer
	cmd.Stderr = &problems
	printed, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("karpenter-linode %s: %w: %s", strings.Join(args, " "), err, problems.String())
	}
	return printed, nil
}

// program is runProgram for a test that cannot go on without.
func (e *environment) program(t *testing.T, args ...string) string {
	t.Helper()
	printed, err := e.runProgram(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return string(printed)
}

// decoded returns what the program prints as JSON.
func decoded[T any](t *testing.T, printed string) (value T) {
	t.Helper()
	if err := json.Unmarshal([]byte(printed), &value); err != nil {
		t.Fatalf("%v in\n%s", err, printed)
	}
	return value
}

// monthlyPrices returns the price of each plan in the clusters' region.
func (e *environment) monthlyPrices(t *testing.T) map[string]float64 {
	t.Helper()
	const region = "us-ord"
	var plans struct {
		Data []struct {
			ID    string
			Price struct{ Monthly float64 }

			RegionPrices []struct {
				ID      string
				Monthly float64
			} `json:"region_prices"`
		}
	}
	e.get(t, "/linode/types?page_size=500", &plans)
	monthly := map[string]float64{}
	for _, plan := range plans.Data {
		monthly[plan.ID] = plan.Price.Monthly
		for _, price := range plan.RegionPrices {
			if price.ID == region {
				monthly[plan.ID] = price.Monthly
			}
		}
	}
	return monthly
}

// topShows compares what `top --once` prints of the scenario's nodes with what they are and cost.
func (e *environment) topShows(t *testing.T, nodes []corev1.Node, monthly float64) {
	t.Helper()
	label := laneLabel + "=" + e.lane
	view := decoded[struct {
		Nodes []struct{ Name, Plan, State string }
		Total struct{ Monthly float64 }
	}](t, e.program(t, "top", "--once", "--selector", label, "--output", "json"))
	var shown, there []string
	for _, node := range view.Nodes {
		shown = append(shown, node.Name+" "+node.Plan+" "+node.State)
	}
	for _, node := range nodes {
		there = append(there, node.Name+" "+node.Labels[corev1.LabelInstanceTypeStable]+" ready")
	}
	slices.Sort(shown)
	slices.Sort(there)
	if !slices.Equal(shown, there) || math.Abs(view.Total.Monthly-monthly) > 0.01 {
		t.Errorf("top shows for $%v a month:\n%s\nthere are for $%v:\n%s", view.Total.Monthly, strings.Join(shown, "\n"), monthly,
			strings.Join(there, "\n"))
	}
	text := e.program(t, "top", "--once", "--selector", label)
	for _, node := range nodes {
		NewWithT(t).Expect(text).To(MatchRegexp(`(?m)^`+node.Name+` +NodePool `+e.lane), "the table of top")
	}
}

// explained compares what `explain` prints of an object with the words.
func (e *environment) explained(t *testing.T, kind, name string, words ...string) {
	t.Helper()
	// Another scenario's launch may be the true answer for a moment.
	NewWithT(t).Eventually(t.Context(), func() string { return e.program(t, "explain", kind, name) }).WithTimeout(patience).
		WithPolling(leisure).Should(SatisfyAll(containing(words)...), "explain %s %s", kind, name)
}

func containing(words []string) (all []types.GomegaMatcher) {
	for _, word := range words {
		all = append(all, ContainSubstring(word))
	}
	return all
}
