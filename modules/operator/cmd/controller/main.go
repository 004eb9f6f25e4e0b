// Command controller is Karpenter for Linode Kubernetes Engine.
//
// It reads its settings, finds the LKE cluster, and runs Karpenter core's controllers with the provider of
// this module beside the provider's own. When a setting is missing or wrong it prints one line to stderr
// that names it, and exits with status 1. On SIGTERM it gives up leadership and ends.
//
// The version is that of Karpenter core's package operator, set by
// -ldflags "-X sigs.k8s.io/karpenter/pkg/operator.Version=v1.2.3".
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "karpenter-linode:", strings.Join(strings.Fields(err.Error()), " ")) // one line, whatever it is
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if err := forbidCoreDumps(); err != nil {
		return err
	}
	if len(args) > 0 && args[0] == pricesVerb {
		return writePrices(ctx, args[1:], os.Stdout)
	}
	o, err := options.Parse(args, os.LookupEnv)
	if errors.Is(err, options.ErrHelp) {
		options.Usage(os.Stdout)
		return nil
	}
	if err != nil {
		return err
	}
	p, err := connect(ctx, o)
	if err != nil {
		return err
	}
	return operate(ctx, o, p)
}
