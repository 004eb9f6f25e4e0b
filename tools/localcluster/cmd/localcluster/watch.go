package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/faults"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/logfile"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/supervisor"
)

// shownLines is the number of lines of the operator's log that logs prints before it follows the log.
const shownLines = 20

func logsVerb() *cobra.Command {
	selection := logfile.Selection{}
	verb := runningVerb("logs", "Follow the operator's log", func(verb *cobra.Command, name, dir string) error {
		info, err := running(name, dir)
		if err != nil {
			return err
		}
		if info.OperatorLog == "" {
			return fmt.Errorf("%s runs no operator", name)
		}
		fmt.Fprintln(os.Stderr, info.OperatorLog)
		return logfile.Copy(verb.Context(), os.Stdout, info.OperatorLog, selection)
	})
	verb.Flags().IntVar(&selection.Lines, "tail", shownLines, "lines to begin with; -1 = all")
	verb.Flags().BoolVar(&selection.Follow, "follow", true, "follow the log until Ctrl-C")
	return verb
}

func breakVerb() *cobra.Command {
	var name string
	var settings faults.Settings
	names := append(faults.Names(), faults.Mended)
	verb := &cobra.Command{
		Use: "break [fault]", Short: "Make the simulated account fail, or mend it with " + faults.Mended, Long: faultsHelp(),
		Args: cobra.MaximumNArgs(1), ValidArgs: names,
		RunE: func(verb *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "" {
				return fmt.Errorf("no fault is given: use %s NAME=..., with one of %s", hint(name, "make break"), strings.Join(names, ", "))
			}
			dir, err := stateDir(name)
			if err != nil {
				return err
			}
			return breakOrMend(verb, name, dir, args[0], settings)
		},
	}
	nameFlag(verb, &name)
	verb.Flags().StringVar(&settings.Plan, "plan", os.Getenv("PLAN"), "with no-capacity: the plan, or all")
	return verb
}

func faultsHelp() string {
	text := "Make the simulated account fail, one way at a time:\n\n"
	for _, f := range faults.Faults() {
		text += fmt.Sprintf("  %-14s %s\n", f.Name, f.What)
	}
	return text + fmt.Sprintf("  %-14s end it\n\ndocs/breaking.md shows what Karpenter does then.", faults.Mended)
}

func breakOrMend(verb *cobra.Command, name, dir, fault string, settings faults.Settings) error {
	info, err := running(name, dir)
	if err != nil {
		return err
	}
	target := faults.Target{API: info.SimURL, Admin: info.AdminURL, Token: info.Token, ClusterID: info.ClusterID,
		Record: supervisor.BrokenFile(dir)}
	if fault == faults.Mended {
		mended, err := faults.Mend(verb.Context(), target)
		switch {
		case err != nil:
			return err
		case mended == "":
			fmt.Println("nothing is broken")
		default:
			fmt.Println("mended:", mended)
		}
		return nil
	}
	broke, detail, err := faults.Break(verb.Context(), target, fault, settings)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %s\n", broke.Name, broke.What)
	if detail != "" {
		fmt.Println(detail)
	}
	fmt.Println("watch: ", hint(name, broke.Watch))
	if faults.Broken(target.Record) != "" {
		fmt.Printf("mend:   %s NAME=%s\n", hint(name, "make break"), faults.Mended)
	}
	return nil
}
