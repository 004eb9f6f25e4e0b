// Command release makes and checks releases: `make charts`, `make release-check`, `make release`
// and `make publish` call it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/karpenter-linode/karpenter-linode/tools/controlplane"
	"github.com/karpenter-linode/karpenter-linode/tools/release"
)

const usage = "use: release [flags] charts | push | check | tag | build | publish"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	root, err := controlplane.FindRoot(".")
	if err != nil {
		return err
	}
	c := release.Config{Root: root, Out: os.Stdout}
	flag.StringVar(&c.Version, "version", "", "x.y.z")
	flag.StringVar(&c.Base, "base", "scratch", "base of the images: scratch, or name@sha256:...")
	registry := flag.String("registry", "ghcr.io/karpenter-linode", "registry and folder to publish to")
	flag.BoolVar(&c.Built, "built", false, "publish the images that the verb build has made, and build none")
	flag.Parse()
	switch verb := flag.Arg(0); verb {
	case "charts":
		return packageCharts(c, *registry)
	case "push":
		return release.Push(ctx, c, *registry)
	case "check":
		result, err := release.Check(ctx, c)
		if err == nil {
			fmt.Println(result)
		}
		return err
	case "tag":
		return release.Release(ctx, c)
	case "build":
		return release.Build(ctx, c)
	case "publish":
		return release.Publish(ctx, c, *registry)
	default:
		return errors.New(usage)
	}
}

// packageCharts packages the charts with the image that `make image` has built.
func packageCharts(c release.Config, registry string) error {
	controller, err := release.BuiltController(c, registry)
	if err != nil {
		return err
	}
	files, err := release.PackageCharts(c.Root, filepath.Join(controlplane.BinDir(c.Root), "charts"), c.Version, controller)
	for _, file := range slices.Sorted(maps.Values(files)) {
		fmt.Println(file)
	}
	return err
}
