// Command build builds the control plane's programs and the operator into .bin, and
// the state that local clusters begin with.
//
//	go run ./controlplane/cmd/build            everything that is not up to date
//	go run ./controlplane/cmd/build etcd kwok  only these
//
// With -mode=instance it builds what a self-managed cluster's nodes run besides.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/karpenter-linode/karpenter-linode/tools/controlplane"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/plane"
)

func main() {
	mode := flag.String("mode", "lke", "lke or instance: what a self-managed cluster's nodes run besides")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root, err := controlplane.FindRoot(".")
	var with []string
	if *mode == "instance" {
		with = []string{controlplane.Machine}
	}
	if err == nil {
		err = controlplane.Build(ctx, controlplane.Options{
			Root: root, Out: os.Stdout, Live: controlplane.IsTerminal(os.Stdout), Only: flag.Args(), With: with,
		})
	}
	if err == nil && flag.NArg() == 0 {
		err = plane.Prepare(ctx, controlplane.BinDir(root))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		stop()
		os.Exit(1)
	}
}
