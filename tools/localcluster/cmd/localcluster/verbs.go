package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/karpenter-linode/karpenter-linode/tools/controlplane"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/faults"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/plane"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/supervisor"
)

// prepareVerb is called by tools/make/build.sh when the programs are built.
func prepareVerb() *cobra.Command {
	return &cobra.Command{
		Use: "prepare", Short: "Make the state that clusters begin with, unless it is there", Args: cobra.NoArgs, Hidden: true,
		RunE: func(verb *cobra.Command, _ []string) error {
			root, err := controlplane.FindRoot(".")
			if err != nil {
				return err
			}
			return plane.Prepare(verb.Context(), controlplane.PlaneDir(root, controlplane.Release()))
		},
	}
}

// checkVerb is called by tools/make/arguments.sh before anything else is built.
func checkVerb() *cobra.Command {
	verb := startVerb("check", "Check what up would start", func(_ *cobra.Command, opts localcluster.Options, _ chosen) error {
		return opts.Check()
	})
	verb.Hidden = true
	return verb
}

func upVerb() *cobra.Command {
	return startVerb("up", "Start a cluster in the background and wait until it is ready", up)
}

func up(verb *cobra.Command, opts localcluster.Options, given chosen) error {
	info, err := supervisor.Up(verb.Context(), opts.StateDir, append([]string{"supervise"}, arguments(verb)...), os.Stderr)
	if errors.Is(err, localcluster.ErrRunning) {
		return already(info, opts, given)
	}
	if err != nil {
		return err
	}
	show(info, opts.Root)
	return nil
}

// already shows the running cluster after a second `up`. It returns an error if the second `up` asks for another tier, or for values or
// gates. It does not compare the other options.
func already(info supervisor.Info, opts localcluster.Options, given chosen) error {
	if info.Kubeconfig == "" {
		return fmt.Errorf("%s is being started or stopped by process %d", opts.Name, info.PID)
	}
	if info.Tier != opts.Tier {
		return fmt.Errorf("%s runs already (process %d) with tier %s, not %s: stop it first with `%s`", info.Name, info.PID, info.Tier,
			opts.Tier, hint(info.Name, "make down"))
	}
	if given != (chosen{}) {
		return fmt.Errorf("%s runs already (process %d), and values and gates apply only at its start: stop it first with `%s`", info.Name,
			info.PID, hint(info.Name, "make down"))
	}
	fmt.Fprintf(os.Stderr, "%s runs already\n", info.Name)
	show(info, opts.Root)
	return nil
}

// show prints what runs for people, and then the block for their shell.
func show(info supervisor.Info, root string) {
	fmt.Fprintln(os.Stderr, info)
	fmt.Fprintf(os.Stderr, "\nFor your shell, now or later with: eval \"$(%s)\"\n", hint(info.Name, "make -s status"))
	fmt.Print(info.Exports(controlplane.BinDir(root)))
}

func downVerb() *cobra.Command {
	return runningVerb("down", "Stop what up started", func(verb *cobra.Command, name, dir string) error {
		err := supervisor.Down(verb.Context(), dir)
		if errors.Is(err, supervisor.ErrNotRunning) {
			fmt.Fprintf(os.Stderr, "%s is not running\n", name)
			return nil
		}
		if err == nil {
			fmt.Fprintf(os.Stderr, "%s is stopped; logs: %s/logs\n", name, dir)
		}
		return err
	})
}

func statusVerb() *cobra.Command {
	return runningVerb("status", "Show what runs, and print what to export", func(verb *cobra.Command, name, dir string) error {
		info, err := running(name, dir)
		if err != nil {
			fmt.Print(supervisor.NoExports(dir))
			return err
		}
		if info.HealthURL != "" {
			fmt.Fprintf(os.Stderr, "operator: %s\n", info.Working(verb.Context()))
		}
		if broken := faults.Broken(supervisor.BrokenFile(dir)); broken != "" {
			fmt.Fprintf(os.Stderr, "broken on purpose: %s (%s mends it)\n", broken, hint(name, "make break")+" NAME="+faults.Mended)
		}
		root, err := controlplane.FindRoot(".")
		if err == nil {
			show(info, root)
		}
		return err
	})
}

// running returns the cluster that up started. A cluster that is not ready is an error.
func running(name, dir string) (supervisor.Info, error) {
	info, err := supervisor.Read(dir)
	switch {
	case errors.Is(err, supervisor.ErrNotRunning):
		return info, fmt.Errorf("%s is not running: start it with `%s`", name, hint(name, "make up"))
	case err != nil:
		return info, fmt.Errorf("%s: %w (its last log: %s)", name, err, supervisor.LogFile(dir))
	case info.Kubeconfig == "":
		return info, fmt.Errorf("%s is being started or stopped by process %d", name, info.PID)
	}
	return info, nil
}

// superviseVerb returns the hidden verb that `up` starts in the background.
func superviseVerb() *cobra.Command {
	verb := startVerb("supervise", "Run a cluster for up", func(verb *cobra.Command, opts localcluster.Options, _ chosen) error {
		report := os.NewFile(supervisor.ReportFile, "report")
		if report == nil {
			return errors.New("supervise is started by up")
		}
		return supervisor.Run(verb.Context(), opts, report, os.Stderr)
	})
	verb.Hidden = true
	return verb
}
