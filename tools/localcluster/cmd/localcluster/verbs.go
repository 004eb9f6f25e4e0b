package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/karpenter-linode/karpenter-linode/tools/controlplane"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/supervisor"
)

func build(ctx context.Context, args []string) error {
	root, err := controlplane.FindRoot(".")
	if err != nil {
		return err
	}
	return controlplane.Build(ctx, controlplane.Options{
		Root: root, Out: os.Stderr, Live: controlplane.IsTerminal(os.Stderr), Only: args,
	})
}

func up(ctx context.Context, args []string) error {
	opts, given, err := options("up", args)
	if err != nil {
		return err
	}
	info, err := supervisor.Up(ctx, opts.StateDir, append([]string{"supervise"}, arguments(opts, given)...), os.Stderr)
	if errors.Is(err, localcluster.ErrRunning) {
		return already(info, opts, given)
	}
	if err != nil {
		return err
	}
	show(info)
	return nil
}

// already: a second `up` is fine when it asks for what is there.
func already(info supervisor.Info, opts localcluster.Options, given chosen) error {
	if info.Kubeconfig == "" {
		return fmt.Errorf("%s is being started or stopped by process %d", opts.Name, info.PID)
	}
	if info.Tier != opts.Tier {
		return fmt.Errorf("%s runs already (process %d) with tier %s, not %s: stop it first with `make down`", info.Name, info.PID, info.Tier, opts.Tier)
	}
	if given != (chosen{}) {
		return fmt.Errorf("%s runs already (process %d), and values and gates count when it starts: stop it first with `make down`", info.Name, info.PID)
	}
	fmt.Fprintf(os.Stderr, "%s runs already\n", info.Name)
	show(info)
	return nil
}

func show(info supervisor.Info) {
	fmt.Fprintln(os.Stderr, info)
	fmt.Printf("export KUBECONFIG=%s\n", info.Kubeconfig)
	fmt.Printf("export LINODE_URL=%s\n", info.SimURL)
}

func down(ctx context.Context, args []string) error {
	opts, _, err := options("down", args)
	if err != nil {
		return err
	}
	err = supervisor.Down(ctx, opts.StateDir)
	if errors.Is(err, supervisor.ErrNotRunning) {
		fmt.Fprintf(os.Stderr, "%s is not running\n", opts.Name)
		return nil
	}
	if err == nil {
		fmt.Fprintf(os.Stderr, "%s is stopped; logs: %s/logs\n", opts.Name, opts.StateDir)
	}
	return err
}

func status(ctx context.Context, args []string) error {
	opts, _, err := options("status", args)
	if err != nil {
		return err
	}
	info, err := supervisor.Read(opts.StateDir)
	if err != nil {
		return fmt.Errorf("%s: %w (its last log: %s)", opts.Name, err, supervisor.LogFile(opts.StateDir))
	}
	if info.Kubeconfig == "" {
		return fmt.Errorf("%s is being started or stopped by process %d", opts.Name, info.PID)
	}
	if info.HealthURL != "" {
		fmt.Fprintf(os.Stderr, "operator: %s\n", health(ctx, info.HealthURL+"/readyz"))
	}
	show(info)
	return nil
}

func health(ctx context.Context, url string) string {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err.Error()
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "not running"
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return "not ready (" + answer.Status + ")"
	}
	return "ready"
}

// supervise is what `up` starts in the background.
func supervise(ctx context.Context, args []string) error {
	opts, _, err := options("supervise", args)
	if err != nil {
		return err
	}
	report := os.NewFile(supervisor.ReportFile, "report")
	if report == nil {
		return errors.New("supervise is started by up")
	}
	return supervisor.Run(ctx, opts, report, os.Stderr)
}
