// Command controller is Karpenter for Linode Kubernetes Engine.
//
// It reads its settings, finds the cluster, and runs two groups of controllers: Karpenter core's controllers, which use this module's
// cloud provider, and the provider's own controllers. If a setting is missing or wrong, it prints one line with the setting to stderr, and
// exits with status 1. While the Linode API does not answer at the start, it waits: alive, and not ready. On SIGTERM it stops the
// controllers, releases the Lease (package leadership has the exceptions) and exits.
//
// The variable Version of Karpenter core's package operator has the version. The linker sets it, with
// -ldflags "-X sigs.k8s.io/karpenter/pkg/operator.Version=v1.2.3".
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"sigs.k8s.io/controller-runtime/pkg/log"
	coreoptions "sigs.k8s.io/karpenter/pkg/operator/options"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/karpentercore"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "karpenter-linode:", strings.Join(strings.Fields(err.Error()), " ")) // every error in one line
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if err := forbidCoreDumps(); err != nil {
		return err
	}
	if debug := os.Getenv("GODEBUG"); strings.Contains(debug, "http2debug") {
		return &options.Error{Name: "GODEBUG", Found: "http2debug writes the API token to the log", Fix: "remove http2debug from it"}
	}
	verb := ""
	if len(args) > 0 {
		verb = args[0]
	}
	switch verb {
	case "version", "-version", "--version":
		_, err := fmt.Println(version())
		return err
	case "plans", "opencost-prices":
		return &options.Error{Name: "command line", Found: verb + " is a command of another program",
			Fix: "run karpenter-linode " + verb}
	}
	o, err := options.Parse(args, os.LookupEnv)
	if errors.Is(err, flag.ErrHelp) {
		options.Usage(os.Stdout)
		return nil
	}
	if err != nil {
		return err
	}
	p, err := newPlatform(o)
	if err != nil {
		return err
	}
	logger, err := karpentercore.Logger(ctx, o.Core)
	if err != nil {
		return &options.Error{Name: "LOG_OUTPUT_PATHS", Found: "cannot be written to", Err: err,
			Fix: "use stdout, stderr or paths that can be written, and check LOG_ERROR_OUTPUT_PATHS"}
	}
	ctx = coreoptions.ToContext(log.IntoContext(ctx, logger), o.Core)
	err = connectWhenUp(ctx, logger, p)
	if err == nil {
		err = operate(ctx, p)
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil //nolint:nilerr // the process got a signal to exit
	}
	return err
}
