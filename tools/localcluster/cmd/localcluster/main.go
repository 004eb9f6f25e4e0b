// Command localcluster starts, breaks and stops the local cluster. `localcluster help` lists its verbs, and
// `localcluster completion` prints a shell's completion.
//
// Output for a shell to evaluate goes to standard output, all other output to standard
// error. Exit status 0 means success. With any other status, one line names the failure.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := root().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "localcluster:", strings.TrimPrefix(err.Error(), "localcluster: "))
		os.Exit(1)
	}
}

// root is the program with its verbs. The function that describes a verb is named after it: upVerb describes up.
func root() *cobra.Command {
	program := &cobra.Command{
		Use:   "localcluster",
		Short: "Real Kubernetes with a simulated LKE, on one machine, without Docker",
		Example: `  localcluster up --tier enterprise
  eval "$(localcluster status)" && kubectl get nodes
  localcluster break api-down
  localcluster down`,
		SilenceErrors: true, SilenceUsage: true,
		SuggestionsMinimumDistance: 2, Args: isVerb,
		RunE: func(program *cobra.Command, _ []string) error { return program.Help() },
	}
	program.AddCommand(prepareVerb(), checkVerb(), demoVerb(), upVerb(), statusVerb(), logsVerb(), breakVerb(), downVerb(), superviseVerb())
	return program
}

// isVerb refuses a first argument in one line. cobra calls it only if the argument is not the name of a verb.
func isVerb(program *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if near := program.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("unknown verb %q; did you mean %s?", args[0], strings.Join(near, " or "))
	}
	var all []string
	for _, verb := range program.Commands() {
		if verb.IsAvailableCommand() {
			all = append(all, verb.Name())
		}
	}
	return fmt.Errorf("unknown verb %q; it must be one of %s", args[0], strings.Join(all, ", "))
}
