package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// helm installs the operator with the program helm of the PATH.
type helm struct {
	charts, namespace   string
	kubeconfig, context string
	cluster             string // label of the LKE cluster
	out                 io.Writer
}

// install installs both charts. Helm reads the token from standard input, so that a list of processes does not show it. The caller installs
// only into a cluster without Karpenter's CRDs. So the CRDs belong to this run, and uninstall removes them with their release.
func (h helm) install(ctx context.Context) error {
	values := map[string]any{ // one replica: the cluster may have a single node
		"apiToken": os.Getenv("LINODE_TOKEN"), "replicas": 1, "settings": map[string]any{"clusterName": h.cluster},
	}
	if url := os.Getenv("LINODE_URL"); url != "" {
		values["apiURL"] = url
	}
	text, err := json.Marshal(values)
	if err != nil {
		return err
	}
	definitions := []string{"upgrade", "--install", "karpenter-crd", h.charts + "/karpenter-crd", "--set", "keepOnUninstall=false"}
	if err := h.run(ctx, nil, definitions...); err != nil {
		return err
	}
	return h.run(ctx, text, "upgrade", "--install", "karpenter", h.charts+"/karpenter", "--values", "-", "--wait")
}

// uninstall removes both releases: first the operator, then the CRDs.
func (h helm) uninstall(ctx context.Context) error {
	for _, release := range []string{"karpenter", "karpenter-crd"} {
		if err := h.run(ctx, nil, "uninstall", release, "--wait", "--ignore-not-found"); err != nil {
			return err
		}
	}
	return nil
}

func (h helm) run(ctx context.Context, stdin []byte, args ...string) error {
	args = append(args, "--namespace", h.namespace)
	if h.kubeconfig != "" {
		args = append(args, "--kubeconfig", h.kubeconfig)
	}
	if h.context != "" {
		args = append(args, "--kube-context", h.context)
	}
	cmd := exec.CommandContext(ctx, "helm", args...) //nolint:gosec // the user's own flags
	var problems bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(stdin), &problems
	fmt.Fprintf(h.out, "helm %s %s\n", args[0], strings.Join(args[1:], " "))
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("helm %s: %w: %s", args[0], err, strings.ReplaceAll(strings.TrimSpace(problems.String()), "\n", " "))
	}
	return nil
}
